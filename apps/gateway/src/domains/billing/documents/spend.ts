import type { getSpend } from '@berth/contract/billing'
import type { CallData } from '@berth/contract/call'
import type { UsageKind } from '@berth/contract/usage-kinds'
import { sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import { currencyOf } from '../ledger/wallet.ts'
import { kindPlaceSql, usageKindSql } from './usage-kinds.ts'
import { dateOf, ITS_STRETCH, inSnapshot, usedRows } from './used.ts'

const DAY_MS = 24 * 3_600_000

/**
 * What a customer spent by UTC day and kind of usage, oldest first and today last; days without spending are zero. What was
 * given back counts against the day on which it was; what was waived was not spent. What is due since the last posting
 * counts as well: today's sum is never an hour old.
 * @param days How many, today included.
 * @throws ApiError `not_found` without a wallet.
 */
export async function readSpend(
  deps: { db: Database; clock: Clock },
  userId: string,
  days: number,
): Promise<CallData<typeof getSpend>> {
  return await inSnapshot(deps, userId, async snapshot => {
    const { tx, now } = snapshot
    const dayAt = (index: number) => dateOf(new Date(now.getTime() + (index - days + 1) * DAY_MS))
    const span = { from: dayAt(0), until: dayAt(days) }
    const { rows } = await tx.execute<{ date: string; usage: UsageKind; amount: string }>(sql`
      with used as (${usedRows(snapshot, span)})
      select to_char(u.day, 'YYYY-MM-DD') as date, ${usageKindSql(sql`i.subject_kind`, sql`m.sku`)} as usage,
        sum(u.cash + u.credits) as amount
      from used u
      ${ITS_STRETCH}
      group by 1, 2 having sum(u.cash + u.credits) <> 0
      order by 1, ${kindPlaceSql(usageKindSql(sql`i.subject_kind`, sql`m.sku`))}`)
    const byDate = Map.groupBy(rows, ({ date }) => date)
    return {
      currency: await currencyOf(tx, userId),
      days: Array.from({ length: days }, (_, index) => {
        const date = dayAt(index)
        const kinds = byDate.get(date) ?? []
        const sum = kinds.reduce((all, { amount }) => all + BigInt(amount), 0n)
        return {
          date,
          amount_micro: sum.toString(),
          kinds: kinds.map(({ usage, amount }) => ({ usage, amount_micro: amount })),
        }
      }),
    }
  })
}
