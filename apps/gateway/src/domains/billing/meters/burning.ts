import type { Currency } from '@berth/contract/limits'
import { runwaySeconds } from '@berth/contract/money'
import type { Clock } from '../../../platform/clock.ts'
import type { Queryable } from '../../../platform/database/database.ts'
import { readRunning } from './tick.ts'

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
 * A page of the customers with an open stretch that costs something.
 * @param after The last user id of the page before; null for the first page.
 * @returns By user id; none when there are no more.
 */
export async function readBurning(
  q: Pick<Queryable, 'select'>,
  clock: Clock,
  after: string | null,
): Promise<Burning[]> {
  const page = await readRunning(q, clock, after)
  return page.map(({ userId, currency, totalMicro, burnMicroPerHour }) => ({
    userId,
    currency,
    balanceMicro: totalMicro,
    burnMicroPerHour,
    lastsSeconds: runwaySeconds(totalMicro, burnMicroPerHour),
  }))
}
