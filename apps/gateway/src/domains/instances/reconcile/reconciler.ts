import type { Logger } from 'pino'
import type { Engine } from '../../../drivers/compute/port/engine.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { OpenDatabase } from '../../../platform/database/open-database.ts'
import { createLoop, type Loop } from '../../../platform/loop.ts'
import type { Fleet } from '../../fleet/fleet.ts'
import { INSTANCE_CHANNEL } from '../change-status.ts'
import type { ReconcileLimits } from './limits.ts'
import type { Pairing } from './pairing.ts'
import type { Store } from './store.ts'
import type { Sweep } from './sweep.ts'
import { createWorker, type WorkerDeps } from './worker.ts'

/** Due rows are looked for when the first of them is due, at most so often; whatever is wanted at once is kicked. */
const DUE_MS_MIN = 1_000
/** They are looked for this often in any case: a gateway that died may have known of more than is known here. */
const DUE_MS_MAX = 5_000
/** Pause after an error of the loop itself, such as a database that is away. */
const ERROR_PAUSE_MS = 2_000
const SWEEP_MS = 30_000
/** Rows worked on at once: nearly all of that time is spent waiting for an engine. */
const CONCURRENCY = 16
/** The same with pulls, which are slow and must not keep others from being stopped. */
const CONCURRENCY_WITH_PULLS = 64
/** A lease outlives its renewals by this: after a crash, another process takes over this much later. */
const LEASE_MS = 10_000
const RENEW_MS = 3_000
/** How long a stop waits for the steps that it aborted. */
const STOP_GRACE_MS = 5_000

export interface Reconciler {
  /**
   * Starts the loop. Returns when every instance that was running has been looked at once, so that metering
   * which starts afterwards charges nothing that was dead.
   */
  start(): Promise<void>
  /** Aborts what is under way, gives the leases back and ends the loop. */
  stop(): Promise<void>
  /** Looks at an instance at once, as far as it is due. */
  kick(id: string): void
}

export interface ReconcilerDeps extends Omit<WorkerDeps, 'limits'> {
  clock: Clock
  log: Logger
  fleet: Pick<Fleet, 'serve'>
  limits: ReconcileLimits
  store: Store
  sweep: Sweep
  pairing: Pick<Pairing, 'isOurs' | 'adopt'>
  /** Tells of changes made by other replicas; null where there are none. */
  listen: OpenDatabase['listen'] | null
}

/**
 * The loop that brings machines to what is wanted of them. Any number of replicas run it: a row is worked on
 * under a lease, and every write is a compare-and-set.
 */
export function createReconciler(deps: ReconcilerDeps): Reconciler {
  const { clock, log, fleet, pairing, store, sweep } = deps
  const worker = createWorker(deps, {
    onDone(id, lookAgain) {
      // When it is due again is known now.
      due.wake(DUE_MS_MIN)
      if (lookAgain) claimQuietly({ only: [id], early: true })
      // A slot is free, and there may be more to do than there were slots.
      else if (worker.busy() >= CONCURRENCY - 1) claimQuietly()
    },
    onMissed: id => claimQuietly({ only: [id] }),
  })
  const cleanups: (() => void)[] = []
  let nextAt: Date | null = null
  const due = createLoop({
    name: 'instances.due',
    pauseMs: DUE_MS_MAX,
    errorPauseMs: ERROR_PAUSE_MS,
    log,
    async run() {
      nextAt = await firstDueAt()
      if (nextAt === null || nextAt > clock.now()) return
      await claim()
      nextAt = await firstDueAt()
    },
    dueInMs: () => nextAt && Math.max(DUE_MS_MIN, nextAt.getTime() - clock.now().getTime()),
  })
  const loops: Loop[] = [due]
  /** Engines that this gateway looks after now. */
  const served = new Map<string, Engine>()
  let running = false
  let started = false
  let stopServing = async () => {}
  let claiming: Promise<void> = Promise.resolve()

  const firstDueAt = () => store.dueAt(clock.now(), worker.working())

  /** Claims are made one after the other, so that no row is claimed twice by this process. */
  function claim(which: { only?: string[]; early?: boolean } = {}): Promise<void> {
    claiming = claiming
      .catch(() => {})
      .then(async () => {
        const working = worker.working()
        const limit = Math.min(CONCURRENCY - worker.busy(), CONCURRENCY_WITH_PULLS - working.length)
        if (!running || limit <= 0) return
        const now = clock.now()
        const rows = await store.claim({
          ...which,
          limit,
          now,
          leaseUntil: new Date(now.getTime() + LEASE_MS),
          not: working,
        })
        for (const row of rows) worker.begin(row)
      })
    return claiming
  }

  function claimQuietly(which?: { only?: string[]; early?: boolean }): void {
    claim(which).catch(error => log.warn({ err: error }, 'instances could not be claimed'))
  }

  function kick(id: string, { lookAgain = false } = {}): void {
    if (!running) return
    // What it was kicked for may be due a little later only.
    due.wake(DUE_MS_MIN)
    // What is under way may not be wanted any more; the worker finds out.
    if (worker.working().includes(id)) worker.recheck(id, { lookAgain })
    else claimQuietly({ only: [id], early: lookAgain })
  }

  function every(pauseMs: number, run: () => Promise<unknown>, name: string): void {
    const loop = createLoop({ name, pauseMs, errorPauseMs: ERROR_PAUSE_MS, log, run })
    loops.push(loop)
    loop.start()
  }

  /** One engine that does not answer keeps no other from being swept. */
  async function sweepAndKick(engines: Iterable<Engine> = served.values()): Promise<void> {
    for (const engine of engines) {
      try {
        for (const id of await sweep.run(engine)) kick(id, { lookAgain: true })
      } catch (error) {
        log.warn({ err: error, engine: engine.id }, 'sweeping machines failed; it is tried again')
      }
    }
  }

  /** Begins to look after an engine's machines. */
  async function begin(engine: Engine, formerId: string | null): Promise<() => void> {
    if (formerId) await pairing.adopt(engine.id, formerId)
    // Before anything makes a machine there: whether those that are there belong to this database.
    await pairing
      .isOurs(engine)
      .catch(error => log.warn({ err: error }, 'the first look at the machines failed; it is made again'))
    const unwatch = engine.observation.watch(id => kick(id, { lookAgain: true }))
    served.set(engine.id, engine)
    if (started) void lookAtAll(engine)
    return () => {
      served.delete(engine.id)
      unwatch()
    }
  }

  /** Another gateway may have looked after them until now, or nobody: all are looked at, whether or not it is due. */
  async function lookAtAll(engine: Engine): Promise<void> {
    try {
      for (const id of await sweep.runningRows(engine.id)) kick(id, { lookAgain: true })
    } catch (error) {
      log.warn({ err: error, engine: engine.id }, 'the machines of an engine are looked at when it is due')
    }
    await sweepAndKick([engine])
  }

  return {
    kick: id => kick(id),
    async start() {
      if (running) return
      running = true
      stopServing = await fleet.serve(begin)
      if (deps.listen)
        cleanups.push(
          await deps.listen(
            INSTANCE_CHANNEL,
            id => kick(id),
            () => claimQuietly(),
          ),
        )
      every(RENEW_MS, () => worker.renew(new Date(clock.now().getTime() + LEASE_MS)), 'instances.leases')
      for (const id of await sweep.runningRows()) {
        await worker.free(CONCURRENCY)
        await claim({ only: [id], early: true })
      }
      await worker.looked()
      due.start()
      due.wake(DUE_MS_MIN)
      every(SWEEP_MS, () => sweepAndKick(), 'instances.sweep')
      claimQuietly()
      started = true
      void sweepAndKick()
    },
    async stop() {
      if (!running) return
      running = false
      started = false
      for (const cleanup of cleanups.splice(0)) cleanup()
      // Rounds under way are not waited for: a sweep may hang in a driver. Claims and steps end below.
      for (const loop of loops.splice(0)) void loop.stop()
      await claiming.catch(() => {})
      await worker.abortAll(STOP_GRACE_MS)
      await stopServing()
      await store.releaseAll().catch(error => log.warn({ err: error }, 'leases were not given back'))
    },
  }
}
