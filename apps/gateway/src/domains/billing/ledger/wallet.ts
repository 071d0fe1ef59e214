import type { Currency } from '@berth/contract/limits'
import { eq, type SQL, sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Clock } from '../../../platform/clock.ts'
import type { Queryable, Transaction } from '../../../platform/database/database.ts'
import { statement } from '../../../platform/database/statement.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { creditsSql, type Ending, readEndings, reckon } from '../credits/reckoning.ts'
import { unposted } from '../meters/unposted.ts'
import { openCustomerAccounts } from './ledger.ts'
import { wallet } from './tables.ts'

/**
 * All that a customer has, and what is set aside of it; in micro-units of the wallet's currency. What is due by now
 * and not posted yet is taken off already, as posting it would, and credits whose end has passed are gone: nothing that
 * is read here jumps when it is posted.
 */
export interface WalletTotals {
  userId: string
  currency: Currency
  cashMicro: bigint
  /** Credits for everything. */
  creditsMicro: bigint
  /** Credits that only models can be paid with; they are in no other sum. */
  freeMicro: bigint
  /** Cash and credits for everything. */
  totalMicro: bigint
  /** Open holds, less what was used of them. Never more than the total. */
  heldMicro: bigint
  /** What can be spent: total less holds. */
  availableMicro: bigint
  /** What all open intervals cost in an hour. */
  burnMicroPerHour: bigint
  /** What is owed of refunds of money that was spent already. */
  owedMicro: bigint
  /** What is due and not posted, whether anything is left to pay it or not. */
  unpostedMicro: bigint
  /** Since when the oldest of that waits; null where nothing does. */
  unpostedSince: Date | null
  /** What posting all of it would take; the rest would be waived. */
  takenMicro: bigint
  /** What the books have beyond holds: what posting could still take. */
  postableMicro: bigint
  /** How many subjects run that nothing is left for: neither set aside nor available. */
  unpaidSubjects: number
  /** Of the credits for everything, what ends when; the nearest first. */
  endings: { at: Date; micro: bigint }[]
  /** Coupons of which credits are left. */
  couponCount: number
}

/** A row of `selectTotals`: what the ledger has posted, and what is due beyond it. */
interface TotalsRow {
  userId: string
  currency: Currency
  cashMicro: bigint
  /** For everything and for models. */
  creditsMicro: bigint
  /** Of the credits, those for models: in the books, and those of them that have not ended. */
  modelsMicro: bigint
  freeMicro: bigint
  /** Of the credits for everything, what has ended and is left for what was set aside. */
  keptMicro: bigint
  endings: Ending[]
  coupons: number
  heldMicro: bigint
  burnMicroPerHour: bigint
  owedMicro: bigint
  /** Of what is due, what is paid from what was set aside for it, and what is not. */
  fromHoldsMicro: bigint
  beyondHoldsMicro: bigint
  unpostedSince: Date | null
  unreservedSubjects: number
}

/**
 * The one query that says what a customer has: the balance call, the deploy check and metering all read it.
 * @param condition Which wallets; columns of the table `wallet`.
 * @param now Where open intervals are reckoned to.
 */
export function selectTotals(q: Pick<Queryable, 'select'>, now: SQL, condition: SQL) {
  const credits = creditsSql(now)
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
      modelsMicro: micro(sql`lots.models_micro`),
      freeMicro: micro(sql`lots.free_micro`),
      keptMicro: micro(sql`lots.kept_micro`),
      coupons: (sql`lots.coupons` as SQL<number>).mapWith(Number),
      endings: (sql`coalesce(endings.list, '[]'::json)` as SQL<Ending[]>).mapWith(readEndings),
      heldMicro: micro(
        sql`(select coalesce(sum(h.amount_micro - h.used_micro), 0) from wallet_hold h
             where h.user_id = wallet.user_id and h.released_at is null)`,
      ),
      owedMicro: micro(
        sql`(select coalesce(sum(r.owed_micro - r.repaid_micro), 0) from payment_refund r
             where r.user_id = wallet.user_id and r.repaid_micro < r.owed_micro)`,
      ),
      burnMicroPerHour: micro(sql`running.burn`),
      fromHoldsMicro: micro(sql`running.from_holds`),
      beyondHoldsMicro: micro(sql`running.beyond_holds`),
      unpostedSince: (sql`running.since` as SQL<Date | null>).mapWith(toDate),
      unreservedSubjects: (sql`running.unreserved` as SQL<number>).mapWith(Number),
    })
    .from(wallet)
    .crossJoin(
      sql`lateral (
        select coalesce(sum(div(u.rate_micro * 3600, u.rate_seconds)), 0) as burn,
          coalesce(sum(least(u.unposted, u.reserve)), 0) as from_holds,
          coalesce(sum(greatest(u.unposted - u.reserve, 0)), 0) as beyond_holds,
          min(u.posted_until) filter (where u.unposted > 0) as since,
          count(*) filter (where u.stops_when_empty and u.rate_micro > 0 and u.unposted >= u.reserve) as unreserved
        from (${unposted(now, sql`i.user_id = wallet.user_id`)}) u
      ) running`,
    )
    .crossJoin(credits.lots)
    .crossJoin(credits.endings)
    .where(condition)
}

/**
 * Adds what follows from the parts. What is due comes out the same in whatever order it is posted: first from what is
 * set aside for it, then from what is available, credits before cash; the rest will be waived.
 */
function withSums(row: TotalsRow): WalletTotals {
  const { fromHoldsMicro, beyondHoldsMicro, unreservedSubjects, modelsMicro, keptMicro, coupons, ...rest } =
    row
  const booked = { ...row, creditsMicro: row.creditsMicro - modelsMicro }
  const { cashMicro, creditsMicro, paidMicro, endings } = reckon(booked, { fromHoldsMicro, beyondHoldsMicro })
  const totalMicro = cashMicro + creditsMicro
  const heldMicro = row.heldMicro - fromHoldsMicro
  const availableMicro = totalMicro - heldMicro
  return {
    ...rest,
    cashMicro,
    creditsMicro,
    totalMicro,
    heldMicro,
    availableMicro,
    unpostedMicro: fromHoldsMicro + beyondHoldsMicro,
    takenMicro: paidMicro,
    postableMicro: booked.cashMicro + booked.creditsMicro - booked.heldMicro,
    unpaidSubjects: availableMicro > 0n ? 0 : unreservedSubjects,
    endings,
    couponCount: creditsMicro + row.freeMicro > 0n ? coupons : 0,
  }
}

/**
 * The same for many wallets: one whose books are not whole is logged and left out, so that it never keeps the others
 * from being read.
 */
export function withSumsOfEach(rows: TotalsRow[], log: Pick<Logger, 'error'>): WalletTotals[] {
  return rows.flatMap(row => {
    try {
      return [withSums(row)]
    } catch (error) {
      log.error({ err: error, userId: row.userId }, 'a wallet could not be read; the others are')
      return []
    }
  })
}

/**
 * What a customer has, read without a lock.
 * @throws ApiError `not_found` when there is no such wallet.
 */
export async function readTotals(
  q: Pick<Queryable, 'select'>,
  clock: Clock,
  userId: string,
): Promise<WalletTotals> {
  const now = sql`${clock.now().toISOString()}::timestamptz`
  // What is prepared is sent at once, and would be ahead of a lock that was asked for first: others are sent by the next microtask.
  await null
  // It takes the database longer to plan than to answer: each connection plans it once.
  const [row] = await selectTotals(q, now, eq(wallet.userId, userId)).prepare('wallet_totals').execute()
  if (!row) throw new ApiError('not_found')
  return withSums(row)
}

/**
 * Takes the lock that every change of a customer's money begins with. What is read under it comes in a statement of
 * its own, which sees what the former holder of the lock has committed.
 * @throws ApiError `not_found` when there is no such wallet.
 */
export async function lockWallet(tx: Transaction, userId: string): Promise<{ currency: Currency }> {
  const [locked] = await lockWalletRow(tx, userId)
  if (!locked) throw new ApiError('not_found')
  return locked
}

const lockWalletRow = statement<{ currency: Currency }>(
  'wallet_lock',
  'select currency from wallet where user_id = $1 for update',
)

/** The currency of a customer's wallet. @throws ApiError `not_found` when there is no such wallet. */
export async function currencyOf(q: Pick<Queryable, 'select'>, userId: string): Promise<Currency> {
  const [row] = await q.select({ currency: wallet.currency }).from(wallet).where(eq(wallet.userId, userId))
  if (!row) throw new ApiError('not_found')
  return row.currency
}

/** Opens a customer's wallet with its two accounts. Idempotent; a wallet never changes its currency (R9.3). */
export async function openWallet(
  tx: Transaction,
  { clock }: { clock: Clock },
  { userId, currency }: { userId: string; currency: Currency },
): Promise<void> {
  await tx.insert(wallet).values({ userId, currency, createdAt: clock.now() }).onConflictDoNothing()
  if ((await currencyOf(tx, userId)) !== currency) {
    throw new Error(`the wallet of ${userId} exists in another currency`)
  }
  await openCustomerAccounts(tx, userId, currency)
}

/** An amount that PostgreSQL sends as text. */
function micro(expression: SQL): SQL<bigint> {
  return (expression as SQL<bigint>).mapWith(BigInt)
}

function toDate(value: Date | string | null): Date | null {
  return value === null ? null : new Date(value)
}
