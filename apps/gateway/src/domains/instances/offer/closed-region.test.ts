import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Instances } from '../instances.ts'
import {
  createInstancesFixture,
  deployBody,
  type InstancesFixture,
  startWanted,
} from '../instances-fixture.ts'

const REGION = 'us-west'

/** The operator has closed the region and starts gateways anew, one after the other: here is one of each. */
let fixture: InstancesFixture
let closed: Instances
beforeAll(async () => {
  fixture = await createInstancesFixture()
  closed = await fixture.gateway({ closed: [REGION] })
})
afterAll(() => fixture.close())

test('[R5.4] a region that was closed while the form was open is refused at its field, and nothing is set aside', async () => {
  const userId = await fixture.payer()
  const body = deployBody({ region_code: REGION })
  const deploying = closed.deploy({ userId, idempotencyKey: randomUUID(), body })
  await expect(deploying).rejects.toMatchObject({
    code: 'region_not_supported',
    fields: [{ path: 'region_code', rule: 'not_allowed' }],
  })
  expect(await closed.list(userId)).toEqual([])
  expect(await fixture.billing.totals(fixture.db, userId)).toMatchObject({ heldMicro: 0n })
})

test('[R5.4] [B6] what was being deployed when its region was closed becomes ready, and is billed as quoted', async () => {
  const userId = await fixture.payer()
  const hold = fixture.compute.faults.block('pull')
  const id = await fixture.deploy(userId, { region_code: REGION })
  await closed.reconciler.start()
  try {
    hold.release()
    expect(await fixture.until(id, 'running')).toMatchObject({ regionCode: REGION })
    expect(await fixture.intervals(id)).toHaveLength(1)
    // It may be stopped; what a closed region makes no more are new machines.
    await closed.stop({ userId, instanceId: id })
    // Whoever stopped it may hold it a moment longer.
    const { leaseOwner, leaseUntil, nextAttemptAt, ...before } = await fixture.until(id, 'stopped')
    await expect(closed.start({ userId, instanceId: id }, startWanted())).rejects.toMatchObject({
      code: 'region_not_supported',
    })
    expect(await fixture.row(id)).toMatchObject(before)
    await closed.terminate({ userId, instanceId: id })
    await fixture.until(id, 'terminated')
    await fixture.expectSound(id)
  } finally {
    await closed.reconciler.stop()
  }
})
