import type { DeployBody } from '@berth/contract/instances'
import { and, eq } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { accountDeleted } from '../identity/events.ts'
import { createInstancesFixture, type InstancesFixture } from '../instances/instances-fixture.ts'
import { instanceEvent, instanceTraffic } from '../instances/tables.ts'
import { createSampleStore, type SampleRow } from './sample-store.ts'
import { createSampler, type Sampler } from './sampler.ts'
import { createSamples, type Samples } from './samples.ts'
import { sampleCoarse, sampleFine } from './tables.ts'

let fixture: InstancesFixture
let store: ReturnType<typeof createSampleStore>
/** Of the gateway that looks after the machines, and of one that reaches none. */
let sampler: Sampler
let elsewhere: Samples
/** A whole number of every step that the tests draw. */
const HALF_HOUR = 1_800
const never = new AbortController().signal

beforeAll(async () => {
  fixture = await createInstancesFixture({ trafficMicroPerGb: 50_000n })
  await fixture.instances.reconciler.start()
  const { clock, db, log, instances, events } = fixture
  store = createSampleStore({ db })
  sampler = createSampler({ clock, log, store, instances, fleet: fixture.fleetOf(instances) })
  const other = await fixture.gateway({ compute: null })
  elsewhere = createSamples({
    db,
    clock,
    log,
    events,
    owner: 'another',
    instances: other,
    fleet: fixture.fleetOf(other),
    listen: fixture.database.listen,
  })
  // Steps begin at the same seconds from here on.
  clock.advance(HALF_HOUR - ((clock.now().getTime() / 1000) % HALF_HOUR))
})
afterAll(() => fixture.close())

/** Passes, a second apart. */
async function pass(seconds: number): Promise<void> {
  for (let at = 0; at < seconds; at++) {
    fixture.clock.advance(1)
    await sampler.pass(never)
  }
}

async function running(body?: Partial<DeployBody>): Promise<{ userId: string; instanceId: string }> {
  const userId = await fixture.payer()
  const instanceId = await fixture.running(userId, body)
  sampler.changed()
  return { userId, instanceId }
}

const ask = (target: { userId: string; instanceId: string }, rangeSeconds: number) =>
  elsewhere.metrics(target, { rangeSeconds, to: null, after: null })

test('[B2] what a machine sends is noted once a minute, where that costs something', async () => {
  const { instanceId } = await running()
  const uses = (network_sent_bytes: number) =>
    fixture.compute.uses.set(instanceId, { network_sent_bytes, network_at: fixture.clock.now() })
  const noted = async () => {
    const [row] = await fixture.db
      .select()
      .from(instanceTraffic)
      .where(eq(instanceTraffic.instanceId, instanceId))
    return row && { counter: row.counterBytes, sent: row.sentBytes }
  }
  uses(500)
  await pass(10)
  expect(await noted()).toEqual({ counter: 500, sent: 0 })
  uses(700)
  await pass(10)
  expect(await noted()).toEqual({ counter: 500, sent: 0 })
  await pass(50)
  uses(900)
  await pass(10)
  expect(await noted()).toEqual({ counter: 900, sent: 400 })
})

describe('[B9] what an instance used', () => {
  test('is sampled each ten seconds, each second while somebody looks, and is told by any gateway', async () => {
    const target = await running()
    expect(await ask(target, 60)).toMatchObject({
      state: 'not_yet',
      sampled_since: null,
      step_seconds: 1,
      steps: 60,
    })
    fixture.compute.uses.set(target.instanceId, { cpu_percent: 50, memory_used_mb: 100, disk_used_mb: 7 })
    await pass(20)
    const tens = await ask(target, 3600)
    expect(tens).toMatchObject({ state: 'sampled', step_seconds: 10, steps: 360 })
    expect(tens.cpu_percent.values.slice(-2)).toEqual([50 / tens.vcpu, 50 / tens.vcpu])
    expect(tens.cpu_percent.values.filter(value => value !== null)).toHaveLength(2)
    expect(await rowsOf(target, 1)).toBe(0)

    sampler.watch(target.instanceId)
    fixture.compute.uses.set(target.instanceId, { cpu_percent: 100, memory_used_mb: 300, disk_used_mb: 7 })
    await pass(10)
    const seconds = await ask(target, 60)
    expect(seconds.memory_used_mb.values.slice(-11)).toEqual([100, ...Array(10).fill(300)])
    expect(await rowsOf(target, 1)).toBe(10)
    // Nobody says so any more.
    await pass(60)
    expect(await rowsOf(target, 1)).toBeLessThan(60)
  })

  test('has a gap where nobody sampled, no value that its engine does not tell, and says which', async () => {
    const target = await running()
    fixture.compute.uses.set(target.instanceId, { cpu_percent: 10 })
    await pass(20)
    fixture.clock.advance(40)
    await pass(20)
    const { cpu_percent, memory_used_mb } = await ask(target, 3600)
    expect(cpu_percent.values.slice(-9).map(value => value !== null)).toEqual([
      false,
      true,
      true,
      false,
      false,
      false,
      false,
      true,
      true,
    ])
    expect(cpu_percent.lacks).toBeNull()
    expect(memory_used_mb.lacks).toBe('not_measured')
    // What was sampled before it began anew is no figure of now.
    await fixture.instances.restart(target)
    await fixture.until(target.instanceId, 'running')
    expect((await ask(target, 3600)).state).toBe('not_yet')
    fixture.clock.advance(120)
    expect((await ask(target, 3600)).state).toBe('silent')
  })

  test('is thinned to minutes and ten minutes once, drawn without a seam, and cleared when it is old', async () => {
    const target = await running()
    fixture.clock.advance(HALF_HOUR - ((fixture.clock.now().getTime() / 1000) % HALF_HOUR))
    const start = fixture.clock.now().getTime() / 1000
    await store.write(
      sampleFine,
      Array.from({ length: 61 }, (_, at) => rowAt(target.instanceId, start + at * 10, at < 60 ? 20 : 80)),
    )
    fixture.clock.advance(640)
    await store.thin(fixture.clock.now(), never)
    await store.thin(fixture.clock.now(), never)
    expect(await rowsOf(target, 60)).toBe(10)
    expect(await rowsOf(target, 600)).toBe(1)
    // An hour is drawn from tens; a day from minutes, and from tens where there are no minutes yet.
    const day = await ask(target, 86_400)
    expect(day.step_seconds).toBe(180)
    expect(day.cpu_percent.values.filter(value => value !== null)).toEqual([20, 20, 20, 28.57])
    fixture.clock.advance(2 * 86_400)
    await elsewhere.purge()
    expect(await rowsOf(target, 10)).toBe(0)
    expect(await rowsOf(target, 60)).toBe(0)
    expect(await rowsOf(target, 600)).toBe(1)
    expect((await ask(target, 30 * 86_400)).cpu_percent.values.filter(value => value !== null)).toEqual([20])
    fixture.clock.advance(28 * 86_400 + 1_000)
    await elsewhere.purge()
    expect(await rowsOf(target, 600)).toBe(0)
  })

  test('goes with its instance, and with its account', async () => {
    const [gone, kept] = [await running(), await running()]
    const at = fixture.clock.now().getTime() / 1000
    const rows = [gone, kept].map(({ instanceId }) => rowAt(instanceId, at, 1))
    await store.write(sampleFine, rows)
    await store.write(
      sampleCoarse,
      rows.map(row => ({ ...row, step: 600 })),
    )
    await fixture.instances.terminate(gone)
    await fixture.until(gone.instanceId, 'terminated')
    await expect(ask(gone, 60)).rejects.toMatchObject({ code: 'not_found' })
    await elsewhere.purge()
    expect([await rowsOf(gone, 10), await rowsOf(gone, 600)]).toEqual([0, 0])
    expect([await rowsOf(kept, 10), await rowsOf(kept, 600)]).toEqual([1, 1])
    await fixture.events.hear(accountDeleted, { userId: kept.userId })
    expect([await rowsOf(kept, 10), await rowsOf(kept, 600)]).toEqual([0, 0])
  })

  test('[B5] tells whether it is idle: a machine that is to be stopped then is, once it was quiet for so long', async () => {
    const target = await running({ idle_stop_minutes: 5 })
    const use = (cpu_percent: number) => fixture.compute.uses.set(target.instanceId, { cpu_percent })
    use(90)
    await pass(30)
    use(1)
    await pass(299)
    expect((await fixture.row(target.instanceId)).status).toBe('running')
    await pass(60)
    expect(await fixture.until(target.instanceId, 'stopped')).toMatchObject({ reasonCode: 'idle' })
  })

  test('[B9] a machine that ran out of memory is told of once for each growth, whichever gateways saw it, and anew after a start', async () => {
    const { userId, instanceId } = await running()
    const other = createSampler({
      clock: fixture.clock,
      log: fixture.log,
      store,
      instances: fixture.instances,
      fleet: fixture.fleetOf(fixture.instances),
    })
    const told = async (code = 'out_of_memory') =>
      (await fixture.db.select().from(instanceEvent).where(eq(instanceEvent.instanceId, instanceId)))
        .filter(event => event.code === code)
        .map(({ detail, status }) => [detail, status])
    const saw = async (kills: number) => {
      fixture.compute.oomKills.set(instanceId, kills)
      await pass(20)
      await other.pass(never)
    }
    await saw(0)
    expect(await told()).toEqual([])
    await saw(1)
    await saw(1)
    expect(await told()).toEqual([['1', 'running']])
    await saw(4)
    expect(await told()).toEqual([
      ['1', 'running'],
      ['4', 'running'],
    ])
    // A machine that was started again begins to count anew.
    fixture.compute.oomKills.set(instanceId, 0)
    await fixture.instances.restart({ userId, instanceId })
    await fixture.until(instanceId, 'running')
    sampler.changed()
    await saw(0)
    await saw(1)
    expect((await told()).at(-1)).toEqual(['1', 'running'])
    expect(await told()).toHaveLength(3)
  })

  test('[B9] is told of each of its GPUs apart', async () => {
    const gpus = ['a', 'b'].map(uuid => ({ name: 'NVIDIA L4', memory_mb: 23_034, uuid: `GPU-${uuid}` }))
    const real = await createInstancesFixture({ gpus })
    try {
      const { clock, db, log, instances, events } = real
      await instances.reconciler.start()
      const userId = await real.payer()
      const instanceId = await real.running(userId, { gpu_spec_id: 'l4', gpu_count: 2 })
      const used = (uuid: string, busy_percent: number) => ({
        ...{ uuid, busy_percent },
        memory_used_mb: 100 * busy_percent,
      })
      real.compute.uses.set(instanceId, { gpus: [used('GPU-a', 10), used('GPU-b', 90)] })
      const fleet = real.fleetOf(instances)
      const sampling = createSampler({ clock, log, store: createSampleStore({ db }), instances, fleet })
      for (let at = 0; at < 20; at++) {
        clock.advance(1)
        await sampling.pass(never)
      }
      const told = createSamples({
        ...{ db, clock, log, events, instances, fleet },
        owner: 'one',
        listen: real.database.listen,
      })
      const asked = { rangeSeconds: 3_600, to: null, after: null }
      const metrics = await told.metrics({ userId, instanceId }, asked)
      const last = ({ values }: { values: (number | null)[] }) => values.findLast(value => value !== null)
      expect(metrics.gpus.map(gpu => [last(gpu.load_percent), last(gpu.memory_used_mb)])).toEqual([
        [10, 1_000],
        [90, 9_000],
      ])
    } finally {
      await real.close()
    }
  })

  test('of machines that do not answer keeps no other from being sampled', async () => {
    const target = await running()
    fixture.compute.uses.set(target.instanceId, { cpu_percent: 1 })
    const lost = await running()
    fixture.compute.lose(lost.instanceId)
    await pass(10)
    expect(await rowsOf(target, 10)).toBe(1)
    expect(await rowsOf(lost, 10)).toBe(0)
  })
})

async function rowsOf({ instanceId }: { instanceId: string }, step: number): Promise<number> {
  const table = step < 60 ? sampleFine : sampleCoarse
  return fixture.db.$count(table, and(eq(table.instanceId, instanceId), eq(table.step, step)))
}

function rowAt(instanceId: string, seconds: number, cpu: number): SampleRow {
  return {
    instanceId,
    step: 10,
    at: new Date(seconds * 1000),
    cpu,
    memoryMb: null,
    diskMb: null,
    networkIn: null,
    networkOut: null,
    gpuLoad: null,
    gpuMemoryMb: null,
  }
}
