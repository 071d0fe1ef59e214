import { and, asc, eq, gt, gte, isNotNull, isNull, lt, lte, min, or } from 'drizzle-orm'
import { unionAll } from 'drizzle-orm/pg-core'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import type { Ids } from '../../../platform/ids.ts'
import {
  type ConfirmRequest,
  EVENTS_KEPT_MS,
  type IntentRequest,
  PaymentRefused,
  type RefundRequest,
} from '../port.ts'
import { testcardEvent, testcardIntent, testcardRefund } from '../tables.ts'
import { type EventBody, eventBody } from './event-body.ts'
import { intentIdOfPage } from './page-token.ts'
import { cardOf, type TestCard } from './test-cards.ts'

export interface BooksDeps {
  db: Database
  clock: Clock
  ids: Ids
  /** Makes the addresses of pages. */
  pageKey: () => Uint8Array
  /** How long a card that settles late takes, and how long one takes that is refunded or disputed, or whose refund fails. */
  lateMs: number
  refundMs: number
}

/** Something was asked for that cannot be: asking again changes nothing. */
export class CardMistake extends Error {}

export type CardIntent = typeof testcardIntent.$inferSelect

/** Intents that move by themselves in one go, and events that are read at once. */
const MOVES_MAX = 100
const EVENTS_PAGE = 100

/** Makes an intent, or finds the one of the reference. @throws CardMistake when it was made with other content. */
export async function makeIntent(
  deps: BooksDeps,
  { reference, amount_cents, currency, source }: Omit<IntentRequest, 'customer' | 'return_url'>,
): Promise<CardIntent> {
  const { db, clock, ids } = deps
  const values = {
    intentId: `pi_${ids.uuid()}`,
    reference,
    amountCents: amount_cents,
    currency,
    card: source,
    status: 'created' as const,
    createdAt: clock.now(),
  }
  const made = await db.insert(testcardIntent).values(values).onConflictDoNothing().returning()
  const [row = null] =
    made.length > 0
      ? made
      : await db.select().from(testcardIntent).where(eq(testcardIntent.reference, reference))
  if (!row) throw new Error('an intent was neither made nor found')
  if (row.amountCents !== amount_cents || row.currency !== currency || row.card !== source) {
    throw new CardMistake(`the reference ${reference} was used for another intent`)
  }
  return row
}

/** @throws CardMistake for an id that is none. */
export async function readIntent({ db }: Pick<BooksDeps, 'db'>, intentId: string): Promise<CardIntent> {
  const [row] = await db.select().from(testcardIntent).where(eq(testcardIntent.intentId, intentId))
  if (!row) throw new CardMistake(`there is no intent ${intentId}`)
  return row
}

/** The intent whose page it is; null when no page has this token, and for one that nobody was ever sent to. */
export async function intentOfPage(
  { db, pageKey }: Pick<BooksDeps, 'db' | 'pageKey'>,
  token: string,
): Promise<CardIntent | null> {
  const intentId = intentIdOfPage(pageKey(), token)
  if (intentId === null) return null
  const [row] = await db.select().from(testcardIntent).where(eq(testcardIntent.intentId, intentId))
  return row && cardOf(row.card)?.asks && row.status !== 'created' ? row : null
}

/** Charges an intent that waits for it; what its card does is written on the card. */
export function chargeIntent(
  deps: BooksDeps,
  { intent_id: intentId, return_url: returnUrl, off_session: offSession = false }: ConfirmRequest,
): Promise<CardIntent> {
  return move(deps, intentId, (row, card) => {
    if (row.status !== 'created') return null
    if (!card.asks) return { returnUrl, ...charged(deps, card) }
    if (offSession) return { returnUrl, status: 'failed', failure: 'payment_not_confirmed' }
    return { returnUrl, status: 'requires_action' }
  })
}

/** What the customer did on the page: confirmed, or refused. Later answers change nothing. */
export function answerPage(deps: BooksDeps, intentId: string, confirmed: boolean): Promise<CardIntent> {
  return move(deps, intentId, (row, card) => {
    if (row.status !== 'requires_action') return null
    return confirmed ? charged(deps, card) : { status: 'failed', failure: 'payment_not_confirmed' }
  })
}

export function cancelIntent(deps: BooksDeps, intentId: string): Promise<CardIntent> {
  return move(deps, intentId, row =>
    row.status === 'created' || row.status === 'requires_action' ? { status: 'canceled' } : null,
  )
}

/** Gives back once for each key. @throws PaymentRefused when more is asked than is left. */
export async function refundIntent(deps: BooksDeps, request: RefundRequest): Promise<CardIntent> {
  const { intent_id: intentId, idempotency_key: idempotencyKey, amount_cents: amountCents } = request
  return await move(deps, intentId, async (row, card, tx) => {
    const made = await tx
      .insert(testcardRefund)
      .values({ idempotencyKey, intentId, amountCents, createdAt: deps.clock.now() })
      .onConflictDoNothing()
      .returning()
    if (made.length === 0) return null
    if (row.status !== 'succeeded' || amountCents > leftOf(row)) {
      throw new PaymentRefused(`${amountCents} cannot be refunded of ${intentId}`, 'payment_failed')
    }
    const back = refunded(deps, card, row.refundedCents + amountCents)
    // It is disputed all the same, as far as it was not given back.
    return card.disputed_later ? { ...back, movesAt: row.movesAt } : back
  })
}

/**
 * Lets time pass: what settles late settles, what is refunded or disputed by itself is, refunds that do not arrive come
 * back, and so do disputes that are won. @returns How many moved.
 */
export async function letTimePass(deps: BooksDeps): Promise<number> {
  const due = await deps.db
    .select({ intentId: testcardIntent.intentId })
    .from(testcardIntent)
    .where(and(isNotNull(testcardIntent.movesAt), lte(testcardIntent.movesAt, deps.clock.now())))
    .orderBy(asc(testcardIntent.movesAt))
    .limit(MOVES_MAX)
  for (const { intentId } of due) {
    await move(deps, intentId, (row, card) => {
      if (row.movesAt === null || row.movesAt > deps.clock.now()) return null
      if (row.status === 'processing') return settled(deps, card)
      const isBack = row.refundedCents > row.refundsFailedCents
      if (isBack && card.refunds_fail) return { refundsFailedCents: row.refundedCents, movesAt: null }
      if (card.disputed_later) return disputed(deps, card, row)
      return refunded(deps, card, row.refundedCents + leftOf(row))
    })
  }
  return due.length
}

/** When the first intent moves by itself, or the first event is to be sent, now or later; null where none is. */
export async function firstDueAt({ db }: Pick<BooksDeps, 'db'>): Promise<Date | null> {
  const found = await unionAll(
    db.select({ at: min(testcardIntent.movesAt) }).from(testcardIntent),
    db.select({ at: min(testcardEvent.deliverAt) }).from(testcardEvent),
  )
  const [at = null] = found.flatMap(row => row.at ?? []).sort((one, other) => Number(one) - Number(other))
  return at
}

/** Events since a moment, oldest first, in pages. */
export async function* readEvents({ db }: Pick<BooksDeps, 'db'>, since: Date): AsyncIterable<EventBody[]> {
  let after: { occurredAt: Date; eventId: string } | null = null
  for (;;) {
    const rows: (typeof testcardEvent.$inferSelect)[] = await db
      .select()
      .from(testcardEvent)
      .where(
        after === null
          ? gte(testcardEvent.occurredAt, since)
          : or(
              gt(testcardEvent.occurredAt, after.occurredAt),
              and(eq(testcardEvent.occurredAt, after.occurredAt), gt(testcardEvent.eventId, after.eventId)),
            ),
      )
      .orderBy(asc(testcardEvent.occurredAt), asc(testcardEvent.eventId))
      .limit(EVENTS_PAGE)
    if (rows.length > 0) yield rows.map(row => eventBody.parse(JSON.parse(row.body)))
    after = rows.at(-1) ?? null
    if (after === null || rows.length < EVENTS_PAGE) return
  }
}

type Sum = 'refundedCents' | 'refundsFailedCents' | 'disputedCents' | 'disputesWonCents'
type Change = Partial<Pick<CardIntent, 'status' | 'failure' | 'returnUrl' | 'movesAt' | Sum>>

/** What a charge does, once nobody is asked any more. */
function charged(deps: BooksDeps, card: TestCard): Change {
  if (card.failure !== null) return { status: 'failed', failure: card.failure }
  if (card.late) return { status: 'processing', movesAt: fromNow(deps, deps.lateMs) }
  return settled(deps, card)
}

function settled(deps: BooksDeps, card: TestCard): Change {
  const isMoving = card.refunded_later || card.disputed_later
  return { status: 'succeeded', movesAt: isMoving ? fromNow(deps, deps.refundMs) : null }
}

/** What giving back does; a card whose refunds fail gets them back a while later. */
function refunded(deps: BooksDeps, card: TestCard, refundedCents: number): Change {
  return { refundedCents, movesAt: card.refunds_fail ? fromNow(deps, deps.refundMs) : null }
}

/** What a dispute does: the bank takes all that is left, and may give it back a while later. */
function disputed(deps: BooksDeps, card: TestCard, row: CardIntent): Change {
  if (row.disputedCents > 0) return { disputesWonCents: row.disputedCents, movesAt: null }
  const movesAt = card.disputed_later === 'won' ? fromNow(deps, deps.refundMs) : null
  const disputedCents = leftOf(row)
  return disputedCents > 0 ? { disputedCents, movesAt } : { movesAt: null }
}

/** What of a payment could still be given back. */
function leftOf(row: CardIntent): number {
  const { amountCents, refundedCents, refundsFailedCents, disputedCents, disputesWonCents } = row
  return amountCents - refundedCents + refundsFailedCents - disputedCents + disputesWonCents
}

function fromNow({ clock }: Pick<BooksDeps, 'clock'>, milliseconds: number): Date {
  return new Date(clock.now().getTime() + milliseconds)
}

/** Changes one intent under its lock, and writes the event of it in the same transaction. */
async function move(
  deps: BooksDeps,
  intentId: string,
  decide: (row: CardIntent, card: TestCard, tx: Transaction) => Change | null | Promise<Change | null>,
): Promise<CardIntent> {
  return await deps.db.transaction(async tx => {
    const [row] = await tx
      .select()
      .from(testcardIntent)
      .where(eq(testcardIntent.intentId, intentId))
      .for('update')
    if (!row) throw new CardMistake('there is no such intent')
    const card = cardOf(row.card)
    if (!card) throw new CardMistake(`${row.card} is no test card`)
    const change = await decide(row, card, tx)
    if (change === null) return row
    const [moved = row] = await tx
      .update(testcardIntent)
      .set(change)
      .where(eq(testcardIntent.intentId, intentId))
      .returning()
    await tell(tx, deps, moved, card, typeOf(change))
    return moved
  })
}

function typeOf(change: Change): EventBody['type'] {
  const { refundedCents, refundsFailedCents, disputedCents, disputesWonCents } = change
  if (disputesWonCents !== undefined) return 'intent.dispute_won'
  if (disputedCents !== undefined) return 'intent.disputed'
  if (refundsFailedCents !== undefined) return 'intent.refund_failed'
  return refundedCents === undefined ? 'intent.moved' : 'intent.refunded'
}

async function tell(
  tx: Transaction,
  deps: BooksDeps,
  intent: CardIntent,
  card: TestCard,
  type: EventBody['type'],
): Promise<void> {
  const now = deps.clock.now()
  const body: EventBody = {
    id: `evt_${deps.ids.uuid()}`,
    type,
    created: now.toISOString(),
    intent: {
      id: intent.intentId,
      reference: intent.reference,
      status: intent.status,
      failure: intent.failure,
      refunded_cents: intent.refundedCents,
      refunds_failed_cents: intent.refundsFailedCents,
      disputed_cents: intent.disputedCents,
      disputes_won_cents: intent.disputesWonCents,
    },
  }
  // It waits until the newer one was taken, however long that takes: order is never a matter of who is faster.
  const isOvertaken = card.disorderly && intent.status === 'processing'
  await tx.insert(testcardEvent).values({
    eventId: body.id,
    intentId: intent.intentId,
    body: JSON.stringify(body),
    occurredAt: now,
    deliverAt: isOvertaken ? null : now,
    copies: card.disorderly ? 2 : 1,
  })
}

/**
 * Takes events that are due to be sent, so that no other process sends them at the same time; they are due again
 * after `holdMs` unless they are done with by then.
 */
export async function takeDueEvents(
  { db, clock }: Pick<BooksDeps, 'db' | 'clock'>,
  holdMs: (tries: number) => number,
): Promise<(typeof testcardEvent.$inferSelect)[]> {
  return await db.transaction(async tx => {
    const now = clock.now()
    const due = await tx
      .select()
      .from(testcardEvent)
      .where(and(isNotNull(testcardEvent.deliverAt), lte(testcardEvent.deliverAt, now)))
      .orderBy(asc(testcardEvent.deliverAt))
      .limit(EVENTS_PAGE)
      .for('update', { skipLocked: true })
    for (const { eventId, tries } of due) {
      await tx
        .update(testcardEvent)
        .set({ tries: tries + 1, deliverAt: new Date(now.getTime() + holdMs(tries)) })
        .where(eq(testcardEvent.eventId, eventId))
    }
    return due
  })
}

/**
 * One copy of an event was taken: the next is due at once, and after the last one those that it overtook.
 * @returns Whether anything became due by that.
 */
export async function noteDelivered(
  { db, clock }: Pick<BooksDeps, 'db' | 'clock'>,
  { eventId, intentId, copies }: Pick<typeof testcardEvent.$inferSelect, 'eventId' | 'intentId' | 'copies'>,
): Promise<boolean> {
  const isLast = copies <= 1
  return await db.transaction(async tx => {
    await tx
      .update(testcardEvent)
      .set({ copies: copies - 1, deliverAt: isLast ? null : clock.now() })
      .where(eq(testcardEvent.eventId, eventId))
    return isLast ? await sendOvertaken(tx, clock, intentId) : true
  })
}

/** Makes due what was never sent of an intent because a newer event was to come first. */
async function sendOvertaken(tx: Transaction, clock: BooksDeps['clock'], intentId: string): Promise<boolean> {
  const overtaken = await tx
    .update(testcardEvent)
    .set({ deliverAt: clock.now() })
    .where(
      and(eq(testcardEvent.intentId, intentId), isNull(testcardEvent.deliverAt), eq(testcardEvent.tries, 0)),
    )
    .returning({ eventId: testcardEvent.eventId })
  return overtaken.length > 0
}

/** Forgets what was told so long ago that nobody asks for it; what is still to be sent stays. */
export async function pruneEvents({ db, clock }: Pick<BooksDeps, 'db' | 'clock'>): Promise<void> {
  const before = new Date(clock.now().getTime() - EVENTS_KEPT_MS)
  await db
    .delete(testcardEvent)
    .where(and(lt(testcardEvent.occurredAt, before), isNull(testcardEvent.deliverAt)))
}

/** An event that nobody ever took is not sent any more; the list of events still has it. */
export async function giveUp(
  { db, clock }: Pick<BooksDeps, 'db' | 'clock'>,
  { eventId, intentId }: Pick<typeof testcardEvent.$inferSelect, 'eventId' | 'intentId'>,
): Promise<void> {
  await db.transaction(async tx => {
    await tx.update(testcardEvent).set({ deliverAt: null }).where(eq(testcardEvent.eventId, eventId))
    await sendOvertaken(tx, clock, intentId)
  })
}
