import type { Currency } from '@berth/contract/limits'
import { centsCeil, formatMicro, microFromCents } from '@berth/contract/money'
import { and, eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { Clock } from '../../platform/clock.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import type { Ids } from '../../platform/ids.ts'
import { customerAccounts, openCustomerAccounts, openHouseAccount, postTransfer } from './ledger.ts'
import { creditGrant, wallet, walletHold } from './tables.ts'

interface WalletDeps {
  clock: Clock
  ids: Ids
}

/** All that a customer has, and what is set aside of it; in micro-units of the wallet's currency. */
export interface WalletTotals {
  userId: string
  currency: Currency
  cashMicro: bigint
  creditsMicro: bigint
  /** Cash and credits. */
  totalMicro: bigint
  /** Open holds, less what was used of them. Never more than the total. */
  heldMicro: bigint
  /** What can be spent: total less holds. */
  availableMicro: bigint
  /** What all open intervals cost in an hour. */
  burnMicroPerHour: bigint
}

/** A row of `selectTotals`. */
type TotalsRow = Omit<WalletTotals, 'totalMicro' | 'availableMicro'>

/**
 * The one query that says what a customer has: the balance call, the deploy check and metering all read it.
 * @param condition Which wallets; columns of the table `wallet`.
 */
export function selectTotals(q: Pick<Queryable, 'select'>, condition: SQL) {
  return q
    .select({
      userId: wallet.userId,
      currency: wallet.currency,
      cashMicro: micro(
        sql`(select a.balance_micro from ledger_account a where a.id = 'user:' || wallet.user_id || ':cash')`,
      ),
      creditsMicro: micro(
        sql`(select a.balance_micro from ledger_account a where a.id = 'user:' || wallet.user_id || ':credits')`,
      ),
      heldMicro: micro(
        sql`(select coalesce(sum(h.amount_micro - h.used_micro), 0) from wallet_hold h
             where h.user_id = wallet.user_id and h.released_at is null)`,
      ),
      burnMicroPerHour: micro(
        sql`(select coalesce(sum(i.rate_micro_per_hour), 0) from usage_interval i
             where i.user_id = wallet.user_id and i.ended_at is null)`,
      ),
    })
    .from(wallet)
    .where(condition)
}

/** Adds what follows from the parts. */
export function withSums(row: TotalsRow): WalletTotals {
  const totalMicro = row.cashMicro + row.creditsMicro
  return { ...row, totalMicro, availableMicro: totalMicro - row.heldMicro }
}

/**
 * What a customer has, read without a lock.
 * @throws ApiError `not_found` when there is no such wallet.
 */
export async function readTotals(q: Queryable, userId: string): Promise<WalletTotals> {
  const [row] = await selectTotals(q, eq(wallet.userId, userId))
  if (!row) throw new ApiError('not_found')
  return withSums(row)
}

/**
 * Takes the lock that every change of a customer's money begins with, then reads what there is. Two statements,
 * because the second must see what the former holder of the lock has committed.
 * @throws ApiError `not_found` when there is no such wallet.
 */
export async function lockWallet(tx: Transaction, userId: string): Promise<WalletTotals> {
  const locked = await tx
    .select({ userId: wallet.userId })
    .from(wallet)
    .where(eq(wallet.userId, userId))
    .for('update')
  if (locked.length === 0) throw new ApiError('not_found')
  return await readTotals(tx, userId)
}

/** Opens a customer's wallet with its two accounts. Idempotent; a wallet never changes its currency (R9.3). */
export async function openWallet(
  tx: Transaction,
  { clock }: Pick<WalletDeps, 'clock'>,
  { userId, currency }: { userId: string; currency: Currency },
): Promise<void> {
  await tx.insert(wallet).values({ userId, currency, createdAt: clock.now() }).onConflictDoNothing()
  const [row] = await tx.select({ currency: wallet.currency }).from(wallet).where(eq(wallet.userId, userId))
  if (row?.currency !== currency) throw new Error(`the wallet of ${userId} exists in another currency`)
  await openCustomerAccounts(tx, userId, currency)
}

/**
 * Gives a customer credits. Idempotent by id; the same id with another amount is a mistake of the program.
 * @param input.reason A key of the console's texts, such as `demo`.
 */
export async function grantCredit(
  tx: Transaction,
  deps: WalletDeps,
  input: { id: string; userId: string; amountMicro: bigint; reason: string },
): Promise<void> {
  const { id, userId, amountMicro, reason } = input
  const { currency } = await lockWallet(tx, userId)
  await tx
    .insert(creditGrant)
    .values({ id, userId, amountMicro, reason, createdAt: deps.clock.now() })
    .onConflictDoNothing()
  await postTransfer(tx, deps, {
    key: `credit:${id}`,
    from: await openHouseAccount(tx, 'promotions', currency),
    to: customerAccounts(userId).credits,
    amountMicro,
    kind: 'credit',
    refId: id,
    userId,
  })
}

/**
 * Sets money aside for an instance, in place of what was set aside for it before.
 * @throws ApiError `insufficient_balance` when less is available.
 */
export async function hold(
  tx: Transaction,
  deps: WalletDeps,
  input: { userId: string; instanceId: string; amountMicro: bigint },
): Promise<void> {
  const { userId, instanceId, amountMicro } = input
  await lockWallet(tx, userId)
  await releaseHold(tx, deps, input)
  const { availableMicro, currency } = await readTotals(tx, userId)
  if (availableMicro < amountMicro) {
    throw new ApiError('insufficient_balance', {
      values: {
        needed: formatMicro(microFromCents(centsCeil(amountMicro)), currency),
        available: formatMicro(availableMicro, currency),
      },
    })
  }
  await tx
    .insert(walletHold)
    .values({ id: deps.ids.uuid(), userId, instanceId, amountMicro, createdAt: deps.clock.now() })
}

/** Makes what is left of an instance's hold available again; none open: nothing. */
export async function releaseHold(
  tx: Transaction,
  { clock }: Pick<WalletDeps, 'clock'>,
  { userId, instanceId }: { userId: string; instanceId: string },
): Promise<void> {
  await lockWallet(tx, userId)
  await tx
    .update(walletHold)
    .set({ releasedAt: clock.now() })
    .where(
      and(
        eq(walletHold.userId, userId),
        eq(walletHold.instanceId, instanceId),
        isNull(walletHold.releasedAt),
      ),
    )
}

/** An amount that PostgreSQL sends as text. */
function micro(expression: SQL): SQL<bigint> {
  return (expression as SQL<bigint>).mapWith(BigInt)
}
