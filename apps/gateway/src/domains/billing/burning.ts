import type { Currency } from '@berth/contract/limits'
import { runwaySeconds } from '@berth/contract/money'
import { asc, sql } from 'drizzle-orm'
import type { Queryable } from '../../platform/database/database.ts'
import { wallet } from './tables.ts'
import { selectTotals, withSums } from './wallet.ts'

/** Customers that are read at once; a page keeps the memory bounded whatever their number. */
const CUSTOMERS_PAGE = 500

/** A customer whose balance is being used up. */
export interface Burning {
  userId: string
  currency: Currency
  /** All that there is: what is set aside pays for what runs. */
  balanceMicro: bigint
  burnMicroPerHour: bigint
  /** The same figure as on the balance call. */
  lastsSeconds: number | null
}

/**
 * A page of the customers with an open interval that costs something.
 * @param after The last user id of the page before; null for the first page.
 * @returns By user id; none when there are no more.
 */
export async function readBurning(q: Pick<Queryable, 'select'>, after: string | null): Promise<Burning[]> {
  const rows = await selectTotals(
    q,
    sql`${after === null ? sql`true` : sql`${wallet.userId} > ${after}`}
        and exists (select 1 from usage_interval i where i.user_id = ${wallet.userId}
                    and i.ended_at is null and i.rate_micro_per_hour > 0)`,
  )
    .orderBy(asc(wallet.userId))
    .limit(CUSTOMERS_PAGE)
  return rows.map(row => {
    const { userId, currency, totalMicro, burnMicroPerHour } = withSums(row)
    const lastsSeconds = runwaySeconds(totalMicro, burnMicroPerHour)
    return { userId, currency, balanceMicro: totalMicro, burnMicroPerHour, lastsSeconds }
  })
}
