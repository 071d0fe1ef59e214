import type { Currency } from '@berth/contract/limits'
import type { Logger } from 'pino'
import type { Clock } from '../../../platform/clock.ts'
import type { Queryable } from '../../../platform/database/database.ts'
import { lastsSeconds } from '../credits/reckoning.ts'
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
  { db, clock, log }: { db: Pick<Queryable, 'select'>; clock: Clock; log: Pick<Logger, 'error'> },
  after: string | null,
): Promise<Burning[]> {
  const page = await readRunning({ db, clock, log }, after)
  const now = clock.now()
  return page.map(totals => ({
    userId: totals.userId,
    currency: totals.currency,
    balanceMicro: totals.totalMicro,
    burnMicroPerHour: totals.burnMicroPerHour,
    lastsSeconds: lastsSeconds(now, totals),
  }))
}
