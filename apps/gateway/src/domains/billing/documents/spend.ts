import type { getSpend } from '@berth/contract/billing'
import type { CallData } from '@berth/contract/call'
import { sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { readTotals } from '../ledger/wallet.ts'

const DAY_MS = 24 * 3_600_000

/**
 * What a customer spent by UTC day, oldest first and today last; days without spending are zero. What was
 * given back counts against the day on which it was; what was waived was not spent. What is due since the last posting
 * counts as well: today's sum is never an hour old.
 * @param days How many, today included.
 */
export async function readSpend(
  { db, clock }: { db: Database; clock: Clock },
  userId: string,
  days: number,
): Promise<CallData<typeof getSpend>> {
  // In one snapshot, so that a posting beside it is counted once.
  const snapshot = { isolationLevel: 'repeatable read', accessMode: 'read only' } as const
  return await db.transaction(tx => readDays(tx, clock, userId, days), snapshot)
}

async function readDays(
  tx: Transaction,
  clock: Clock,
  userId: string,
  days: number,
): Promise<CallData<typeof getSpend>> {
  const now = clock.now()
  const { currency, unpostedSince } = await readTotals(tx, clock, userId)
  const today = Math.floor(now.getTime() / DAY_MS)
  const dates = Array.from({ length: days }, (_, index) => dateOf(today - days + 1 + index))
  const { rows } = await tx.execute<{ date: string; amount: string }>(sql`
    select to_char(day, 'YYYY-MM-DD') as date, sum(case when back then -amount_micro else amount_micro end) as amount
    from usage_day
    where user_id = ${userId} and day >= ${dates[0]}::date and part <> 'write_off'
    group by day`)
  const amounts = new Map(rows.map(({ date, amount }) => [date, BigInt(amount)]))
  if (unpostedSince) {
    const first = Math.max(today - days + 1, Math.floor(unpostedSince.getTime() / DAY_MS))
    // What is due of days before the first that is asked for is theirs, and not the first one's.
    const begin = new Date(first * DAY_MS)
    let before = unpostedSince < begin ? (await readTotals(tx, { now: () => begin }, userId)).takenMicro : 0n
    for (let day = first; day <= today; day += 1) {
      const until = new Date(Math.min((day + 1) * DAY_MS, now.getTime()))
      const { takenMicro } = await readTotals(tx, { now: () => until }, userId)
      amounts.set(dateOf(day), (amounts.get(dateOf(day)) ?? 0n) + takenMicro - before)
      before = takenMicro
    }
  }
  return {
    currency,
    days: dates.map(date => ({ date, amount_micro: (amounts.get(date) ?? 0n).toString() })),
  }
}

function dateOf(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10)
}
