import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Clock } from '../../../platform/clock.ts'
import { spanned } from '../../../platform/tracing/spans.ts'
import type { InstanceRow } from '../rows.ts'
import { StepSuperseded } from './deadline.ts'
import type { Shared } from './fair-shares.ts'
import type { ReconcileLimits } from './limits.ts'
import { planInstance, type Step } from './plan.ts'
import type { Steps } from './steps.ts'
import type { Store } from './store.ts'

/** Steps of one row in one go; a start takes about six. More means that something goes round in circles. */
const STEPS_MAX = 40

export interface WorkerDeps {
  clock: Clock
  log: Logger
  limits: ReconcileLimits
  store: Store
  steps: Steps
  /** Since when this process looks after instances. */
  watchedSince: Date
}

interface WorkerEvents {
  /** Whether another pull may begin for that customer; otherwise the row waits until one may. */
  mayPull(userId: string): boolean
  /** Work has ended; `lookAgain` asks for the row to be claimed at once, whether or not it is due. */
  onDone(id: string, lookAgain: boolean): void
  /** A row has changed in the moment in which work on it ended. */
  onMissed(id: string): void
}

/** Work on one row; a pull may take many minutes without using anything of ours. */
interface Work extends Shared {
  /** The version that is worked on. */
  version: number
  /** Aborts the step under way. */
  step: AbortController
  /** The machine may have changed since it was looked at. */
  lookAgain: boolean
  /** Resolves when the first look has had its effect. */
  looked: PromiseWithResolvers<void>
  done: Promise<void>
}

export interface Worker {
  /** Works on a row whose lease was just taken. */
  begin(row: InstanceRow): void
  working(): readonly Shared[]
  isWorkingOn(id: string): boolean
  /** Reads a row that is worked on again: a step that was decided on an older version is aborted. */
  recheck(id: string, options: { lookAgain: boolean }): void
  /** Prolongs the leases of all rows worked on, and aborts work whose row changed or whose lease was lost. */
  renew(leaseUntil: Date): Promise<void>
  /** When work on one of the rows has ended; at once where there is none. */
  ended(): Promise<void>
  /** When every row worked on has been looked at, and what was seen has been written down. */
  looked(): Promise<void>
  abortAll(graceMs: number): Promise<void>
}

/** Works on leased rows, step by step, each row until there is nothing to do for now. */
export function createWorker(deps: WorkerDeps, events: WorkerEvents): Worker {
  const { clock, log, limits, store, steps, watchedSince } = deps
  const works = new Map<string, Work>()
  let stopping = false

  function take(step: Parameters<Steps['execute']>[0], row: InstanceRow, signal: AbortSignal) {
    const facts = { 'berth.instance': row.id }
    return spanned(`reconcile ${step.kind}`, facts, () => steps.execute(step, row, signal))
  }

  async function run(row: InstanceRow, work: Work): Promise<void> {
    let current: InstanceRow | null = row
    let before: Step['kind'] | null = null
    let count = 0
    /** What somebody else has asked for meanwhile begins anew: it may want the same step again, and as many. */
    const readAgain = async () => {
      const read = await store.reread(row.id)
      if (read?.version !== work.version) {
        before = null
        count = 0
      }
      return read
    }
    while (current && !current.terminatedAt && !stopping) {
      work.version = current.version
      work.step = new AbortController()
      try {
        const observed = await steps.look(current, work.step.signal)
        const now = clock.now()
        const spent = await steps.spent(current)
        const step = planInstance({ row: current, observed, now, spent, watchedSince, limits })
        if (step.kind === 'wait' || step.kind === 'confirm_running') {
          const seen = step.kind === 'confirm_running' ? { observedAt: now } : undefined
          if (await store.rest(current, step.until, seen)) return
          current = await readAgain()
        } else if ((step.kind === before && current.failureCode === null) || count >= STEPS_MAX) {
          current = await noteStuck(current, step.kind)
        } else if (step.kind === 'pull' && !work.isPull && !events.mayPull(row.userId)) {
          if (await store.rest(current, now)) return
          current = await readAgain()
        } else {
          work.isPull = step.kind === 'pull'
          before = step.kind
          count += 1
          const after = await take(step, current, work.step.signal)
          if (work.isPull && after) {
            // Pulls have shares of their own: whoever has many of them is not to have as many of all else when they end.
            work.lookAgain = true
            if (await store.rest(after, after.nextAttemptAt)) return
          }
          current = work.isPull ? await readAgain() : (after ?? (await readAgain()))
        }
        work.looked.resolve()
      } catch (error) {
        if (!(error instanceof StepSuperseded)) throw error
        current = await readAgain()
        before = null
      }
    }
  }

  /** A driver that says "done" while nothing is done would be asked for ever; one that fails is being counted. */
  async function noteStuck(row: InstanceRow, kind: Step['kind']): Promise<InstanceRow | null> {
    const pauseMs = limits.backoffMs[Math.min(row.attempts, limits.backoffMs.length - 1)] ?? 0
    const retryAt = new Date(clock.now().getTime() + pauseMs)
    return store.noteFailure(row, { code: 'failed', detail: `${kind} changed nothing`, retryAt })
  }

  return {
    begin(row) {
      const work: Work = {
        id: row.id,
        userId: row.userId,
        engineId: row.engineId,
        isPull: false,
        version: row.version,
        step: new AbortController(),
        lookAgain: false,
        looked: Promise.withResolvers(),
        done: Promise.resolve(),
      }
      works.set(row.id, work)
      work.done = run(row, work)
        // Its lease stays until it runs out or this process claims it again: that is the pause.
        .catch(error => log.warn({ err: error, instance: row.id }, 'work on an instance failed'))
        .then(() => {
          works.delete(row.id)
          work.looked.resolve()
          if (!stopping) events.onDone(row.id, work.lookAgain)
        })
    },
    working: () => [...works.values()],
    isWorkingOn: id => works.has(id),
    recheck(id, { lookAgain }) {
      const work = works.get(id)
      if (!work) return
      if (lookAgain) work.lookAgain = true
      store.version(id).then(
        version => {
          // Only what is newer than what is worked on: our own changes come round as notices, too.
          if (version === null || version <= work.version) return
          if (works.get(id) === work) work.step.abort()
          else events.onMissed(id)
        },
        error => log.debug({ err: error, instance: id }, 'an instance could not be read again'),
      )
    },
    async renew(leaseUntil) {
      const ids = [...works.keys()]
      if (ids.length === 0) return
      const versions = await store.renew(ids, leaseUntil)
      for (const id of ids) {
        const work = works.get(id)
        const version = versions.get(id)
        if (work && (version === undefined || version > work.version)) work.step.abort()
      }
    },
    async ended() {
      if (works.size > 0) await Promise.race([...works.values()].map(({ done }) => done))
    },
    async looked() {
      await Promise.all([...works.values()].map(({ looked }) => looked.promise))
    },
    async abortAll(graceMs) {
      stopping = true
      for (const work of works.values()) work.step.abort()
      const all = Promise.all([...works.values()].map(({ done }) => done))
      await Promise.race([all, sleep(graceMs, undefined, { ref: false })])
    },
  }
}
