import { inArray, sql, sum } from 'drizzle-orm'
import type { Queryable } from '../../../platform/database/database.ts'
import { usageTotal } from '../meters/tables.ts'
import { paymentRefund } from '../payments/tables.ts'

/** What a customer used on a day of UTC, as posted, and what of it was paid in cash; given back is taken off. */
export interface SpentDay {
  day: string
  usedMicro: bigint
  cashMicro: bigint
}

/**
 * What a customer spent by day, the first day first, of what is paid for good: cash that a refund or a dispute took back after
 * it was spent is taken off the last days, and comes to them again once it is repaid. Call it under the wallet's lock.
 */
export async function readSpentDays(q: Pick<Queryable, 'select'>, userId: string): Promise<SpentDay[]> {
  const days = await q
    .select({
      day: usageTotal.day,
      usedMicro: sum(sql`${usageTotal.cashMicro} + ${usageTotal.creditsMicro}`).mapWith(BigInt),
      cashMicro: sum(usageTotal.cashMicro).mapWith(BigInt),
    })
    .from(usageTotal)
    .where(sql`${usageTotal.userId} = ${userId}`)
    .groupBy(usageTotal.day)
    .orderBy(usageTotal.day)
  const owed = await owedBy(q, userId)
  return withoutOwed(
    days.map(({ day, usedMicro, cashMicro }) => ({
      day,
      usedMicro: usedMicro ?? 0n,
      cashMicro: cashMicro ?? 0n,
    })),
    owed,
  )
}

/** Takes what is owed off the last days that have cash. */
function withoutOwed(days: readonly SpentDay[], owedMicro: bigint): SpentDay[] {
  let leftMicro = owedMicro
  return days
    .toReversed()
    .map(spent => {
      const offMicro = spent.cashMicro > 0n ? (spent.cashMicro < leftMicro ? spent.cashMicro : leftMicro) : 0n
      leftMicro -= offMicro
      return { ...spent, cashMicro: spent.cashMicro - offMicro }
    })
    .toReversed()
}

/** What of many customers' usage was paid in cash in all, less what they owe: whoever keeps it sees what changed. */
export async function readCashSpent(
  q: Pick<Queryable, 'select'>,
  userIds: readonly string[],
): Promise<Map<string, bigint>> {
  if (userIds.length === 0) return new Map()
  const rows = await q
    .select({ userId: usageTotal.userId, cashMicro: sum(usageTotal.cashMicro).mapWith(BigInt) })
    .from(usageTotal)
    .where(inArray(usageTotal.userId, [...userIds]))
    .groupBy(usageTotal.userId)
  const owed = await q
    .select({
      userId: paymentRefund.userId,
      micro: sum(sql`${paymentRefund.owedMicro} - ${paymentRefund.repaidMicro}`).mapWith(BigInt),
    })
    .from(paymentRefund)
    .where(inArray(paymentRefund.userId, [...userIds]))
    .groupBy(paymentRefund.userId)
  const owedOf = new Map(owed.map(({ userId, micro }) => [userId, micro ?? 0n]))
  return new Map(
    rows.map(({ userId, cashMicro }) => [userId, (cashMicro ?? 0n) - (owedOf.get(userId) ?? 0n)]),
  )
}

async function owedBy(q: Pick<Queryable, 'select'>, userId: string): Promise<bigint> {
  const [row] = await q
    .select({ micro: sum(sql`${paymentRefund.owedMicro} - ${paymentRefund.repaidMicro}`).mapWith(BigInt) })
    .from(paymentRefund)
    .where(sql`${paymentRefund.userId} = ${userId}`)
  return row?.micro ?? 0n
}
