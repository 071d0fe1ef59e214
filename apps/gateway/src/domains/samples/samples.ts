import type { InstanceMetrics, MetricSeries, MetricsState } from '@berth/contract/instance-metrics'
import type { Logger } from 'pino'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database/database.ts'
import { notify, type OpenDatabase } from '../../platform/database/open-database.ts'
import type { Events } from '../../platform/events/events.ts'
import { createLoop } from '../../platform/loop.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { accountDeleted } from '../identity/events.ts'
import { INSTANCE_CHANNEL, type Instances, type Target } from '../instances/instances.ts'
import type { Figures } from './figures.ts'
import { createSampleStore, type Kept, type SampleRow } from './sample-store.ts'
import { createSampler } from './sampler.ts'
import { figuresByStep } from './series.ts'
import { type Stretch, stretchOf, type Tier, tiersOf } from './steps.ts'

/** Tells gateways that somebody looks at an instance each second. */
const WATCH_CHANNEL = 'samples_watched'
/** They are told again this often while somebody does, well within what they go on for by themselves. */
const TELL_MS = 15_000
/** Instances of which this gateway remembers when it told: one that is looked at for long is among the newest. */
const TOLD_MAX = 1_000
/** Pause between two rounds of thinning; what was not thinned yet is drawn from finer rows. */
const THIN_MS = 5 * 60_000
/** Nothing for so long: an instance that runs is not sampled. Rows come each ten seconds. */
const SILENT_MS = 60_000
/** Instances that ended so long ago have nothing left that could be cleared. */
const GONE_MS = 31 * 86_400_000
const MB_PER_GB = 1_024
/** A figure that has no value in so many steps is one that its engine does not measure. A rate needs two looks. */
const STEPS_TO_TELL = 3

/** What instances used: sampled, kept and thinned (B9). */
export type Samples = ReturnType<typeof createSamples>

export interface SamplesDeps {
  db: Database
  clock: Clock
  log: Pick<Logger, 'error' | 'debug' | 'warn'>
  /** This gateway: it holds the lease of thinning. */
  owner: string
  fleet: Pick<Fleet, 'engine' | 'engines' | 'serves' | 'onChange'>
  instances: Pick<
    Instances,
    'runningOn' | 'noteLoad' | 'noteOomKills' | 'noteTraffic' | 'findOwn' | 'goneSince' | 'everOf'
  >
  events: Pick<Events, 'on'>
  listen: OpenDatabase['listen']
}

/** What is asked of an instance's figures. */
export interface MetricsAsked {
  rangeSeconds: number
  to: Date | null
  after: Date | null
}

/** Makes the domain. Nothing is sampled until `start`. Create it before the fleet starts: it hears of engines. */
export function createSamples(deps: SamplesDeps) {
  const { db, clock, log, owner, instances } = deps
  const store = createSampleStore({ db })
  const sampler = createSampler({ ...deps, store })
  deps.fleet.onChange(async () => sampler.changed())
  deps.events.on(accountDeleted, 'samples', async (tx, { userId }) =>
    store.forget(tx, await instances.everOf(tx, userId)),
  )
  const thinning = createLoop({
    name: 'samples.thin',
    pauseMs: THIN_MS,
    lease: { db, clock, owner },
    log,
    run: signal => store.thin(clock.now(), signal),
  })
  const toldAtMs = new Map<string, number>()

  /** Has an instance sampled each second for a while, wherever it is looked after. */
  async function watch(instanceId: string): Promise<void> {
    const nowMs = clock.now().getTime()
    const told = toldAtMs.get(instanceId)
    if (told !== undefined && nowMs - told < TELL_MS) return
    toldAtMs.delete(instanceId)
    toldAtMs.set(instanceId, nowMs)
    const [oldest] = toldAtMs.keys()
    if (toldAtMs.size > TOLD_MAX && oldest !== undefined) toldAtMs.delete(oldest)
    await notify(db, WATCH_CHANNEL, instanceId)
  }

  /**
   * What one of a customer's instances used.
   * @throws ApiError `not_found`.
   */
  async function metrics(target: Target, asked: MetricsAsked): Promise<InstanceMetrics> {
    const row = await instances.findOwn(target)
    const now = clock.now()
    const seconds = Math.floor(now.getTime() / 1000)
    const to = Math.min(seconds, asked.to ? Math.ceil(asked.to.getTime() / 1000) : seconds)
    const after = asked.after && Math.floor(asked.after.getTime() / 1000)
    const stretch = stretchOf({ to, rangeSeconds: asked.rangeSeconds, after }, seconds)
    if (row.status === 'running' && stretch.step === 1 && to === seconds) await watch(row.id)
    const kept = await store.kept(row.id)
    const rows = await store.read(row.id, partsOf(stretch, kept))
    const moments = kept.flatMap(({ tier, first, last }) =>
      first === null || last === null ? [] : [{ first, last: last + tier.step }],
    )
    const newest = momentOf(Math.max(...moments.map(({ last }) => last)))
    return {
      instance_id: row.id,
      state: stateOf(row, newest, now),
      sampled_since: momentOf(Math.min(...moments.map(({ first }) => first)))?.toISOString() ?? null,
      sampled_at: newest?.toISOString() ?? null,
      from: new Date(stretch.from * 1000).toISOString(),
      step_seconds: stretch.step,
      steps: stretch.steps,
      ...seriesOf(row, rows, stretch),
    }
  }

  return {
    metrics,
    /** Begins to sample. @returns The way to stop, which returns when nothing is sampled any more. */
    async start(): Promise<() => Promise<void>> {
      const unlisten = await Promise.all([
        deps.listen(INSTANCE_CHANNEL, sampler.changed, sampler.changed),
        deps.listen(WATCH_CHANNEL, sampler.watch),
      ])
      sampler.start()
      thinning.start()
      return async () => {
        for (const stop of unlisten) stop()
        await Promise.all([sampler.stop(), thinning.stop()])
      }
    },
    /** Deletes what is older than it is kept, and all of instances that are gone. */
    async purge(): Promise<void> {
      const now = clock.now()
      await store.clear(now, await instances.goneSince(new Date(now.getTime() - GONE_MS)))
    },
  }
}

type Row = Awaited<ReturnType<Instances['findOwn']>>

/** What to read for a stretch: the coarsest rows that fit, and finer ones where those are not made yet. */
function partsOf(stretch: Stretch, kept: readonly Kept[]): { tier: Tier; from: number; to: number }[] {
  const { step, steps } = stretch
  const to = stretch.from + step * steps
  let from = stretch.from
  return tiersOf(step).map(tier => {
    // Seconds are drawn beside tens, of which one may begin before the stretch.
    if (tier.step > step) return { tier, from: from - tier.step, to }
    const part = { tier, from, to }
    const last = kept.find(one => one.tier === tier)?.last
    if (last) from = Math.max(from, last + tier.step)
    return part
  })
}

function stateOf({ status, readyAt }: Row, newest: Date | null, now: Date): MetricsState {
  if (status !== 'running') return 'not_running'
  const isNew = newest !== null && now.getTime() - newest.getTime() <= SILENT_MS
  if (isNew && (!readyAt || newest > readyAt)) return 'sampled'
  const isYoung = readyAt !== null && now.getTime() - readyAt.getTime() <= SILENT_MS
  return isYoung ? 'not_yet' : 'silent'
}

type Drawn = Omit<
  InstanceMetrics,
  'instance_id' | 'state' | 'sampled_since' | 'sampled_at' | 'from' | 'step_seconds' | 'steps'
>

function seriesOf(
  { spec, simulated, gpuCount, containerDiskGb }: Row,
  rows: SampleRow[],
  stretch: Stretch,
): Drawn {
  const figures = figuresByStep(rows, stretch)
  const sampled = figures.filter(one => one !== null).length
  const series = (read: (one: Figures) => number | null | undefined): MetricSeries => {
    const values = figures.map(one => (one && read(one)) ?? null)
    const isTold = sampled < STEPS_TO_TELL || values.some(value => value !== null)
    return { values, lacks: isTold ? null : 'not_measured' }
  }
  const ofGpu = (read: (one: Figures) => number | null | undefined): MetricSeries =>
    simulated ? { values: figures.map(() => null), lacks: 'simulated' } : series(read)
  return {
    cpu_percent: series(one => one.cpu),
    vcpu: spec.vcpu,
    memory_used_mb: series(one => one.memoryMb),
    memory_limit_mb: spec.memory_gb * MB_PER_GB,
    disk_used_mb: series(one => one.diskMb),
    disk_size_mb: containerDiskGb * MB_PER_GB,
    network_in_rate: series(one => one.networkIn),
    network_out_rate: series(one => one.networkOut),
    gpus: Array.from({ length: spec.gpu ? gpuCount : 0 }, (_, at) => ({
      load_percent: ofGpu(one => one.gpuLoad?.[at]),
      memory_used_mb: ofGpu(one => one.gpuMemoryMb?.[at]),
      memory_size_mb: spec.vram_gb * MB_PER_GB,
    })),
  }
}

/** @param seconds Since 1970; infinite where there is none. */
function momentOf(seconds: number): Date | null {
  return Number.isFinite(seconds) ? new Date(seconds * 1000) : null
}
