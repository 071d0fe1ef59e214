import type { Logger } from 'pino'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database/database.ts'
import { createLoop, type Loop } from '../../platform/loop.ts'
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
  onExhausted(userId: string): Promise<unknown>
  /** Comes after each metering tick, once those instances are stopped. */
  afterTick(signal: AbortSignal): Promise<unknown>
}

/** Pause between two rounds of top-up recovery: a customer who waits for money looks again about then. */
const RECOVERY_MS = 15_000

/**
 * The domain's two loops. Each runs in one replica at a time, and outlives every error of the database.
 * `start` also finishes at once what a killed gateway left behind. `stop` returns when nothing runs any more.
 */
export function createBillingLoops(deps: LoopDeps): Pick<Loop, 'start' | 'stop'> {
  const { billing, log, onExhausted, afterTick } = deps
  // Metering waits for its first tick: whatever died with the last gateway is first found dead.
  const metering = createLoop({
    name: 'billing.metering',
    pauseMs: deps.meteringMs,
    lease: deps,
    log,
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
  const recovery = createLoop({
    name: 'billing.topups',
    pauseMs: RECOVERY_MS,
    atOnce: true,
    lease: deps,
    log,
    async run(signal) {
      const finished = await billing.recoverTopups(signal)
      if (finished > 0) log.info({ finished }, 'finished top-ups that were left open')
    },
  })
  return {
    start() {
      metering.start()
      recovery.start()
    },
    async stop() {
      await Promise.all([metering.stop(), recovery.stop()])
    },
  }
}
