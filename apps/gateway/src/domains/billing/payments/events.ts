import { and, eq, inArray, lt, notExists } from 'drizzle-orm'
import {
  EVENTS_KEPT_MS,
  type PaymentDriver,
  PaymentUnavailable,
  type PlatformEvent,
  type WebhookDelivery,
} from '../../../drivers/payments/port.ts'
import { lockWallet } from '../ledger/wallet.ts'
import { OPEN_STATES } from './intent-states.ts'
import { apply, type PaymentsDeps } from './intents.ts'
import { asideAmong, endAside, noteStillAside, setAside, takeDueAside, type Via } from './set-aside.ts'
import { paymentEvent, paymentFeed, paymentIntent } from './tables.ts'

/** What was read is read again this far back: an event may appear in the list after a newer one. */
const OVERLAP_MS = 5 * 60_000
/** Events of one round that are tried again, so that many never keep it from the platforms' lists. */
const ASIDE_PER_ROUND_MAX = 100

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Takes a webhook: each of its events is booked once, however often it comes. One whose booking fails is set aside, so
 * that the platform need not send it again and those behind it are booked.
 * @throws WebhookRefused when the platform did not send it.
 * @throws PaymentUnavailable when it was asked how far something moved, and did not answer: it sends the event again.
 */
export async function receiveWebhook(
  deps: PaymentsDeps,
  driver: PaymentDriver,
  delivery: WebhookDelivery,
): Promise<void> {
  const told = driver.readWebhook(delivery)
  let unanswered: PaymentUnavailable | null = null
  for (const event of await unknownOf(deps, driver.name, told)) {
    try {
      await receive(deps, driver, event, 'webhook')
    } catch (error) {
      if (error instanceof PaymentUnavailable) unanswered = error
      else await setAside(deps, driver.name, event, { via: 'webhook', error })
    }
  }
  if (unanswered) throw unanswered
}

/**
 * Reads what a platform has told since the last time, and books what no webhook brought. One event that cannot be
 * booked is set aside and holds up none of the others.
 * @throws PaymentUnavailable when the platform did not answer; what was read by then is booked.
 */
export async function readFeed(
  deps: PaymentsDeps,
  driver: PaymentDriver,
  signal?: AbortSignal,
): Promise<void> {
  const { db, clock } = deps
  const [feed] = await db.select().from(paymentFeed).where(eq(paymentFeed.platformName, driver.name))
  const since = feed ? feed.readTo.getTime() - OVERLAP_MS : clock.now().getTime() - EVENTS_KEPT_MS
  let newest = feed?.readTo ?? null
  let missed = 0
  for await (const page of driver.eventsSince(new Date(since))) {
    for (const event of await unknownOf(deps, driver.name, page)) {
      if (signal?.aborted) return
      if (!(await receiveListed(deps, driver, event))) missed += 1
    }
    for (const { occurred_at } of page) if (newest === null || occurred_at > newest) newest = occurred_at
  }
  // What could not even be set aside is read again.
  if (missed > 0) return
  if (newest === null || newest.getTime() === feed?.readTo.getTime()) return
  const readTo = newest
  await db
    .insert(paymentFeed)
    .values({ platformName: driver.name, readTo })
    .onConflictDoUpdate({ target: paymentFeed.platformName, set: { readTo } })
}

/** Books an event of a list, or sets it aside. @returns Whether it need not be read again. */
async function receiveListed(
  deps: PaymentsDeps,
  driver: PaymentDriver,
  event: PlatformEvent,
): Promise<boolean> {
  try {
    await receive(deps, driver, event, 'list')
    return true
  } catch (error) {
    try {
      await setAside(deps, driver.name, event, { via: 'list', error })
      return true
    } catch (reason) {
      const { event_id: eventId } = event
      deps.log.error({ err: reason, eventId }, 'an event of a platform could neither be booked nor set aside')
      return false
    }
  }
}

/**
 * Tries again what of a platform's events was set aside and is due. What a platform tells only grows (`advance`), so one
 * that is booked after newer events of its payment undoes nothing of them.
 */
export async function retryAside(
  deps: PaymentsDeps,
  driver: PaymentDriver,
  signal?: AbortSignal,
): Promise<void> {
  for (let count = 0; count < ASIDE_PER_ROUND_MAX && !signal?.aborted; count += 1) {
    const aside = await takeDueAside(deps, driver.name)
    if (!aside) return
    const { event, via } = aside
    try {
      await receive(deps, driver, event, via)
      await endAside(deps, driver.name, event.event_id)
    } catch (error) {
      await noteStillAside(deps, driver.name, aside, error)
    }
  }
}

/**
 * Forgets events that no platform tells again, but for those of payments that are still open: they say what is known.
 * One that came again all the same would tell nothing new.
 */
export async function pruneEvents({ db, clock }: Pick<PaymentsDeps, 'db' | 'clock'>): Promise<void> {
  const before = new Date(clock.now().getTime() - EVENTS_KEPT_MS)
  const open = db
    .select({ id: paymentIntent.id })
    .from(paymentIntent)
    .where(and(eq(paymentIntent.id, paymentEvent.intentId), inArray(paymentIntent.state, [...OPEN_STATES])))
  await db.delete(paymentEvent).where(and(lt(paymentEvent.receivedAt, before), notExists(open)))
}

/** An event with all that it leaves open; asked for outside of any transaction. */
async function completed(driver: PaymentDriver, event: PlatformEvent): Promise<PlatformEvent> {
  return event.incomplete && driver.complete ? await driver.complete(event) : event
}

/** Those that were neither booked nor set aside: what is set aside has pauses of its own. */
async function unknownOf(
  { db }: Pick<PaymentsDeps, 'db'>,
  platformName: string,
  events: PlatformEvent[],
): Promise<PlatformEvent[]> {
  const ids = events.map(({ event_id }) => event_id)
  const rows = await db
    .select({ eventId: paymentEvent.eventId })
    .from(paymentEvent)
    .where(and(eq(paymentEvent.platformName, platformName), inArray(paymentEvent.eventId, ids)))
  const aside = await asideAmong({ db }, platformName, ids)
  const known = new Set([...rows.map(({ eventId }) => eventId), ...aside])
  return events.filter(({ event_id }) => !known.has(event_id))
}

/** Applies an event in the transaction that notes it, so that neither is without the other. */
async function receive(
  deps: PaymentsDeps,
  driver: PaymentDriver,
  told: PlatformEvent,
  via: Via,
): Promise<void> {
  const { db, clock } = deps
  const { name: platformName } = driver
  const event = await completed(driver, told)
  const intent = await findIntent(deps, platformName, event)
  const values = {
    platformName,
    eventId: event.event_id,
    intentId: intent?.id ?? null,
    status: event.status,
    refundedCents: event.refunded_cents,
    refundsFailedCents: event.refunds_failed_cents,
    disputedCents: event.disputed_cents ?? 0,
    disputesWonCents: event.disputes_won_cents ?? 0,
    via,
    moved: false,
    occurredAt: event.occurred_at,
    receivedAt: clock.now(),
  }
  if (!intent) {
    await db.insert(paymentEvent).values(values).onConflictDoNothing()
    return
  }
  await db.transaction(async tx => {
    await lockWallet(tx, intent.userId)
    const noted = await tx.insert(paymentEvent).values(values).onConflictDoNothing().returning()
    if (noted.length === 0) return
    const { moved } = await apply(tx, deps, intent.id, event)
    if (!moved) return
    await tx
      .update(paymentEvent)
      .set({ moved })
      .where(and(eq(paymentEvent.platformName, platformName), eq(paymentEvent.eventId, event.event_id)))
  })
}

/** The row that an event is about; whose it is never changes, so it is read without a lock. */
async function findIntent({ db }: Pick<PaymentsDeps, 'db'>, platformName: string, event: PlatformEvent) {
  if (event.reference === null || !UUID.test(event.reference)) return null
  const [row] = await db
    .select({ id: paymentIntent.id, userId: paymentIntent.userId })
    .from(paymentIntent)
    .where(and(eq(paymentIntent.id, event.reference), eq(paymentIntent.platformName, platformName)))
  return row ?? null
}
