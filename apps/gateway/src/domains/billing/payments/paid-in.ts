import { microFromCents } from '@berth/contract/money'
import { and, asc, eq, inArray, max, sql, sum } from 'drizzle-orm'
import type { Queryable } from '../../../platform/database/database.ts'
import { paymentIntent } from './tables.ts'

/** States of payments that were paid, whatever went back of them later. */
export const PAID_STATES = ['succeeded', 'partly_refunded', 'refunded'] as const

/** What of a payment has neither gone back to its customer nor to their bank. */
export const STAYED_CENTS = sql`${paymentIntent.amountCents} - ${paymentIntent.refundedCents} + ${paymentIntent.refundsFailedCents}
  - ${paymentIntent.disputedCents} + ${paymentIntent.disputesWonCents}`

/** What a customer has paid in: settled payments alone. */
export interface PaidIn {
  /** In all, less what went back. */
  stayedMicro: bigint
  /** The first payment; null where there is none. */
  first: { at: Date; amountMicro: bigint } | null
  /** When the last one was paid. */
  lastAt: Date | null
}

/** What a customer has paid in by now. */
export async function readPaidIn(q: Pick<Queryable, 'select'>, userId: string): Promise<PaidIn> {
  const isTheirs = and(eq(paymentIntent.userId, userId), inArray(paymentIntent.state, [...PAID_STATES]))
  const [all] = await q
    .select({ cents: sum(STAYED_CENTS).mapWith(Number), lastAt: max(paymentIntent.finishedAt) })
    .from(paymentIntent)
    .where(isTheirs)
  const [first] = await q
    .select({ at: paymentIntent.finishedAt, cents: paymentIntent.amountCents })
    .from(paymentIntent)
    .where(isTheirs)
    .orderBy(asc(paymentIntent.finishedAt), asc(paymentIntent.id))
    .limit(1)
  return {
    stayedMicro: microFromCents(all?.cents ?? 0),
    lastAt: all?.lastAt ?? null,
    first: first?.at ? { at: first.at, amountMicro: microFromCents(first.cents) } : null,
  }
}
