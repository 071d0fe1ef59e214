import { and, asc, gt, inArray } from 'drizzle-orm'
import { readFeed } from './events.ts'
import { isOpen, OPEN_STATES } from './intent-states.ts'
import { book, carryOn, driverOf, type Intent, type PaymentsDeps } from './intents.ts'
import { collectOwed } from './refunds.ts'
import { paymentIntent } from './tables.ts'

/** Payments that recovery reads at once. */
const PAGE = 100
/** A payment that the customer has not confirmed by then is ended; nothing was charged. */
const ACTION_MS_MAX = 24 * 3_600_000

/**
 * Finishes payments whose outcome is not known yet: carries on what a killed gateway left, asks the platforms for
 * what no webhook told, ends what was never confirmed, and collects what is owed of refunds. Safe at any time and in
 * any number of replicas, also beside the call that made a row.
 * @returns How many open payments it finished. One that fails is logged and left for the next time.
 */
export async function recoverTopups(deps: PaymentsDeps, signal?: AbortSignal): Promise<number> {
  const finished = await carryOnAll(deps, signal)
  for (const driver of deps.payments) {
    if (signal?.aborted) return finished
    try {
      await readFeed(deps, driver, signal)
    } catch (error) {
      deps.log.warn({ err: error, platform: driver.name }, 'the list of events could not be read')
    }
  }
  await collectOwed(deps, signal)
  return finished
}

async function carryOnAll(deps: PaymentsDeps, signal?: AbortSignal): Promise<number> {
  let finished = 0
  let after: string | null = null
  for (;;) {
    const page: Intent[] = await openIntents(deps, after)
    for (const intent of page) {
      if (signal?.aborted) return finished
      after = intent.id
      try {
        const { state } = await finish(deps, intent)
        if (!isOpen(state)) finished += 1
      } catch (error) {
        deps.log.warn({ err: error, intentId: intent.id }, 'a top-up could not be finished; it stays open')
      }
    }
    if (page.length < PAGE) return finished
  }
}

async function finish(deps: PaymentsDeps, intent: Intent): Promise<Intent> {
  const carried = await carryOn(deps, intent)
  const isLate = deps.clock.now().getTime() - carried.createdAt.getTime() > ACTION_MS_MAX
  if (carried.state !== 'requires_action' || !isLate || carried.platformIntentId === null) return carried
  const driver = driverOf(deps, carried.platformName)
  return await book(deps, carried, await driver.cancel(carried.platformIntentId))
}

async function openIntents({ db }: Pick<PaymentsDeps, 'db'>, after: string | null): Promise<Intent[]> {
  return await db
    .select()
    .from(paymentIntent)
    .where(
      and(
        inArray(paymentIntent.state, [...OPEN_STATES]),
        after === null ? undefined : gt(paymentIntent.id, after),
      ),
    )
    .orderBy(asc(paymentIntent.id))
    .limit(PAGE)
}
