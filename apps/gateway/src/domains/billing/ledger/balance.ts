import type { Balance } from '@berth/contract/billing'
import { centsCeil, centsFloor } from '@berth/contract/money'
import { sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { lastsSeconds } from '../credits/reckoning.ts'
import { createBatchReader } from './batch-reader.ts'
import { wallet } from './tables.ts'
import { selectTotals, type WalletTotals, withSumsOfEach } from './wallet.ts'

/** Wallets in one read: as many calls as reach a gateway within a round trip to the database. */
const WALLETS_READ_MAX = 500
/** Reads at once: while one is on its way, the next is gathered. */
const READS_AT_ONCE_MAX = 2

export interface BalanceReader {
  /** What a customer has. @throws ApiError `not_found` when there is no such wallet. */
  totals(userId: string): Promise<WalletTotals>
  /** The same as the balance call says it (R3.6). */
  balance(userId: string): Promise<Balance>
}

interface BalanceDeps {
  db: Database
  clock: Clock
  log: Pick<Logger, 'error'>
}

/**
 * Reads balances for the call that every open console makes each five seconds (R9.2): one prepared query for all
 * that ask at the same time.
 */
export function createBalanceReader({ db, clock, log }: BalanceDeps): BalanceReader {
  const query = selectTotals(
    db,
    sql`${sql.placeholder('now')}::timestamptz`,
    // PostgreSQL would plan the query anew for each list whose length it sees; planning takes four times as long as
    // the rest. Behind a subselect it sees none, and keeps the plan that it has.
    sql`${wallet.userId} = any((select ${sql.placeholder('userIds')}::uuid[])::uuid[])`,
  ).prepare('billing_balance')
  const read = createBatchReader<WalletTotals>({
    batchKeysMax: WALLETS_READ_MAX,
    readsMax: READS_AT_ONCE_MAX,
    async read(userIds) {
      const rows = await query.execute({ userIds, now: clock.now().toISOString() })
      return new Map(withSumsOfEach(rows, log).map(totals => [totals.userId, totals]))
    },
  })

  async function totals(userId: string): Promise<WalletTotals> {
    const found = await read(userId)
    if (!found) throw new ApiError('not_found')
    return found
  }
  return { totals, balance: async userId => toBalance(await totals(userId), clock.now()) }
}

/**
 * A wallet on the wire. Each part is rounded down to cents, so that nothing shows that is not there, and `amount`
 * is made from its parts, so that they add up in cents as well (R3.6). Credits for models are available, and are all
 * that `amount_free` says: what else runs lasts as long as the rest does.
 * @param now Where what lasts is reckoned from.
 */
export function toBalance(totals: WalletTotals, now: Date): Balance {
  const free = centsFloor(totals.freeMicro)
  const available = centsFloor(totals.availableMicro) + free
  const frozen = centsFloor(totals.heldMicro)
  const amount = available + frozen
  return {
    currency: totals.currency,
    account_balance: {
      amount,
      amount_available: available,
      amount_credits: Math.min(amount, centsFloor(totals.creditsMicro + totals.freeMicro)),
      amount_free: free,
      amount_freeze: frozen,
      amount_owed: centsCeil(totals.owedMicro),
    },
    coupon_count: totals.couponCount,
    burn_micro_per_hour: totals.burnMicroPerHour.toString(),
    // All of it, because what is set aside pays for what runs.
    lasts_seconds: lastsSeconds(now, totals),
  }
}
