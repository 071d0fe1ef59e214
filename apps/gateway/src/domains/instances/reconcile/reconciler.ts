import type { Logger } from 'pino'
import type { Engine } from '../../../drivers/compute/port/engine.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { OpenDatabase } from '../../../platform/database/open-database.ts'
import { createLoop, type Loop } from '../../../platform/loop.ts'
import type { Fleet } from '../../fleet/fleet.ts'
import { INSTANCE_CHANNEL } from '../change-status.ts'
import {
  chooseFairly,
  mayPull,
  type PassedOver,
  passedOver,
  type Shared,
  type Shares,
  takenBy,
} from './fair-shares.ts'
import { IDS_MAX, type ReconcileLimits } from './limits.ts'
import type { Pairing } from './pairing.ts'
import type { Store } from './store.ts'
import type { Sweep } from './sweep.ts'
import { createWorker, type WorkerDeps } from './worker.ts'

/** Due rows are looked for when the first of them is due, at most so often; whatever is wanted at once is kicked. */
const DUE_MS_MIN = 500
/** They are looked for this often in any case: a gateway that died may have known of more than is known here. */
const DUE_MS_MAX = 5_000
/** Pause after an error of the loop itself, such as a database that is away. */
const ERROR_PAUSE_MS = 2_000
const SWEEP_MS = 30_000
/** Rows worked on at once: nearly all of that time is spent waiting for an engine. */
const SHARES: Shares = { rows: 64, rowsPerEngine: 32, rowsPerCustomer: 16, pulls: 48, pullsPerCustomer: 16 }
/** Rows looked at for the next ones to begin: more than can be begun, since not everybody may have more. */
const FOUND_MAX = 2 * SHARES.rows
const NOBODY: PassedOver = { userIds: [], engineIds: [], pullsOf: [] }
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
      if (lookAgain) early.add(id)
      // There was more to do than might be begun.
      if (lookAgain || isBehind) beginQuietly()
    },
    onMissed: beginQuietly,
    mayPull: userId => mayPull(userId, takenBy(worker.working()), SHARES),
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
      await beginDue()
      nextAt = await firstDueAt()
    },
    dueInMs: () => nextAt && Math.max(DUE_MS_MIN, nextAt.getTime() - clock.now().getTime()),
  })
  const loops: Loop[] = [due]
  /** Engines that this gateway looks after now. */
  const served = new Map<string, Engine>()
  let running = false
  let started = false
  /** Only when all that ran has been looked at: what else is due may take long. */
  let looksAtDue = false
  let stopServing = async () => {}
  /** Rows to be looked at whether or not it is due. */
  const early = new Set<string>()
  /** The pass under way, and whether something came about since it began. */
  let passing: Promise<void> | null = null
  let isAskedAgain = false
  /** The last pass left rows that were due, as nobody gets more than a share. */
  let isBehind = false

  const idsOf = (works: readonly { id: string }[]) => works.map(({ id }) => id)
  const firstDueAt = () => store.dueAt(clock.now(), idsOf(worker.working()))

  /**
   * Begins what may be begun. One pass runs at a time, so that no row is claimed twice by this process; those who ask
   * meanwhile share the next one.
   */
  function beginDue(): Promise<void> {
    isAskedAgain = true
    passing ??= passes().finally(() => {
      passing = null
    })
    return passing
  }

  function beginQuietly(): void {
    beginDue().catch(error => log.warn({ err: error }, 'instances could not be claimed'))
  }

  async function passes(): Promise<void> {
    while (isAskedAgain && running) {
      isAskedAgain = false
      isBehind = false
      await passOverEarly()
      if (looksAtDue) await passOverDue()
    }
  }

  /** Each of them is come to once: those that may not be begun yet are the last of the next pass. */
  async function passOverEarly(): Promise<void> {
    for (let left = early.size; left > 0; left -= IDS_MAX) {
      const ids = [...early].slice(0, Math.min(left, IDS_MAX))
      for (const id of ids) early.delete(id)
      for (const id of ids) if (worker.isWorkingOn(id)) worker.recheck(id, { lookAgain: true })
      try {
        const found = await find({ limit: ids.length, only: ids })
        const begun = await begin(found ?? [], { early: true })
        for (const id of found ? idsOf(found) : ids) if (!begun.has(id)) early.add(id)
      } catch (error) {
        for (const id of ids) early.add(id)
        throw error
      }
    }
  }

  async function passOverDue(): Promise<void> {
    for (;;) {
      const found = (await find({ limit: FOUND_MAX })) ?? []
      const begun = await begin(found, { early: false })
      if (begun.size === 0 || (begun.size === found.length && found.length < FOUND_MAX)) return
    }
  }

  /** Null where nobody's row may be begun. */
  async function find(which: { limit: number; only?: string[] }): Promise<Shared[] | null> {
    const working = worker.working()
    const taken = takenBy(working)
    isBehind ||= taken.rows >= SHARES.rows
    if (!running || taken.rows >= SHARES.rows) return null
    const passOver = which.only ? NOBODY : passedOver(taken, SHARES)
    isBehind ||= Object.values(passOver).some(those => those.length > 0)
    return store.find({ ...which, now: clock.now(), not: idsOf(working), passOver })
  }

  /** @returns Those that were to be begun; a few of them may have been somebody else's by then. */
  async function begin(found: Shared[], { early }: { early: boolean }): Promise<Set<string>> {
    const ids = chooseFairly(found, takenBy(worker.working()), SHARES)
    isBehind ||= ids.length < found.length
    if (!running || ids.length === 0) return new Set()
    const now = clock.now()
    const leaseUntil = new Date(now.getTime() + LEASE_MS)
    for (const row of await store.claim({ ids, now, leaseUntil, early })) worker.begin(row)
    return new Set(ids)
  }

  function kick(id: string, { lookAgain = false } = {}): void {
    if (!running) return
    // What it was kicked for may be due a little later only.
    due.wake(DUE_MS_MIN)
    // What is under way may not be wanted any more; the worker finds out.
    if (worker.isWorkingOn(id)) worker.recheck(id, { lookAgain })
    else {
      if (lookAgain) early.add(id)
      beginQuietly()
    }
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
  async function serve(engine: Engine, formerId: string | null): Promise<() => void> {
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
      stopServing = await fleet.serve(serve)
      if (deps.listen) cleanups.push(await deps.listen(INSTANCE_CHANNEL, id => kick(id), beginQuietly))
      every(RENEW_MS, () => worker.renew(new Date(clock.now().getTime() + LEASE_MS)), 'instances.leases')
      for (const id of await sweep.runningRows()) early.add(id)
      for (;;) {
        await beginDue()
        // Stopped meanwhile: what is left is nobody's here to look at, and nothing would be waited for any more.
        if (!running) return
        if (early.size === 0) break
        await worker.ended()
      }
      await worker.looked()
      if (!running) return
      looksAtDue = true
      due.start()
      due.wake(DUE_MS_MIN)
      every(SWEEP_MS, () => sweepAndKick(), 'instances.sweep')
      beginQuietly()
      started = true
      void sweepAndKick()
    },
    async stop() {
      if (!running) return
      running = false
      started = false
      looksAtDue = false
      early.clear()
      for (const cleanup of cleanups.splice(0)) cleanup()
      // Rounds under way are not waited for: a sweep may hang in a driver. Claims and steps end below.
      for (const loop of loops.splice(0)) void loop.stop()
      await passing?.catch(() => {})
      await worker.abortAll(STOP_GRACE_MS)
      await stopServing()
      await store.releaseAll().catch(error => log.warn({ err: error }, 'leases were not given back'))
    },
  }
}
