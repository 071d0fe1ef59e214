import type { Logger } from 'pino'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database/database.ts'
import { createLoop, type Loop } from '../../platform/loop.ts'
import type { Billing } from './billing.ts'

interface LoopDeps {
  db: Database
  clock: Clock
  log: Pick<Logger, 'error' | 'info'>
  billing: Pick<Billing, 'postDue' | 'recoverTopups' | 'checkBooks' | 'invoices' | 'tellEndings'> & {
    methods: Pick<Billing['methods'], 'recover'>
    autoTopup: Pick<Billing['autoTopup'], 'run'>
  }
  /** Who holds the leases: the same for all of one process. */
  owner: string
  /** Pause between two metering ticks. */
  meteringMs: number
  /** Pause between two looks whether the books are to be checked; other than usual for tests. */
  booksLookMs?: number
  /** Stops those of a customer's instances that can be paid for no longer; it comes from the instances domain. */
  onExhausted(userId: string): Promise<unknown>
  /** Hears of each check of the books, with what it found. */
  onBooksChecked(problems: string[]): Promise<unknown>
  /** Comes after each metering tick, once those instances are stopped. */
  afterTick(signal: AbortSignal): Promise<unknown>
}

/** Pause between two rounds of top-up recovery: a customer who waits for money looks again about then. */
const RECOVERY_MS = 15_000
/** Pause between two looks for months that have ended: their invoices are there within the hour. */
const INVOICES_MS = 3_600_000
/** So often the books are checked. */
const BOOKS_MS = 86_400_000
/** Whoever holds the lease looks so often whether they are to be: soon after a start, and not in the midst of it. */
const BOOKS_LOOK_MS = 60_000

/** Pause between two looks for credits that are about to end; they are told of days before. */
const ENDINGS_MS = 600_000

/** Pause between two looks at balances that are topped up by themselves. */
const AUTO_TOPUP_MS = 15_000

/**
 * The domain's loops. Each runs in one replica at a time, and outlives every error of the database.
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
      try {
        const finished = await billing.recoverTopups(signal)
        if (finished > 0) log.info({ finished }, 'finished top-ups that were left open')
      } catch (error) {
        log.error({ err: error }, 'top-ups could not be recovered; the next round tries again')
      }
      await billing.methods.recover(signal)
    },
  })
  const autoTopup = createLoop({
    name: 'billing.auto-topup',
    pauseMs: AUTO_TOPUP_MS,
    lease: deps,
    log,
    async run(signal) {
      const begun = await billing.autoTopup.run(signal)
      if (begun > 0) log.info({ begun }, 'topped up balances that were below what their customers said')
    },
  })
  let checkedAt: Date | null = null
  const books = createLoop({
    name: 'billing.books',
    pauseMs: deps.booksLookMs ?? BOOKS_LOOK_MS,
    lease: deps,
    log,
    async run(signal) {
      const now = deps.clock.now()
      if (checkedAt && now.getTime() - checkedAt.getTime() < BOOKS_MS) return
      // One that fails is tried again a day later, too: it is not to be run again and again.
      checkedAt = now
      const problems = await billing.checkBooks(signal)
      for (const problem of problems) log.error({ problem }, 'the books do not balance')
      if (problems.length === 0) log.info({}, 'the books balance')
      await deps.onBooksChecked(problems)
    },
  })
  const invoices = createLoop({
    name: 'billing.invoices',
    pauseMs: INVOICES_MS,
    atOnce: true,
    lease: deps,
    log,
    run: signal => billing.invoices.makeDue(signal),
  })
  const endings = createLoop({
    name: 'billing.credit-ends',
    pauseMs: ENDINGS_MS,
    atOnce: true,
    lease: deps,
    log,
    async run(signal) {
      const told = await billing.tellEndings(signal)
      if (told > 0) log.info({ told }, 'told customers of credits that are about to end')
    },
  })
  const loops = [metering, recovery, invoices, books, autoTopup, endings]
  return {
    start() {
      for (const loop of loops) loop.start()
    },
    async stop() {
      await Promise.all(loops.map(loop => loop.stop()))
    },
  }
}
