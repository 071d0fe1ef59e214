import { and, eq } from 'drizzle-orm'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { triesOf } from '../../../../test/long-runs.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { usageInterval } from '../../billing/meters/tables.ts'
import { createInstancesFixture, type InstancesFixture, startWanted } from '../instances-fixture.ts'

/**
 * Goal: what ran is what is charged, to the second in all, whatever its customer does (B2, B6).
 * Method: random lives of one instance, in simulated time. Its machine takes its time to start, to answer and to end as
 * it likes, and dies at any moment; its customer acts again before the last act is done. The engine keeps count of when
 * what the customer put in there ran; in the end that is compared with the ledger's sums.
 */

const ACTS_MAX = 14
/** As long as drivers wait for programs that ignore TERM. */
const GRACE_MS = 3_000
const SPECS = ['cpu', 'l4'] as const
const MS_PER_HOUR = 3_600_000n

/** What the machine does in the calls that follow an act. */
const mood = fc.record({
  startMs: fc.nat(900),
  probeMs: fc.nat(900),
  ignoresTerm: fc.boolean(),
  dies: fc.constantFrom('never', 'never', 'never', 'in probe', 'in stop'),
})
const act = fc.record({
  kind: fc.constantFrom('stop', 'start', 'start', 'restart', 'restart', 'restart', 'die', 'rename'),
  spec: fc.constantFrom(...SPECS),
  mood,
  /** How long it is left alone after that; hasty ones act again before anything has come of it. */
  restMs: fc.oneof(fc.constant('hasty' as const), fc.constant(0), fc.integer({ min: 1, max: 4_000 })),
})
type Mood = typeof mood extends fc.Arbitrary<infer Value> ? Value : never
type Act = typeof act extends fc.Arbitrary<infer Value> ? Value : never

let fixture: InstancesFixture
let machine: ReturnType<typeof hostileMachine>
beforeAll(async () => {
  fixture = await createInstancesFixture()
  machine = hostileMachine()
  await fixture.instances.reconciler.start()
})
afterAll(() => fixture.close())

test('[B2] [B6] what ran of a hostile machine is what is charged, to the second in all', async () => {
  const acts = fc.array(act, { maxLength: ACTS_MAX })
  await fc.assert(
    fc.asyncProperty(fc.boolean(), acts, mood, async (waits, acts, first) => {
      fixture.compute.waitToBegin = waits
      const userId = await fixture.payer()
      machine.reset(first)
      const instanceId = await fixture.deploy(userId, { start_command: 'mine', gpu_spec_id: SPECS[0] })
      await settled(instanceId)
      for (const next of acts) {
        machine.mood = next.mood
        await carryOut(next, { userId, instanceId })
        if (next.restMs === 'hasty') continue
        await settled(instanceId)
        fixture.clock.advance(next.restMs / 1_000)
      }
      await fixture.instances.terminate({ userId, instanceId })
      await fixture.until(instanceId, 'terminated')
      await fixture.expectSound(instanceId)
      const exact = machine.exactMicro()
      const charged = await chargedMicro(userId)
      expect(Number(charged - exact), `${charged} charged, ${exact} ran`).toBeLessThanOrEqual(0)
      expect(exact - charged).toBeLessThanOrEqual(machine.microOfASecond())
    }),
    // A smaller try would run beside the instance that a failed one leaves behind.
    { numRuns: triesOf('lives'), endOnFailure: true },
  )
}, 600_000)

async function carryOut({ kind, spec }: Act, target: { userId: string; instanceId: string }): Promise<void> {
  const { instances } = fixture
  try {
    if (kind === 'die') machine.die()
    else if (kind === 'start') await instances.start(target, startWanted({ specId: spec, gpuCount: 1 }))
    else if (kind === 'rename') await instances.edit(target, { name: `n${fixture.clock.now().getTime()}` })
    else await instances[kind](target)
  } catch (error) {
    // What its state does not allow is refused.
    if (!(error instanceof ApiError && error.code === 'instance_state')) throw error
  }
}

/** Until nothing is under way, and the machine is as its row says. */
async function settled(id: string): Promise<void> {
  await fixture.until(id, ({ status, leaseOwner, failureCode }) => {
    // It pauses before it tries again.
    if (failureCode !== null && leaseOwner === null) fixture.clock.advance(1)
    const state = fixture.compute.held.get(id)?.status
    const runs = state?.state === 'running' && !state.waits
    return (
      leaseOwner === null && (status === 'running' ? runs : ['stopped', 'exited', 'error'].includes(status))
    )
  })
}

async function chargedMicro(userId: string): Promise<bigint> {
  const rows = await fixture.db
    .select()
    .from(usageInterval)
    .where(and(eq(usageInterval.userId, userId), eq(usageInterval.charge, 'by_time')))
  return rows.reduce((sum, { postedMicro, waivedMicro }) => sum + postedMicro + waivedMicro, 0n)
}

/** Makes the fixture's engine one of a hostile machine, and keeps count of when what is in there runs. */
function hostileMachine() {
  const { compute, clock } = fixture
  const { start, probe, begin, stop, remove } = compute.machines
  let id = ''
  /** Since when it runs, and at what rate. */
  let running: { fromMs: number; rate: bigint } | null = null
  let ran = 0n
  let rates: bigint[] = []
  const nowMs = () => clock.now().getTime()

  /** What the machine costs by the hour as its row has it now. */
  async function rateNow(): Promise<bigint> {
    const rate = (await fixture.row(id)).runningMicroPerHour
    rates.push(rate)
    return rate
  }
  function codeEnds(): void {
    if (running) ran += BigInt(nowMs() - running.fromMs) * running.rate
    running = null
  }
  function isRunning(): boolean {
    return compute.held.get(id)?.status.state === 'running'
  }
  const calm: Mood = { startMs: 0, probeMs: 0, ignoresTerm: false, dies: 'never' }
  const me = {
    mood: calm,
    reset(first: Mood) {
      me.mood = first
      ran = 0n
      rates = []
      running = null
    },
    die() {
      if (isRunning()) codeEnds()
      compute.exit(id, 137)
    },
    exactMicro: () => ran / MS_PER_HOUR,
    microOfASecond: () => rates.reduce((most, rate) => (rate > most ? rate : most), 0n) / 3_600n + 1n,
  }
  compute.machines.start = async (machineId, signal) => {
    id = machineId
    // Of the very first start nothing is its customer's but the command: what that did before it was ready is free.
    const isFirst = (await fixture.row(id)).firstRanAt === null
    const begun = { fromMs: nowMs(), rate: await rateNow() }
    if (!isRunning()) clock.advance(me.mood.startMs / 1_000)
    if (!isRunning() && !compute.waitToBegin && !isFirst) running = begun
    try {
      await start(id, signal)
    } catch (error) {
      if (!isRunning()) running = null
      throw error
    }
  }
  compute.machines.probe = async (machineId, signal) => {
    const rate = await rateNow()
    if (isRunning()) clock.advance(me.mood.probeMs / 1_000)
    if (me.mood.dies === 'in probe' && isRunning()) {
      me.mood = { ...me.mood, dies: 'never' }
      me.die()
    }
    await probe(machineId, signal)
    if (!compute.waitToBegin && isRunning()) running ??= { fromMs: nowMs(), rate }
  }
  compute.machines.begin = async (machineId, signal) => {
    const rate = await rateNow()
    await begin(machineId, signal)
    if (isRunning()) running ??= { fromMs: nowMs(), rate }
  }
  compute.machines.stop = async (machineId, signal, options) => {
    if (signal.aborted || !isRunning()) return stop(machineId, signal, options)
    if (me.mood.dies === 'in stop') {
      clock.advance(1.234)
      me.die()
    } else if (me.mood.ignoresTerm && running && !options?.at_once) clock.advance(GRACE_MS / 1_000)
    await stop(machineId, signal, options)
    codeEnds()
  }
  compute.machines.remove = async (machineId, signal) => {
    await remove(machineId, signal)
    codeEnds()
  }
  return me
}
