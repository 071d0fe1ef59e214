import { and, asc, eq, gt, gte, isNotNull, lte, or, sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import type { Ids } from '../../../platform/ids.ts'
import type { IntentRequest, RefundRequest } from '../port.ts'
import { testcardEvent, testcardIntent, testcardRefund } from '../tables.ts'
import { cardOf, type TestCard } from './test-cards.ts'

export interface BooksDeps {
  db: Database
  clock: Clock
  ids: Ids
  /** How long a card that settles late takes, and how long after it succeeded one is refunded by itself. */
  lateMs: number
  refundMs: number
}

/** Something was asked for that cannot be: asking again changes nothing. */
export class CardMistake extends Error {}

export type CardIntent = typeof testcardIntent.$inferSelect

/** What an event's JSON holds; what it says of the intent is as it was then. */
export interface EventBody {
  id: string
  type: 'intent.moved' | 'intent.refunded'
  created: string
  intent: {
    id: string
    reference: string
    status: CardIntent['status']
    failure: string | null
    refunded_cents: number
    page_token: string | null
  }
}

/** Intents that move by themselves in one go, and events that are read at once. */
const MOVES_MAX = 100
const EVENTS_PAGE = 100
/** 32 random bytes: whoever has the page's address may confirm. */
const PAGE_TOKEN_BYTES = 32

/** Makes an intent, or finds the one of the reference. @throws CardMistake when it was made with other content. */
export async function makeIntent(
  deps: BooksDeps,
  { reference, amount_cents, currency, source }: IntentRequest,
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

/** The intent whose page it is; null when no page has this token. */
export async function intentOfPage({ db }: Pick<BooksDeps, 'db'>, token: string): Promise<CardIntent | null> {
  const [row] = await db.select().from(testcardIntent).where(eq(testcardIntent.pageToken, token))
  return row ?? null
}

/** Charges an intent that waits for it; what its card does is written on the card. */
export function chargeIntent(deps: BooksDeps, intentId: string, returnUrl: string): Promise<CardIntent> {
  return move(deps, eq(testcardIntent.intentId, intentId), (row, card) => {
    if (row.status !== 'created') return null
    if (!card.asks) return { returnUrl, ...charged(deps, card) }
    return { returnUrl, status: 'requires_action', pageToken: deps.ids.secret(PAGE_TOKEN_BYTES) }
  })
}

/** What the customer did on the page: confirmed, or refused. Later answers change nothing. */
export function answerPage(deps: BooksDeps, token: string, confirmed: boolean): Promise<CardIntent> {
  return move(deps, eq(testcardIntent.pageToken, token), (row, card) => {
    if (row.status !== 'requires_action') return null
    return confirmed ? charged(deps, card) : { status: 'failed', failure: 'payment_not_confirmed' }
  })
}

export function cancelIntent(deps: BooksDeps, intentId: string): Promise<CardIntent> {
  return move(deps, eq(testcardIntent.intentId, intentId), row =>
    row.status === 'created' || row.status === 'requires_action' ? { status: 'canceled' } : null,
  )
}

/** Gives back once for each key. @throws CardMistake when more is asked than is left. */
export async function refundIntent(deps: BooksDeps, request: RefundRequest): Promise<CardIntent> {
  const { intent_id: intentId, idempotency_key: idempotencyKey, amount_cents: amountCents } = request
  return await move(deps, eq(testcardIntent.intentId, intentId), async (row, _card, tx) => {
    const made = await tx
      .insert(testcardRefund)
      .values({ idempotencyKey, intentId, amountCents, createdAt: deps.clock.now() })
      .onConflictDoNothing()
      .returning()
    if (made.length === 0) return null
    if (row.status !== 'succeeded' || row.refundedCents + amountCents > row.amountCents) {
      throw new CardMistake(`${amountCents} cannot be refunded of ${intentId}`)
    }
    return { refundedCents: row.refundedCents + amountCents, movesAt: null }
  })
}

/** Lets time pass: what settles late settles, what is refunded by itself is refunded. @returns How many moved. */
export async function letTimePass(deps: BooksDeps): Promise<number> {
  const due = await deps.db
    .select({ intentId: testcardIntent.intentId })
    .from(testcardIntent)
    .where(and(isNotNull(testcardIntent.movesAt), lte(testcardIntent.movesAt, deps.clock.now())))
    .orderBy(asc(testcardIntent.movesAt))
    .limit(MOVES_MAX)
  for (const { intentId } of due) {
    await move(deps, eq(testcardIntent.intentId, intentId), (row, card) => {
      if (row.movesAt === null || row.movesAt > deps.clock.now()) return null
      if (row.status === 'processing') return settled(deps, card)
      return { refundedCents: row.amountCents, movesAt: null }
    })
  }
  return due.length
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
    if (rows.length > 0) yield rows.map(row => JSON.parse(row.body) as EventBody)
    after = rows.at(-1) ?? null
    if (after === null || rows.length < EVENTS_PAGE) return
  }
}

type Change = Partial<
  Pick<CardIntent, 'status' | 'failure' | 'pageToken' | 'returnUrl' | 'movesAt' | 'refundedCents'>
>

/** What a charge does, once nobody is asked any more. */
function charged(deps: BooksDeps, card: TestCard): Change {
  if (card.failure !== null) return { status: 'failed', failure: card.failure }
  if (card.late) return { status: 'processing', movesAt: fromNow(deps, deps.lateMs) }
  return settled(deps, card)
}

function settled(deps: BooksDeps, card: TestCard): Change {
  return { status: 'succeeded', movesAt: card.refunded_later ? fromNow(deps, deps.refundMs) : null }
}

function fromNow({ clock }: Pick<BooksDeps, 'clock'>, milliseconds: number): Date {
  return new Date(clock.now().getTime() + milliseconds)
}

/** Changes one intent under its lock, and writes the event of it in the same transaction. */
async function move(
  deps: BooksDeps,
  which: ReturnType<typeof eq>,
  decide: (row: CardIntent, card: TestCard, tx: Transaction) => Change | null | Promise<Change | null>,
): Promise<CardIntent> {
  return await deps.db.transaction(async tx => {
    const [row] = await tx.select().from(testcardIntent).where(which).for('update')
    if (!row) throw new CardMistake('there is no such intent')
    const card = cardOf(row.card)
    if (!card) throw new CardMistake(`${row.card} is no test card`)
    const change = await decide(row, card, tx)
    if (change === null) return row
    const [moved = row] = await tx
      .update(testcardIntent)
      .set(change)
      .where(eq(testcardIntent.intentId, row.intentId))
      .returning()
    await tell(tx, deps, moved, card, change.refundedCents === undefined ? 'intent.moved' : 'intent.refunded')
    return moved
  })
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
      page_token: intent.pageToken,
    },
  }
  const isOvertaken = card.disorderly && intent.status === 'processing'
  await tx.insert(testcardEvent).values({
    eventId: body.id,
    intentId: intent.intentId,
    body: JSON.stringify(body),
    occurredAt: now,
    deliverAt: isOvertaken ? fromNow(deps, deps.lateMs + OVERTAKEN_MS) : now,
    copies: card.disorderly ? 2 : 1,
  })
}

/** An event that comes after a newer one comes this much after it. */
const OVERTAKEN_MS = 2_000

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

/** One copy of an event was taken: the next is due at once, if there is one. */
export async function noteDelivered(
  { db, clock }: Pick<BooksDeps, 'db' | 'clock'>,
  eventId: string,
): Promise<void> {
  const { copies } = testcardEvent
  await db
    .update(testcardEvent)
    .set({
      copies: sql`greatest(${copies} - 1, 0)`,
      deliverAt: sql`case when ${copies} > 1 then ${clock.now().toISOString()}::timestamptz end`,
    })
    .where(eq(testcardEvent.eventId, eventId))
}

/** An event that nobody ever took is not sent any more; the list of events still has it. */
export async function giveUp({ db }: Pick<BooksDeps, 'db'>, eventId: string): Promise<void> {
  await db.update(testcardEvent).set({ deliverAt: null }).where(eq(testcardEvent.eventId, eventId))
}
