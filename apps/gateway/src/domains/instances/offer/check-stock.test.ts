import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Instances } from '../instances.ts'
import { createInstancesFixture, type InstancesFixture, startWanted } from '../instances-fixture.ts'

// What customers do at random, through two gateways at once, while machines fail: the stock is what instances hold,
// at every moment.

let fixture: InstancesFixture
let gateways: Instances[]
beforeAll(async () => {
  fixture = await createInstancesFixture()
  gateways = [fixture.instances, await fixture.gateway({ listen: true })]
  for (const { reconciler } of gateways) await reconciler.start()
})
afterAll(() => fixture.close())

const RUNS = 6
const ACTIONS = ['deploy', 'start', 'stop', 'restart', 'terminate', 'fail', 'heal', 'exit', 'time'] as const
const SPECS = ['h100-sxm', 'rtx-5090', 'cpu'] as const

const step = fc.record({
  action: fc.constantFrom(...ACTIONS),
  target: fc.nat({ max: 3 }),
  spec: fc.constantFrom(...SPECS),
  gateway: fc.nat({ max: 1 }),
  beside: fc.boolean(),
})

test('[B4] an instance that was off has nothing of the stock while it is removed', async () => {
  const userId = await fixture.payer()
  const instanceId = await fixture.running(userId, { gpu_spec_id: 'h100-sxm' })
  await fixture.instances.stop({ userId, instanceId })
  await fixture.until(instanceId, 'stopped')
  fixture.compute.faults.block('remove')
  await fixture.instances.terminate({ userId, instanceId })
  expect((await fixture.row(instanceId)).status).toBe('deleting')
  expect(await fixture.takenBy(instanceId)).toBe(0)
  expect(await fixture.instances.checkStock()).toEqual([])
  fixture.compute.faults.heal()
  await fixture.until(instanceId, 'terminated', { seconds: 30 })
})

test('[B4] the stock agrees with the instances, whatever customers do and whatever fails', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async steps => {
      const userId = await fixture.payer()
      const ids: string[] = []
      const under: Promise<unknown>[] = []
      for (const { action, target, spec, gateway, beside } of steps) {
        const instances = gateways[gateway] ?? fixture.instances
        const instanceId = ids[target % Math.max(1, ids.length)] ?? ''
        const key = `${spec}-${under.length}-${userId}`
        const acting = async () => {
          if (action === 'deploy') ids.push(await fixture.deploy(userId, { gpu_spec_id: spec }, key))
          else if (action === 'start')
            await instances.start({ userId, instanceId }, startWanted({ specId: spec }))
          else if (action === 'fail') fixture.compute.faults.fail('start', new Error('a fault'), 2)
          else if (action === 'heal') fixture.compute.faults.heal()
          else if (action === 'exit') fixture.compute.exit(instanceId, 1)
          else if (action === 'time') fixture.clock.advance(11)
          else await instances[action]({ userId, instanceId })
        }
        // Refused by state, by stock or because there is no instance yet: nothing is taken then.
        const done = acting().catch(error => expect(error).toBeInstanceOf(ApiError))
        under.push(done)
        if (!beside) await done
        expect(await fixture.instances.checkStock()).toEqual([])
      }
      await Promise.all(under)
      fixture.compute.faults.heal()
      for (const instanceId of ids) {
        await fixture.instances.terminate({ userId, instanceId }).catch(() => {})
        await fixture.until(instanceId, 'terminated', { seconds: 30 })
        expect(await fixture.takenBy(instanceId)).toBe(0)
      }
      expect(await fixture.instances.checkStock()).toEqual([])
    }),
    { numRuns: RUNS },
  )
  expect(await fixture.billing.checkBooks()).toEqual([])
}, 120_000)
