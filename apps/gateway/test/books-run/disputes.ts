import { sql } from 'drizzle-orm'
import {
  type PaymentDriver,
  PaymentRefused,
  type PlatformEvent,
  type PlatformIntent,
} from '../../src/drivers/payments/port.ts'
import type { Database } from '../../src/platform/database/database.ts'

/*
 * Which payments are disputed, and when, is the plan's to say: this wraps the test cards' platform in one whose banks take
 * money and give it back. What a bank
 * did stands in a table beside the platform's own; it is told by the list of events alone, as what no webhook brought.
 */

interface Dispute extends Record<string, unknown> {
  id: number
  intent_id: string
  reference: string
  taken: number
  won: number
  at: Date
}

/** Makes the table in which banks write down what they take. */
export async function createDisputes(db: Database): Promise<void> {
  await db.execute(sql`create table testcard_dispute (
    id serial primary key, intent_id text not null, taken int not null, won int not null, at timestamptz not null)`)
}

/**
 * A bank takes what is left of a payment, or gives all back that it took of it.
 * @returns Whether it did anything.
 */
export async function disputeAtBank(
  db: Database,
  { intentId, wins, at }: { intentId: string; wins: boolean; at: Date },
): Promise<boolean> {
  return await db.transaction(async tx => {
    const { rows } = await tx.execute<{ left: number }>(sql`
      select amount_cents - refunded_cents + refunds_failed_cents as left from testcard_intent
      where intent_id = ${intentId} and status = 'succeeded' for update`)
    const { rows: told } = await tx.execute<{ taken: number; won: number }>(sql`
      select coalesce(max(taken), 0) as taken, coalesce(max(won), 0) as won from testcard_dispute
      where intent_id = ${intentId}`)
    const [{ left } = { left: 0 }] = rows
    const [{ taken, won } = { taken: 0, won: 0 }] = told
    if (wins ? taken === won : taken > 0 || left <= 0) return false
    await tx.execute(sql`insert into testcard_dispute (intent_id, taken, won, at)
      values (${intentId}, ${wins ? taken : left}, ${wins ? taken : 0}, ${at.toISOString()})`)
    return true
  })
}

/** The test cards' platform with banks that dispute. */
export function disputedCards(cards: PaymentDriver, db: Database): PaymentDriver {
  async function withSums(intent: PlatformIntent): Promise<PlatformIntent> {
    const { rows } = await db.execute<{ taken: number; won: number }>(sql`
      select coalesce(max(taken), 0) as taken, coalesce(max(won), 0) as won from testcard_dispute
      where intent_id = ${intent.intent_id}`)
    return { ...intent, disputed_cents: rows[0]?.taken ?? 0, disputes_won_cents: rows[0]?.won ?? 0 }
  }
  return {
    ...cards,
    retrieve: async id => withSums(await cards.retrieve(id)),
    // No money that a bank took already can be given back.
    refund: async request => {
      const { disputed_cents = 0 } = await withSums(await cards.retrieve(request.intent_id))
      const { rowCount } = await db.execute(sql`
        select from testcard_refund where idempotency_key = ${request.idempotency_key}`)
      if (disputed_cents > 0 && rowCount === 0) {
        throw new PaymentRefused('its bank has taken that money', 'card_declined')
      }
      return await withSums(await cards.refund(request))
    },
    async *eventsSince(since) {
      yield* cards.eventsSince(since)
      const { rows } = await db.execute<Dispute>(sql`
        select d.*, i.reference from testcard_dispute d join testcard_intent i using (intent_id)
        where at >= ${since.toISOString()} order by id`)
      if (rows.length > 0) yield rows.map(eventOf)
    },
  }
}

function eventOf({ id, intent_id, reference, taken, won, at }: Dispute): PlatformEvent {
  return {
    event_id: `dispute_${id}`,
    occurred_at: new Date(at),
    ...{ reference, intent_id, status: null, failure: null, next_url: null },
    ...{ refunded_cents: 0, refunds_failed_cents: 0, disputed_cents: taken, disputes_won_cents: won },
  }
}
