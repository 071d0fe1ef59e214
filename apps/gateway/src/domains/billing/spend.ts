import type { getSpend } from '@berth/contract/billing'
import type { CallData } from '@berth/contract/call'
import { sql } from 'drizzle-orm'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database/database.ts'
import { readTotals } from './wallet.ts'

const DAY_MS = 24 * 3_600_000

/**
 * What a customer spent by UTC day, oldest first and today last; days without spending are zero. What was
 * given back counts against its day; what was waived was not spent.
 * @param days How many, today included.
 */
export async function readSpend(
  { db, clock }: { db: Database; clock: Clock },
  userId: string,
  days: number,
): Promise<CallData<typeof getSpend>> {
  const { currency } = await readTotals(db, userId)
  const today = Math.floor(clock.now().getTime() / DAY_MS)
  const dates = Array.from({ length: days }, (_, index) => dateOf(today - days + 1 + index))
  const { rows } = await db.execute<{ date: string; amount: string }>(sql`
    select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD') as date,
      sum(case when from_account like 'user:%' then amount_micro else -amount_micro end) as amount
    from ledger_transfer
    where user_id = ${userId} and kind = 'usage' and created_at >= ${dates[0]}::date::timestamp at time zone 'UTC'
    group by 1`)
  const amounts = new Map(rows.map(({ date, amount }) => [date, amount]))
  return { currency, days: dates.map(date => ({ date, amount_micro: amounts.get(date) ?? '0' })) }
}

function dateOf(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10)
}
