import { and, eq, gte, inArray, lt, notInArray, sum } from 'drizzle-orm'
import type { Queryable } from '../../../../platform/database/database.ts'
import { OPEN_STATES } from '../intent-states.ts'
import { paymentIntent } from '../tables.ts'
import { autoTopup } from './tables.ts'

export type AutoTopupRow = typeof autoTopup.$inferSelect

/** What a customer has set; null for one who has never set anything. */
export async function readAuto(q: Pick<Queryable, 'select'>, userId: string): Promise<AutoTopupRow | null> {
  const [row] = await q.select().from(autoTopup).where(eq(autoTopup.userId, userId))
  return row ?? null
}

/** The beginning of the month of a moment, by UTC, and of the one after. */
export function monthOf(now: Date): { from: Date; to: Date } {
  const at = (months: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months))
  return { from: at(0), to: at(1) }
}

/** What auto top-up has charged in the month of that moment, by UTC, with what is under way; in cents. */
export async function chargedCents(q: Pick<Queryable, 'select'>, userId: string, now: Date): Promise<number> {
  const { from, to } = monthOf(now)
  const [row] = await q
    .select({ cents: sum(paymentIntent.amountCents).mapWith(Number) })
    .from(paymentIntent)
    .where(
      and(
        eq(paymentIntent.userId, userId),
        eq(paymentIntent.origin, 'auto'),
        notInArray(paymentIntent.state, ['failed', 'canceled']),
        gte(paymentIntent.createdAt, from),
        lt(paymentIntent.createdAt, to),
      ),
    )
  return row?.cents ?? 0
}

/** Whether a payment of auto top-up is under way; whatever it waits for. */
export async function isCharging(q: Pick<Queryable, 'select'>, userId: string): Promise<boolean> {
  const rows = await q
    .select({ id: paymentIntent.id })
    .from(paymentIntent)
    .where(
      and(
        eq(paymentIntent.userId, userId),
        eq(paymentIntent.origin, 'auto'),
        inArray(paymentIntent.state, [...OPEN_STATES]),
      ),
    )
    .limit(1)
  return rows.length > 0
}
