import { and, asc, eq, inArray, lte } from 'drizzle-orm'
import { readFeed, retryAside } from './events.ts'
import { isOpen, OPEN_STATES } from './intent-states.ts'
import { book, carryOn, type Intent, type PaymentsDeps } from './intents.ts'
import { collectOwed } from './refunds.ts'
import { paymentIntent } from './tables.ts'
import { endUnreachable, platformOf } from './unreachable.ts'

/** Looks of one round, so that many open payments never keep it from the platforms' lists of events. */
const LOOKS_PER_ROUND_MAX = 100
/** Between two looks at an open payment: as long as between two rounds at first, then a tenth of its age. */
const LOOK_PAUSE_MS_MIN = 15_000
const LOOK_PAUSE_MS_MAX = 3_600_000
const AGES_PER_PAUSE = 10
/** A payment that the customer has not confirmed by then is ended; nothing was charged. */
const ACTION_MS_MAX = 24 * 3_600_000

/**
 * Finishes payments whose outcome is not known yet: carries on what a killed gateway left, asks the platforms for
 * what no webhook told, ends what was never confirmed, and collects what is owed of refunds. Safe at any time and in
 * any number of replicas, also beside the call that made a row.
 * @returns How many open payments it finished. One that fails is logged and left for the next time.
 */
export async function recoverTopups(deps: PaymentsDeps, signal?: AbortSignal): Promise<number> {
  let finished = 0
  try {
    finished = await carryOnDue(deps, signal)
  } catch (error) {
    deps.log.error({ err: error }, 'open top-ups could not be looked for; the next round tries again')
  }
  for (const driver of deps.payments) {
    if (signal?.aborted) return finished
    try {
      await retryAside(deps, driver, signal)
    } catch (error) {
      deps.log.error({ err: error, platform: driver.name }, 'what was set aside could not be tried again')
    }
    try {
      await readFeed(deps, driver, signal)
    } catch (error) {
      deps.log.warn({ err: error, platform: driver.name }, 'the list of events could not be read')
    }
  }
  await collectOwed(deps, signal)
  return finished
}

async function carryOnDue(deps: PaymentsDeps, signal?: AbortSignal): Promise<number> {
  let finished = 0
  for (let count = 0; count < LOOKS_PER_ROUND_MAX && !signal?.aborted; count += 1) {
    const intent = await takeDue(deps)
    if (!intent) break
    try {
      const { state } = await finish(deps, intent)
      if (!isOpen(state)) finished += 1
    } catch (error) {
      deps.log.warn({ err: error, intentId: intent.id }, 'a top-up could not be finished; it stays open')
    }
  }
  return finished
}

async function finish(deps: PaymentsDeps, intent: Intent): Promise<Intent> {
  const driver = platformOf(deps, intent)
  if (driver === null) return await endUnreachable(deps, intent, false)
  const carried = await carryOn(deps, intent)
  const isLate = deps.clock.now().getTime() - carried.createdAt.getTime() > ACTION_MS_MAX
  if (carried.state !== 'requires_action' || !isLate || carried.platformIntentId === null) return carried
  return await book(deps, carried, await driver.cancel(carried.platformIntentId))
}

/**
 * The open payment that has waited longest to be looked at. It is due again after a pause that grows with its age,
 * whatever comes of the look: a payment that waits for its bank for days is not asked about each quarter of a minute.
 */
async function takeDue({ db, clock }: Pick<PaymentsDeps, 'db' | 'clock'>): Promise<Intent | null> {
  return await db.transaction(async tx => {
    const now = clock.now()
    const [due] = await tx
      .select()
      .from(paymentIntent)
      .where(and(inArray(paymentIntent.state, [...OPEN_STATES]), lte(paymentIntent.lookAt, now)))
      .orderBy(asc(paymentIntent.lookAt))
      .limit(1)
      .for('update', { skipLocked: true })
    if (!due) return null
    const lookAt = new Date(now.getTime() + lookPauseMs(now.getTime() - due.createdAt.getTime()))
    await tx.update(paymentIntent).set({ lookAt }).where(eq(paymentIntent.id, due.id))
    return due
  })
}

/** How long an open payment of that age is left alone after a look. */
export function lookPauseMs(ageMs: number): number {
  return Math.min(Math.max(ageMs / AGES_PER_PAUSE, LOOK_PAUSE_MS_MIN), LOOK_PAUSE_MS_MAX)
}
