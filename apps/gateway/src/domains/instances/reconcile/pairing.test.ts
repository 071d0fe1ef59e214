import { isNotNull } from 'drizzle-orm'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  computeFailure,
  createFakeEngine,
  type FakeEngine,
} from '../../../drivers/compute/fake/fake-engine.ts'
import { engine } from '../../fleet/tables.ts'
import { createStock } from '../../regions/stock.ts'
import { createInstancesFixture, type InstancesFixture } from '../instances-fixture.ts'
import { RECONCILE_LIMITS } from './limits.ts'
import { createPairing } from './pairing.ts'
import { createSweep } from './sweep.ts'

// A data folder's machines hold what customers stored. These tests pair a folder with databases that know it, that do
// not, and that cannot tell yet, and count what a sweep leaves.

let fixture: InstancesFixture
beforeEach(async () => {
  fixture = await createInstancesFixture()
})
afterEach(() => fixture.close())

/** What one run of a gateway would do, without its loops. */
function nextRun(compute: FakeEngine = fixture.compute) {
  const { db, clock } = fixture
  const said: string[] = []
  const log = pino({ level: 'error' }, { write: line => void said.push(JSON.parse(line).msg) })
  const fleet = fixture.fleetOf(fixture.instances)
  const pairing = createPairing({
    db,
    log,
    fleet,
    stock: createStock({ db, clock }),
    volumes: fixture.volumesAt(fixture.instances),
    limits: RECONCILE_LIMITS,
  })
  const { run } = createSweep({
    db,
    log,
    pairing,
    limits: RECONCILE_LIMITS,
    images: { buildersAmong: async () => new Set<string>() },
  })
  return {
    pairing: { ...pairing, isOurs: () => pairing.isOurs(compute) },
    sweep: { run: () => run(compute) },
    said,
  }
}

const machines = () => [...fixture.compute.held.keys()].sort()
const known = async () => {
  const rows = await fixture.db.select({ id: engine.id }).from(engine).where(isNotNull(engine.pairedAt))
  return rows.map(({ id }) => id)
}

test('machines that another database knows are left alone, in this run and in the next ones', async () => {
  fixture.compute.plant('i-homes', 'running')
  fixture.compute.plant('i-more', 'created')
  for (let run = 1; run <= 2; run += 1) {
    const { pairing, sweep, said } = nextRun()
    await sweep.run()
    await sweep.run()
    expect(machines()).toEqual(['i-homes', 'i-more'])
    expect(pairing.foreign()).toBe(2)
    expect(said).toEqual([expect.stringContaining('belong to another database')])
    expect(await known()).toEqual([])
  }
})

test('an engine that has volumes of another database and no machine is left alone, whatever they are of', async () => {
  for (const id of ['v-homes', 's-homes', 'i-homes-disk']) fixture.compute.heldVolumes.add(id)
  const { pairing, said } = nextRun()
  expect(await pairing.isOurs()).toBe(false)
  expect(pairing.foreign()).toBe(3)
  expect(said).toEqual([expect.stringContaining('belong to another database')])
  expect(await known()).toEqual([])
})

test('a gateway that starts beside such machines says so, serves its customers, and removes none of them', async () => {
  fixture.compute.plant('i-homes', 'running')
  await fixture.instances.reconciler.start()
  expect(fixture.instances.foreign()).toBe(1)
  const userId = await fixture.payer()
  const id = await fixture.running(userId)
  await fixture.instances.terminate({ userId, instanceId: id })
  await fixture.until(id, 'terminated')
  expect(machines()).toEqual(['i-homes'])

  // Once an operator has taken them away, the folder and the database belong together.
  fixture.compute.lose('i-homes')
  const other = await fixture.running(userId)
  const { sweep } = nextRun()
  await sweep.run()
  fixture.compute.plant('i-orphan', 'running')
  await sweep.run()
  expect(machines()).toEqual([other])
})

test('a first start, without machines, makes the engine known; what has no row after that is removed', async () => {
  await fixture.instances.reconciler.start()
  expect(fixture.instances.foreign()).toBe(0)
  expect(await known()).toEqual([fixture.compute.id])
  await fixture.instances.reconciler.stop()
  fixture.compute.plant('i-orphan', 'running')
  const { sweep, said } = nextRun()
  await sweep.run()
  expect(machines()).toEqual([])
  expect(said).toEqual([])
})

test('machines of another engine are not taken for known ones', async () => {
  await nextRun().pairing.isOurs()
  const other = createFakeEngine({ clock: fixture.clock, id: 'other' })
  other.plant('i-homes', 'running')
  const { pairing, sweep } = nextRun(other)
  await sweep.run()
  expect(pairing.foreign()).toBe(1)
  expect(other.held.size).toBe(1)
})

test('while the driver does not answer nothing is decided, and nothing removed', async () => {
  fixture.compute.plant('i-homes', 'running')
  fixture.compute.faults.fail('list', computeFailure('engine_unavailable'), 1)
  const { pairing, sweep } = nextRun()
  await expect(pairing.isOurs()).rejects.toMatchObject({ code: 'engine_unavailable' })
  expect(await known()).toEqual([])
  await sweep.run()
  expect(machines()).toEqual(['i-homes'])
  expect(pairing.foreign()).toBe(1)
})
