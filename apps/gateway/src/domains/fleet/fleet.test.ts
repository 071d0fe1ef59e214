import { eq, inArray } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { computeFailure, createFakeEngine, type FakeEngine } from '../../drivers/compute/fake/fake-engine.ts'
import { EngineReplaced } from '../../drivers/compute/port/compute-error.ts'
import { lease } from '../../platform/database/tables.ts'
import { releaseLeases } from '../../platform/lease.ts'
import type { Instances } from '../instances/instances.ts'
import { createInstancesFixture, deployBody, type InstancesFixture } from '../instances/instances-fixture.ts'
import { instance } from '../instances/tables.ts'
import { stockClaim } from '../regions/tables.ts'
import { engine, engineReach } from './tables.ts'

// Several engines in several regions and several gateways, all on one database. Engines are fake ones: what is tested
// is who looks after which machine, and what becomes of it when an engine or a gateway goes away.

const FAR = new Date('2100-01-01')

let fixture: InstancesFixture
let north: FakeEngine
let south: FakeEngine
beforeEach(async () => {
  // The fixture's own engine is in no region of these tests.
  fixture = await createInstancesFixture({ regionCodes: ['sa-east'] })
  const { clock } = fixture
  north = createFakeEngine({ clock, id: 'north' })
  south = createFakeEngine({ clock, id: 'south' })
})
afterEach(async () => {
  north.faults.heal()
  south.faults.heal()
  await fixture.close()
})

async function gatewayOf(...sources: [FakeEngine, string][]): Promise<Instances> {
  const gateway = await fixture.gateway({
    listen: true,
    sources: sources.map(([engine, regionCode]) => ({
      description: engine.id,
      regionCodes: [regionCode],
      formerId: () => null,
      open: async () => engine,
    })),
  })
  await gateway.reconciler.start()
  return gateway
}

async function deployAt(gateway: Instances, regionCode: string): Promise<string> {
  const userId = await fixture.payer()
  const body = deployBody({ region_code: regionCode })
  return (await gateway.deploy({ userId, idempotencyKey: userId, body })).instance_id
}

test('[B14] one gateway makes machines on the engine of each region', async () => {
  const gateway = await gatewayOf([north, 'us-west'], [south, 'eu-frankfurt'])
  const ids = [await deployAt(gateway, 'us-west'), await deployAt(gateway, 'eu-frankfurt')]
  for (const id of ids) await fixture.until(id, 'running')
  expect([[...north.held.keys()], [...south.held.keys()]]).toEqual([[ids[0]], [ids[1]]])
  expect(await fixture.row(ids[0] ?? '')).toMatchObject({ engineId: 'fake:north' })
  await expect(deployAt(gateway, 'ap-singapore')).rejects.toMatchObject({ code: 'compute_unavailable' })
  expect(await gateway.checkStock()).toEqual([])
})

test('two engines of one region share its machines', async () => {
  const gateway = await gatewayOf([north, 'us-west'], [south, 'us-west'])
  for (let count = 0; count < 4; count += 1)
    await fixture.until(await deployAt(gateway, 'us-west'), 'running')
  expect([north.held.size, south.held.size]).toEqual([2, 2])
})

test('an engine that two descriptions name with other walls has those of one, and the other’s regions have no engine', async () => {
  const walled = { ...north, capabilities: { ...north.capabilities, isolation: 'Others.' } }
  const gateway = await fixture.gateway({
    sources: [
      { description: 'first', regionCodes: ['us-west'], open: async () => north },
      { description: 'second', regionCodes: ['eu-frankfurt'], open: async () => walled },
    ].map(source => ({ ...source, formerId: () => null })),
  })
  await gateway.reconciler.start()
  const { open, missing } = fixture.fleetOf(gateway).summary()
  expect(open.map(({ id }) => id)).toEqual(['fake:north'])
  expect(missing).toMatchObject([{ why: expect.stringContaining('other walls') }])
  const [kept, refused] =
    missing[0]?.description === 'second' ? ['us-west', 'eu-frankfurt'] : ['eu-frankfurt', 'us-west']
  await fixture.until(await deployAt(gateway, kept), 'running')
  await expect(deployAt(gateway, refused)).rejects.toMatchObject({ code: 'compute_unavailable' })
})

test('[B6] an engine that goes away and comes back: its machines are unknown, not charged, and found again', async () => {
  const gateway = await gatewayOf([north, 'us-west'], [south, 'eu-frankfurt'])
  const [id, other] = [await deployAt(gateway, 'us-west'), await deployAt(gateway, 'eu-frankfurt')]
  for (const one of [id, other]) await fixture.until(one, 'running')
  for (const call of ['status', 'size', 'list']) north.faults.fail(call, computeFailure('engine_unavailable'))
  await expect.poll(() => fixture.fleetOf(gateway).isReached('fake:north')).toBe(false)
  const gone = await fixture.until(id, 'unknown', { seconds: 5 })
  expect(gone.reasonCode).toBe('engine_away')
  await fixture.expectSound(id)
  expect((await fixture.row(other)).status).toBe('running')
  await expect(deployAt(gateway, 'us-west')).rejects.toMatchObject({ code: 'compute_unavailable' })
  north.faults.heal()
  await fixture.until(id, 'running', { seconds: 1 })
  await fixture.expectSound(id)
})

test('[B6] another engine in the place of one: the one is served no more and its machines are unknown, the other is', async () => {
  let there = north
  const gateway = await fixture.gateway({
    listen: true,
    sources: [
      { description: 'there', regionCodes: ['us-west'], formerId: () => null, open: async () => there },
    ],
  })
  await gateway.reconciler.start()
  const fleet = fixture.fleetOf(gateway)
  const id = await deployAt(gateway, 'us-west')
  await fixture.until(id, 'running')
  expect(fleet.serves('fake:north')).toBe(true)
  there = south
  for (const call of ['status', 'size', 'list'])
    north.faults.fail(call, new EngineReplaced('fake:north', 'fake:south'))
  await expect.poll(() => fleet.serves('fake:south')).toBe(true)
  expect([fleet.serves('fake:north'), fleet.isReached('fake:north')]).toEqual([false, false])
  expect(fleet.summary()).toMatchObject({ open: [{ id: 'fake:south' }], missing: [] })
  expect((await fixture.until(id, 'unknown', { seconds: 5 })).reasonCode).toBe('engine_away')
  await fixture.until(await deployAt(gateway, 'us-west'), 'running')
  expect([north.held.size, south.held.size]).toEqual([1, 1])
  await fixture.expectSound(id)
  // The former one is back where it was.
  there = north
  north.faults.heal()
  for (const call of ['status', 'size', 'list'])
    south.faults.fail(call, new EngineReplaced('fake:south', 'fake:north'))
  await expect.poll(() => fleet.serves('fake:north')).toBe(true)
  await fixture.until(id, 'running', { seconds: 1 })
})

test('[B6] what the version before made is adopted by the engine that holds it: found, charged on, not swept', async () => {
  const former = 'was:fake:ba9876543210'
  const { db } = fixture
  const before = await gatewayOf([north, 'us-west'])
  const id = await deployAt(before, 'us-west')
  await fixture.until(id, 'running')
  await before.reconciler.stop()
  const waiting = await deployAt(before, 'us-west')
  await fixture.fleetOf(before).stop()
  // As the migration leaves it: one row with a machine, and one whose deploy had not come that far.
  const firstSeenAt = new Date('2026-01-01T00:00:00Z')
  await db.insert(engine).values({ id: former, driver: 'fake', firstSeenAt, pairedAt: firstSeenAt })
  await db.delete(engine).where(eq(engine.id, 'fake:north'))
  await db.update(instance).set({ engineId: former }).where(eq(instance.id, id))
  await db.update(instance).set({ engineId: null }).where(eq(instance.id, waiting))
  await db.update(stockClaim).set({ engineId: former }).where(eq(stockClaim.subjectId, id))
  await db.update(stockClaim).set({ engineId: null }).where(eq(stockClaim.subjectId, waiting))
  const calls = [...north.calls]

  const after = await fixture.gateway({
    listen: true,
    sources: [
      {
        description: 'north',
        regionCodes: ['us-west'],
        formerId: driver => (driver === 'fake' ? former : null),
        open: async () => north,
      },
    ],
  })
  await after.reconciler.start()
  expect(await fixture.row(id)).toMatchObject({ engineId: 'fake:north', status: 'running' })
  expect(await fixture.intervals(id)).toHaveLength(1)
  await fixture.expectSound(id)
  expect(north.calls.slice(calls.length).filter(call => call.endsWith(id))).toEqual([])
  expect(await fixture.row(waiting)).toMatchObject({ engineId: 'fake:north' })
  const claims = await db.select().from(stockClaim)
  expect(claims.map(({ subjectId, engineId }) => [subjectId, engineId]).sort()).toEqual(
    [id, waiting].sort().map(subject => [subject, 'fake:north']),
  )
  expect(await after.checkStock()).toEqual([])
  const engines = await db
    .select()
    .from(engine)
    .where(inArray(engine.id, [former, 'fake:north']))
  expect(engines).toMatchObject([{ id: 'fake:north', firstSeenAt, pairedAt: firstSeenAt }])
})

describe('two gateways', () => {
  test('[B14] with an engine each deploy on both, and each carries out what is asked of the other', async () => {
    const one = await gatewayOf([north, 'us-west'])
    const two = await gatewayOf([south, 'eu-frankfurt'])
    // It is told of the other's engine in a moment.
    await expect.poll(() => fixture.fleetOf(one).known(south.id)?.reachedBy.length).toBe(1)
    const id = await deployAt(one, 'eu-frankfurt')
    const row = await fixture.until(id, 'running')
    expect([...south.held.keys()]).toEqual([id])
    expect(fixture.fleetOf(two).of(row)).toMatchObject({ at: 'here' })
    expect(fixture.fleetOf(one).of(row)).toMatchObject({ at: 'elsewhere' })
    await one.terminate({ userId: row.userId, instanceId: id })
    await fixture.until(id, 'terminated')
    expect(south.held.size).toBe(0)
  })

  test('[B22] one that did not answer is passed over for another that reaches the engine', async () => {
    const one = await gatewayOf([north, 'us-west'])
    await gatewayOf([north, 'us-west'])
    const three = await gatewayOf([south, 'eu-frankfurt'])
    const row = await fixture.until(await deployAt(one, 'us-west'), 'running')
    const avoid = new Set<string>()
    const elsewhere = () => {
      const place = fixture.fleetOf(three).of(row, { avoid })
      return place.at === 'elsewhere' ? place.gatewayId : null
    }
    await expect.poll(() => fixture.fleetOf(three).known(row.engineId ?? '')?.reachedBy.length).toBe(2)
    const [first, second] = [elsewhere(), elsewhere()]
    expect(second).toBe(first)
    avoid.add(first ?? '')
    expect(elsewhere()).not.toBe(first)
    expect(elsewhere()).not.toBeNull()
    avoid.add(elsewhere() ?? '')
    expect(fixture.fleetOf(three).of(row, { avoid })).toMatchObject({ at: 'nowhere' })
  })

  test('[B22] shells that live beside gateways are looked at through the one that serves the engine', async () => {
    const beside = { ...north, console: { ...north.console, shells_live: 'beside_gateway' as const } }
    const one = await gatewayOf([beside, 'us-west'])
    const two = await gatewayOf([beside, 'us-west'])
    const row = await fixture.until(await deployAt(one, 'us-west'), 'running')
    const fleets = [one, two].map(gateway => fixture.fleetOf(gateway))
    const engineId = row.engineId ?? ''
    await expect.poll(() => fleets.map(fleet => fleet.known(engineId)?.reachedBy.length)).toEqual([2, 2])
    const served = fleets.map(fleet => fleet.serves(engineId))
    expect(served.filter(Boolean)).toHaveLength(1)
    expect(fleets.map(fleet => fleet.of(row).at)).toEqual(['here', 'here'])
    expect(fleets.map(fleet => fleet.of(row, { shells: true }).at)).toEqual(
      served.map(serves => (serves ? 'here' : 'elsewhere')),
    )
    // One that does not answer is not waited for until its lease runs out.
    const avoid = new Set(fleets.filter((_, at) => served[at]).map(fleet => fleet.selfId))
    expect(fleets.map(fleet => fleet.of(row, { shells: true, avoid }).at)).toEqual(['here', 'here'])
  })

  test('[B6] a machine whose gateway is gone is unknown with the reason, until somebody reaches its engine', async () => {
    const one = await gatewayOf([north, 'us-west'])
    const two = await gatewayOf([south, 'eu-frankfurt'])
    const id = await deployAt(two, 'us-west')
    await fixture.until(id, 'running')
    await one.reconciler.stop()
    await fixture.fleetOf(one).stop()
    expect(await fixture.until(id, 'unknown', { seconds: 5 })).toMatchObject({ reasonCode: 'engine_away' })
    expect(fixture.fleetOf(two).of(await fixture.row(id))).toMatchObject({ at: 'nowhere' })
    expect(north.calls.filter(call => call.startsWith('remove'))).toEqual([])
    await gatewayOf([north, 'us-west'])
    await fixture.until(id, 'running', { seconds: 1 })
    await fixture.expectSound(id)
  })

  test('[B14] an engine whose gateway was killed is taken over when its lease has run out; its machines run on', async () => {
    const one = await gatewayOf([north, 'us-west'])
    const id = await deployAt(one, 'us-west')
    await fixture.until(id, 'running')
    await one.reconciler.stop()
    // It is killed: what it gave back is as if it never had.
    await fixture.db
      .insert(lease)
      .values({ name: 'engine fake:north', owner: fixture.ids.uuid(), until: FAR })
    const before = [...north.calls]
    const two = await gatewayOf([north, 'us-west'])
    expect(fixture.fleetOf(two).serves('fake:north')).toBe(false)
    await fixture.db
      .update(lease)
      .set({ until: new Date(0) })
      .where(eq(lease.name, 'engine fake:north'))
    await expect.poll(() => fixture.fleetOf(two).serves('fake:north')).toBe(true)
    await fixture.expectSound(id)
    expect(await fixture.intervals(id)).toHaveLength(1)
    expect(north.calls).toEqual(before)
    const { userId } = await fixture.row(id)
    await two.restart({ userId, instanceId: id })
    await fixture.until(id, row => row.status === 'running' && row.restartsDone > 0)
    expect(north.calls.slice(before.length)).toEqual(expect.arrayContaining([`stop ${id}`, `start ${id}`]))
  })

  test('[B14] what is leased to a gateway that is known to be dead is not waited for', async () => {
    const dead = fixture.ids.uuid()
    await fixture.db.insert(lease).values({ name: 'engine fake:north', owner: dead, until: FAR })
    await fixture.db.insert(engineReach).values({ engineId: 'fake:north', gatewayId: dead, seenUntil: FAR })
    await fixture.fleetOf(fixture.instances).forget(dead)
    await releaseLeases(fixture.db, dead)
    const next = await gatewayOf([north, 'us-west'])
    expect(fixture.fleetOf(next).serves('fake:north')).toBe(true)
    expect(fixture.fleetOf(next).known('fake:north')?.reachedBy).toEqual([fixture.fleetOf(next).selfId])
  })

  test('[B14] one that stops in good order leaves machines running that the other reaches; the last one stops them', async () => {
    const one = await gatewayOf([north, 'us-west'])
    const two = await gatewayOf([north, 'us-west'])
    const id = await deployAt(one, 'us-west')
    await fixture.until(id, 'running')
    await one.reconciler.stop()
    expect(await fixture.fleetOf(one).shutdown()).toEqual([])
    await expect.poll(() => fixture.fleetOf(two).serves('fake:north')).toBe(true)
    expect(await fixture.row(id)).toMatchObject({ status: 'running' })
    await two.reconciler.stop()
    expect(await fixture.fleetOf(two).shutdown()).toEqual([id])
  })

  test('[B14] of two that stop at the same moment, one stops the machines', async () => {
    const gateways = [await gatewayOf([north, 'us-west']), await gatewayOf([north, 'us-west'])]
    const id = await deployAt(gateways[0] as Instances, 'us-west')
    await fixture.until(id, 'running')
    await Promise.all(gateways.map(gateway => gateway.reconciler.stop()))
    await Promise.all(gateways.map(gateway => fixture.fleetOf(gateway).shutdown()))
    expect(north.held.get(id)?.status).toMatchObject({ state: 'stopped' })
  })

  test('[B14] of one engine: the other takes over when the first one leaves', async () => {
    const one = await gatewayOf([north, 'us-west'])
    const two = await gatewayOf([north, 'us-west'])
    expect([one, two].map(gateway => fixture.fleetOf(gateway).serves('fake:north'))).toEqual([true, false])
    const id = await deployAt(two, 'us-west')
    await fixture.until(id, 'running')
    await one.reconciler.stop()
    await fixture.fleetOf(one).stop()
    await expect.poll(() => fixture.fleetOf(two).serves('fake:north')).toBe(true)
    const row = await fixture.row(id)
    await two.stop({ userId: row.userId, instanceId: id })
    await fixture.until(id, 'stopped')
    expect(north.overlapMax()).toBe(1)
  })
})
