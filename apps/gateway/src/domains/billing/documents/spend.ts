import type { getSpend } from '@berth/contract/billing'
import type { CallData } from '@berth/contract/call'
import type { UsageKind } from '@berth/contract/usage-kinds'
import { sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import { currencyOf } from '../ledger/wallet.ts'
import { kindPlaceSql } from '../meters/usage-kinds.ts'
import { dateOf, inSnapshot, usedByKind } from './used.ts'

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
      select to_char(day, 'YYYY-MM-DD') as date, usage, sum(cash + credits) as amount
      from (${usedByKind(snapshot, span)}) used
      group by day, usage having sum(cash + credits) <> 0
      order by day, ${kindPlaceSql(sql`usage`)}`)
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
