import type { Logger } from 'pino'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database/database.ts'
import { withLease } from '../../platform/lease.ts'
import type { Billing } from './billing.ts'

interface LoopDeps {
  db: Database
  clock: Clock
  log: Pick<Logger, 'error' | 'info'>
  billing: Pick<Billing, 'postDue' | 'recoverTopups'>
  /** Who holds the leases: the same for all of one process. */
  owner: string
  /** Pause between two metering ticks. */
  meteringMs: number
  /** Stops those of a customer's instances that can be paid for no longer; it comes from the instances domain. */
  onExhausted(userId: string): Promise<void>
  /** Comes after each metering tick, once those instances are stopped. */
  afterTick(signal: AbortSignal): Promise<unknown>
}

/** Pause between two rounds of top-up recovery: a customer who waits for money looks again about then. */
const RECOVERY_MS = 15_000
/** A lease outlasts the pause by this, so that one replica keeps a loop until it dies. */
const LEASE_MARGIN_MS = 5_000

/**
 * The domain's two loops. Each runs in one replica at a time, and outlives every error of the database.
 * `start` also finishes at once what a killed gateway left behind. `stop` returns when nothing runs any more.
 */
export function createBillingLoops(deps: LoopDeps): { start(): void; stop(): Promise<void> } {
  const { billing, log, onExhausted, afterTick } = deps
  const metering = createLoop(deps, {
    name: 'billing.metering',
    pause_ms: deps.meteringMs,
    async run(signal) {
      const { exhausted } = await billing.postDue(signal)
      for (const userId of exhausted) {
        try {
          await onExhausted(userId)
        } catch (error) {
          log.error(
            { err: error, userId },
            'an empty balance could not be acted on; the next tick tries again',
          )
        }
      }
      if (!signal.aborted) await afterTick(signal)
    },
  })
  const recovery = createLoop(deps, {
    name: 'billing.topups',
    pause_ms: RECOVERY_MS,
    async run(signal) {
      const finished = await billing.recoverTopups(signal)
      if (finished > 0) log.info({ finished }, 'finished top-ups that were left open')
    },
  })
  return {
    start() {
      // Metering waits for its first tick: whatever died with the last gateway is first found dead.
      metering.start({ at_once: false })
      recovery.start({ at_once: true })
    },
    async stop() {
      await Promise.all([metering.stop(), recovery.stop()])
    },
  }
}

interface LoopOptions {
  name: string
  pause_ms: number
  run(signal: AbortSignal): Promise<void>
}

/** Runs something again and again with a pause between, under a lease. */
function createLoop(deps: Pick<LoopDeps, 'db' | 'clock' | 'log' | 'owner'>, options: LoopOptions) {
  const { db, clock, log, owner } = deps
  const stopping = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()

  async function once(leased: boolean) {
    try {
      if (!leased) return await options.run(stopping.signal)
      const lease = { name: options.name, owner, ttl_ms: options.pause_ms + LEASE_MARGIN_MS }
      await withLease(db, clock, lease, lost => options.run(AbortSignal.any([lost, stopping.signal])))
    } catch (error) {
      log.error({ err: error, loop: options.name }, 'a round failed; the next one tries again')
    }
  }

  function schedule() {
    if (stopping.signal.aborted) return
    timer = setTimeout(() => {
      running = once(true).then(schedule)
    }, options.pause_ms)
  }

  return {
    /** At once means without a lease: a dead process may still hold it, and rounds are safe side by side. */
    start({ at_once }: { at_once: boolean }) {
      if (at_once) running = once(false).then(schedule)
      else schedule()
    },
    async stop() {
      stopping.abort()
      clearTimeout(timer)
      await running
    },
  }
}
