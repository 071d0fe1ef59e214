import { eq, sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { computeFailure, createFakeEngine } from '../../../drivers/compute/fake/fake-engine.ts'
import { lease } from '../../../platform/database/tables.ts'
import type { Instances } from '../instances.ts'
import { createInstancesFixture, type InstancesFixture, startWanted } from '../instances-fixture.ts'
import { instance } from '../tables.ts'

let fixture: InstancesFixture
beforeEach(async () => {
  fixture = await createInstancesFixture()
})
afterEach(() => fixture.close())

/** The next gateway, `seconds` later. */
async function nextGateway(seconds: number): Promise<Instances> {
  fixture.clock.advance(seconds)
  const next = await fixture.gateway()
  await next.reconciler.start()
  return next
}

describe('[B6] after a restart of the gateway', () => {
  test('a machine that outlived it is adopted, and its charge goes on', async () => {
    await fixture.instances.reconciler.start()
    const id = await fixture.running(await fixture.payer())
    await fixture.instances.reconciler.stop()
    await nextGateway(100)
    expect(await fixture.row(id)).toMatchObject({ status: 'running', observedAt: fixture.clock.now() })
    expect(await fixture.intervals(id)).toMatchObject([{ endedAt: null }])
    await fixture.expectSound(id)
  })

  test('a machine that the gateway stopped itself comes back, not charged for the time between', async () => {
    await fixture.instances.reconciler.start()
    const userId = await fixture.payer()
    const id = await fixture.running(userId)
    fixture.clock.advance(60)
    await fixture.instances.reconciler.stop()
    await fixture.instances.onShutdown(await fixture.compute.shutdown())
    const stoppedAt = fixture.clock.now()
    expect(await fixture.row(id)).toMatchObject({ status: 'restarting', reasonCode: 'gateway_restarted' })
    await fixture.expectSound(id)
    // Longer than a restart may take: nobody was there to restart it.
    await nextGateway(3_600)
    const { readyAt } = await fixture.until(id, 'running')
    expect(await fixture.intervals(id)).toMatchObject([
      { endedAt: stoppedAt },
      { startedAt: readyAt, endedAt: null },
    ])
    expect(await fixture.eventCodes(userId, id)).toEqual([
      'deployed',
      'pulling',
      'booting',
      'ready',
      'gateway_stopped',
      'ready',
    ])
    await fixture.expectSound(id)
  })

  test('a machine that died with its computer comes back, charged to when it was last seen', async () => {
    await fixture.instances.reconciler.start()
    const id = await fixture.running(await fixture.payer())
    const seen = fixture.clock.now()
    await fixture.instances.reconciler.stop()
    fixture.compute.exit(id, 137)
    const ready = fixture.compute.faults.block('start')
    // The row is found dead before `start` returns, so that metering which begins then finds nothing to charge.
    await nextGateway(3_600)
    expect(await fixture.intervals(id)).toMatchObject([{ endedAt: seen }])
    await ready.reached
    ready.release()
    await fixture.until(id, 'running')
    expect(await fixture.intervals(id)).toHaveLength(2)
    await fixture.expectSound(id)
  })

  test('a machine that cannot come back is an error with its cause', async () => {
    await fixture.instances.reconciler.start()
    const ids = [await fixture.running(await fixture.payer()), await fixture.running(await fixture.payer())]
    await fixture.instances.reconciler.stop()
    await fixture.instances.onShutdown(await fixture.compute.shutdown())
    fixture.compute.lose(ids[0] ?? '')
    fixture.compute.faults.fail('start', computeFailure('exhausted'))
    await nextGateway(10)
    const reasons = await Promise.all(ids.map(id => fixture.until(id, 'error', { seconds: 1 })))
    expect(reasons.map(({ reasonCode }) => reasonCode)).toEqual(['machine_lost', 'exhausted'])
    for (const id of ids) await fixture.expectSound(id)
  })

  test.each(['pull', 'create', 'start', 'probe'])('a start that was in its %s goes on', async step => {
    fixture.giveUpSoon()
    await fixture.instances.reconciler.start()
    const block = fixture.compute.faults.block(step, { deaf: true })
    const id = await fixture.deploy(await fixture.payer())
    await block.reached
    await fixture.instances.reconciler.stop()
    block.release()
    await nextGateway(5)
    await fixture.until(id, 'running', { seconds: 1 })
    expect(await fixture.intervals(id)).toHaveLength(1)
    await fixture.expectSound(id)
  })

  test('the lease of a killed gateway runs out', async () => {
    const id = await fixture.deploy(await fixture.payer())
    const leaseUntil = new Date(fixture.clock.now().getTime() + 10_000)
    await fixture.db.update(instance).set({ leaseOwner: 'killed', leaseUntil }).where(eq(instance.id, id))
    await nextGateway(9)
    expect(fixture.compute.calls).toEqual([])
    fixture.clock.advance(1)
    await fixture.until(id, 'running')
  })

  test('what a gateway held that is known to be dead is free at once', async () => {
    const id = await fixture.deploy(await fixture.payer())
    const dead = fixture.ids.uuid()
    const far = new Date(fixture.clock.now().getTime() + 3_600_000)
    await fixture.db.update(instance).set({ leaseOwner: dead, leaseUntil: far }).where(eq(instance.id, id))
    await fixture.instances.forgetGateway(dead)
    await nextGateway(0)
    await fixture.until(id, 'running')
  })

  test('what was asked for while no gateway looked after it is done', async () => {
    await fixture.instances.reconciler.start()
    const userId = await fixture.payer()
    const [stopped, removed] = [await fixture.running(userId), await fixture.running(userId)]
    await fixture.instances.reconciler.stop()
    await fixture.instances.stop({ userId, instanceId: stopped })
    await fixture.instances.terminate({ userId, instanceId: removed })
    await nextGateway(3_600)
    await fixture.until(stopped, 'stopped')
    await fixture.until(removed, 'terminated')
    expect([...fixture.compute.held.keys()]).toEqual([stopped])
  })
})

test('when the database cuts its connections under load, instances get where they should and books balance', async () => {
  const second = await fixture.gateway({ listen: true })
  await Promise.all([fixture.instances.reconciler.start(), second.reconciler.start()])
  const userId = await fixture.payer()
  const cut = async () => {
    const others = sql`datname = current_database() and pid <> pg_backend_pid()`
    await fixture.db.execute(sql`select pg_terminate_backend(pid) from pg_stat_activity where ${others}`)
  }
  const keys = Array.from({ length: 10 }, (_, index) => `deploy-${index}`)
  const deployAll = () => Promise.allSettled(keys.map(key => fixture.deploy(userId, {}, key)))
  for (let round = 0; round < 8; round += 1) {
    const deploying = deployAll()
    await cut().catch(() => {})
    await deploying
    fixture.clock.advance(1)
  }
  // A connection that was cut may be found dead after the last cut only: whoever asks again gets the same instance.
  const ids = await vi.waitFor(() => Promise.all(keys.map(key => fixture.deploy(userId, {}, key))))
  expect(new Set(ids).size).toBe(keys.length)
  for (const id of ids) await fixture.until(id, 'running', { seconds: 1 })
  for (const id of ids) await fixture.expectSound(id)
  expect(await fixture.instances.list(userId)).toHaveLength(keys.length)
  expect(fixture.compute.held.size).toBe(keys.length)
})

describe('the orphan sweep', () => {
  test('removes machines that belong to no instance, and no other', async () => {
    await fixture.instances.reconciler.start()
    const userId = await fixture.payer()
    const id = await fixture.running(userId)
    const gone = await fixture.running(userId)
    await fixture.instances.terminate({ userId, instanceId: gone })
    await fixture.until(gone, 'terminated')
    await fixture.instances.reconciler.stop()
    fixture.compute.plant('i-orphan', 'running')
    fixture.compute.plant(gone, 'created')
    await nextGateway(30)
    await fixture.until(id, () => fixture.compute.held.size === 1)
    expect([...fixture.compute.held.keys()]).toEqual([id])
    expect((await fixture.row(id)).status).toBe('running')
  })

  test('stops a machine that runs although its instance is stopped', async () => {
    await fixture.instances.reconciler.start()
    const userId = await fixture.payer()
    const id = await fixture.running(userId)
    await fixture.instances.stop({ userId, instanceId: id })
    await fixture.until(id, 'stopped')
    await fixture.instances.reconciler.stop()
    fixture.compute.plant(id, 'running')
    await nextGateway(30)
    await fixture.until(id, () => fixture.compute.held.get(id)?.status.state === 'stopped')
    expect((await fixture.row(id)).status).toBe('stopped')
    await fixture.expectSound(id)
  })

  test('one machine that cannot be removed does not save the others', async () => {
    const { remove } = fixture.compute.machines
    fixture.compute.machines.remove = async (id, signal) => {
      if (id === 'i-stuck') throw computeFailure('failed')
      return remove(id, signal)
    }
    const first = await nextGateway(0)
    fixture.compute.plant('i-stuck', 'running')
    fixture.compute.plant('i-orphan', 'running')
    const id = await fixture.deploy(await fixture.payer())
    await first.reconciler.stop()
    await nextGateway(0)
    await fixture.until(id, () => !fixture.compute.held.has('i-orphan'))
    expect(fixture.compute.held.has('i-stuck')).toBe(true)
  })
})

describe('two gateways on one database', () => {
  test('never act on one instance at the same time, whatever is asked of them', async () => {
    fixture.compute.latencyMs = 8
    const second = await fixture.gateway({ listen: true })
    await Promise.all([fixture.instances.reconciler.start(), second.reconciler.start()])
    const userId = await fixture.payer(100_000)
    const ids = await Promise.all(Array.from({ length: 12 }, () => fixture.deploy(userId)))
    // So that there is something to stop.
    for (const id of ids) await fixture.until(id, 'running')
    const gateways = [fixture.instances, second]
    for (let round = 0; round < 6; round += 1) {
      await Promise.all(
        ids.map((instanceId, index) => {
          const target = { userId, instanceId }
          const gateway = gateways[(round + index) % 2] ?? second
          const asks = [
            () => gateway.stop(target),
            () => gateway.start(target, startWanted()),
            () => gateway.restart(target),
          ]
          // What the state does not allow is refused; that is not what this is about.
          return asks[(round * 7 + index) % asks.length]?.().catch(() => {})
        }),
      )
      fixture.clock.advance(1)
    }
    for (const id of ids) {
      await fixture.until(id, ({ status, desired }) => {
        return desired === 'running' ? status === 'running' : status === 'stopped' || status === 'exited'
      })
      await fixture.expectSound(id)
    }
    expect(fixture.compute.overlapMax()).toBe(1)
  })

  test('of two gateways with an engine each, each looks after its own machines', async () => {
    await fixture.instances.reconciler.start()
    const userId = await fixture.payer()
    const id = await fixture.running(userId)
    const elsewhere = createFakeEngine({ clock: fixture.clock, id: 'two' })
    const other = await fixture.gateway({ compute: elsewhere, listen: true })
    fixture.clock.advance(1)
    await other.reconciler.start()
    // The sweep, a kick and a restart of the other gateway leave it alone.
    await other.reconciler.stop()
    await other.reconciler.start()
    fixture.clock.advance(11)
    await fixture.until(id, ({ observedAt }) => observedAt?.getTime() === fixture.clock.now().getTime())
    expect(await fixture.row(id)).toMatchObject({ status: 'running', engineId: fixture.compute.id })
    expect(elsewhere.calls.filter(call => call.includes(id))).toEqual([])

    // Asked of the other one, a stop is carried out by the one whose machine it is.
    await other.stop({ userId, instanceId: id })
    await fixture.until(id, 'stopped')
    expect(fixture.compute.held.get(id)?.status.state).toBe('stopped')
    await fixture.expectSound(id)
  })

  test('[B6] [B17] a machine whose engine nobody reaches stops being charged, is found again when that returns, and is credited', async () => {
    await fixture.instances.reconciler.start()
    const userId = await fixture.payer()
    const id = await fixture.running(userId)
    const seen = fixture.clock.now()
    await fixture.instances.reconciler.stop()
    const elsewhere = createFakeEngine({ clock: fixture.clock, id: 'two' })
    await fixture.fleetOf(fixture.instances).stop()
    const other = await fixture.gateway({ compute: elsewhere })
    await other.reconciler.start()
    fixture.clock.advance(60)
    expect(await fixture.until(id, 'unknown')).toMatchObject({ reasonCode: 'engine_away' })
    expect(await fixture.intervals(id)).toMatchObject([{ endedAt: seen }])
    await fixture.expectSound(id)
    const lost = (await fixture.row(id)).statusSince
    await nextGateway(3_600)
    const found = await fixture.until(id, 'running', { seconds: 1 })
    await fixture.expectSound(id)
    const query = { page: 1, page_size: 10, type: 'credit', search: found.name } as const
    const { items } = await fixture.billing.transactions(userId, query)
    const outMs = BigInt(found.statusSince.getTime() - lost.getTime())
    expect(items).toMatchObject([
      {
        amount_micro: ((outMs * found.runningMicroPerHour) / 3_600_000n).toString(),
        about: { credit_reason: 'outage', instance_id: id },
      },
    ])
  })

  test('[B17] an outage that never ends is credited by the day, once, and no more at its end', async () => {
    await fixture.instances.reconciler.start()
    const userId = await fixture.payer()
    const id = await fixture.running(userId)
    await fixture.instances.reconciler.stop()
    await fixture.force(id, 'unknown')
    await fixture.db.update(instance).set({ reasonCode: 'engine_away' }).where(eq(instance.id, id))
    const { name, runningMicroPerHour } = await fixture.row(id)
    const credited = async () => {
      const query = { page: 1, page_size: 10, type: 'credit', search: name } as const
      return (await fixture.billing.transactions(userId, query)).items.map(({ amount_micro }) => amount_micro)
    }
    fixture.clock.advance(86_399)
    await fixture.instances.lookAtOutages()
    expect(await credited()).toEqual([])
    fixture.clock.advance(1)
    await Promise.all([fixture.instances.lookAtOutages(), fixture.instances.lookAtOutages()])
    // The most that the catalogue gives for one outage, which is a day.
    expect(await credited()).toEqual([(24n * runningMicroPerHour).toString()])
    fixture.clock.advance(3 * 86_400)
    await fixture.instances.lookAtOutages()
    await fixture.instances.terminate({ userId, instanceId: id })
    expect(await credited()).toEqual([(24n * runningMicroPerHour).toString()])
  })

  test('a row is claimed by one of many', async () => {
    fixture.compute.latencyMs = 20
    const gateways = await Promise.all(Array.from({ length: 4 }, () => fixture.gateway({ listen: true })))
    await Promise.all(gateways.map(({ reconciler }) => reconciler.start()))
    const userId = await fixture.payer()
    const ids = await Promise.all(Array.from({ length: 8 }, () => fixture.deploy(userId)))
    for (const id of ids) await fixture.until(id, 'running')
    for (const step of ['create', 'start']) {
      const calls = fixture.compute.calls.filter(call => call.startsWith(`${step} `))
      expect(calls.sort()).toEqual(ids.map(id => `${step} ${id}`).sort())
    }
  })

  test('one that lost its lease changes nothing any more', async () => {
    const { compute } = fixture
    const { pull } = compute.images
    const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let pulls = 0
    compute.images.pull = async (...args) => {
      pulls += 1
      if (pulls === 1) {
        reached.resolve()
        await gate.promise
      }
      return pull(...args)
    }
    await fixture.instances.reconciler.start()
    const userId = await fixture.payer()
    const id = await fixture.deploy(userId)
    await reached.promise
    // As if its process had been frozen for that long: its leases are over, and another takes the row.
    const other = await fixture.gateway()
    fixture.clock.advance(11)
    await fixture.db.delete(lease)
    await other.reconciler.start()
    await fixture.until(id, 'running')
    const before = await fixture.row(id)
    gate.resolve()
    await fixture.instances.reconciler.stop()
    expect((await fixture.row(id)).version).toBe(before.version)
    expect(await fixture.eventCodes(userId, id)).toEqual(['deployed', 'pulling', 'booting', 'ready'])
    expect(compute.calls.filter(call => call === `create ${id}`)).toHaveLength(1)
    await fixture.expectSound(id)
  })

  test('what one is asked for reaches a step that the other has under way', async () => {
    const second = await fixture.gateway({ listen: true })
    await second.reconciler.start()
    const userId = await fixture.payer()
    const pull = fixture.compute.faults.block('pull')
    // The first gateway only takes calls: its reconciler is not started.
    const id = await fixture.deploy(userId)
    await pull.reached
    await fixture.instances.terminate({ userId, instanceId: id })
    await fixture.until(id, 'terminated')
  })
})
