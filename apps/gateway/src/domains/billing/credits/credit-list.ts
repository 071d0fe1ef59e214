import type { CallData } from '@berth/contract/call'
import {
  type CreditLot,
  coupon,
  creditLot,
  type listCoupons,
  type listCredits,
} from '@berth/contract/credits'
import type { Currency } from '@berth/contract/limits'
import { centsFloor } from '@berth/contract/money'
import { and, eq, isNull, lte, type SQL, sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Queryable } from '../../../platform/database/database.ts'
import { wireOf } from '../../../platform/http/wire.ts'
import type { Ids } from '../../../platform/ids.ts'
import { least } from '../ledger/least.ts'
import { lockWallet, readTotals, type WalletTotals } from '../ledger/wallet.ts'
import { endCredits } from '../meters/posting.ts'
import { type Lot, readLots } from './lots.ts'
import { creditGrant } from './tables.ts'

interface ListDeps {
  db: Database
  clock: Clock
  ids: Ids
}

type PageQuery = { page: number; page_size: number }

const lotOf = wireOf(creditLot)
const couponOf = wireOf(coupon)
const SNAPSHOT = { isolationLevel: 'repeatable read', accessMode: 'read only' } as const

/** A grant with what became of it, as the lists read it. */
type LotRow = {
  id: string
  kind: CreditLot['kind']
  reason: string
  modelsOnly: boolean
  amount: string
  used: string
  ended: string
  createdMs: string
  endsMs: string | null
}

/**
 * Books the ends of a customer's credits that have passed, where there are any, so that lists that are read next show
 * them (R3.8).
 */
export async function endCreditsNow({ db, clock, ids }: ListDeps, userId: string): Promise<void> {
  const [passed] = await db
    .select({ id: creditGrant.id })
    .from(creditGrant)
    .where(
      and(
        eq(creditGrant.userId, userId),
        sql`${creditGrant.restMicro} > 0`,
        isNull(creditGrant.endedAt),
        lte(creditGrant.endsAt, clock.now()),
      ),
    )
    .limit(1)
  if (!passed) return
  await db.transaction(async tx => {
    await lockWallet(tx, userId)
    await endCredits(tx, { clock, ids }, userId)
  })
}

/**
 * A page of a customer's credits: what is there in the order in which it is spent, then the others, newest first. What
 * is due and not posted is taken off, as it is from the balance.
 * @throws ApiError `not_found` without a wallet.
 */
export async function listLots(
  deps: ListDeps,
  userId: string,
  { page, page_size }: PageQuery,
): Promise<CallData<typeof listCredits>> {
  await endCreditsNow(deps, userId)
  return await deps.db.transaction(async tx => {
    const { currency, leftOf, leftMicro } = await readLeft(tx, deps.clock, userId)
    const now = deps.clock.now()
    const there = sql`(g.rest_micro > 0 and (g.ends_at is null or g.ends_at > ${now.toISOString()}::timestamptz))`
    const { rows, total } = await readLotRows(
      tx,
      sql`from credit_grant g where g.user_id = ${userId}`,
      sql`${there} desc, case when ${there} then g.ends_at end asc nulls last,
        case when ${there} then g.created_at end asc, g.created_at desc, g.id`,
      { page, page_size },
    )
    const items = rows.map(row => lotOf(factsOf(row, currency, leftOf, now)))
    return { items, total, page, page_size, currency, left_micro: leftMicro.toString() }
  }, SNAPSHOT)
}

/** A page of the coupons that a customer has redeemed, newest first (R3.8). @throws ApiError `not_found`. */
export async function listCouponsOf(
  deps: ListDeps,
  userId: string,
  { page, page_size }: PageQuery,
): Promise<CallData<typeof listCoupons>> {
  await endCreditsNow(deps, userId)
  return await deps.db.transaction(async tx => {
    const { currency, leftOf } = await readLeft(tx, deps.clock, userId)
    const now = deps.clock.now()
    const { rows, total } = await readLotRows(
      tx,
      sql`from credit_grant g where g.user_id = ${userId} and g.kind = 'coupon'`,
      sql`g.created_at desc, g.id desc`,
      { page, page_size },
    )
    const items = rows.map(row =>
      couponOf({
        ...factsOf(row, currency, leftOf, now),
        code: row.reason,
        amount: centsFloor(BigInt(row.amount)),
      }),
    )
    return { items, total, page, page_size }
  }, SNAPSHOT)
}

/** One lot on the wire. The caller holds the wallet's lock, or reads in a snapshot. */
export async function readLot(
  q: Queryable,
  clock: Clock,
  { userId, id }: { userId: string; id: string },
): Promise<CreditLot | null> {
  const { currency, leftOf } = await readLeft(q, clock, userId)
  const from = sql`from credit_grant g where g.user_id = ${userId} and g.id = ${id}`
  const { rows } = await readLotRows(q, from, sql`g.id`, { page: 1, page_size: 1 })
  const [row] = rows
  return row ? lotOf(factsOf(row, currency, leftOf, clock.now())) : null
}

/**
 * What is left of each lot that is there, by what is due and not by what is posted. The caller holds the wallet's lock, or
 * reads in a snapshot. @throws ApiError `not_found` without a wallet.
 */
export async function readLeft(q: Queryable, clock: Clock, userId: string) {
  const totals = await readTotals(q, clock, userId)
  const lots = await readLots(q, userId)
  const leftOf = takeUnposted(lots, totals, clock.now())
  const leftMicro = [...leftOf.values()].reduce((sum, micro) => sum + micro, 0n)
  return { currency: totals.currency, leftOf, leftMicro }
}

/** Takes off the lots, in their order, what their sum has less than the books say. */
function takeUnposted(lots: Lot[], totals: WalletTotals, now: Date): Map<string, bigint> {
  const common = lots.filter(({ modelsOnly }) => !modelsOnly)
  let takenMicro = common.reduce((sum, { restMicro }) => sum + restMicro, 0n) - totals.creditsMicro
  const left = new Map<string, bigint>()
  for (const lot of common) {
    const micro = least(takenMicro, lot.restMicro)
    takenMicro -= micro
    if (isThere(lot, now)) left.set(lot.id, lot.restMicro - micro)
  }
  for (const lot of lots) if (lot.modelsOnly && isThere(lot, now)) left.set(lot.id, lot.restMicro)
  return left
}

const isThere = ({ endsAt }: Pick<Lot, 'endsAt'>, now: Date) => endsAt === null || endsAt > now

function factsOf(row: LotRow, currency: Currency, leftOf: Map<string, bigint>, now: Date) {
  const leftMicro = leftOf.get(row.id) ?? 0n
  const endsAt = row.endsMs === null ? null : new Date(Number(row.endsMs))
  const isOver = endsAt !== null && endsAt <= now && BigInt(row.used) < BigInt(row.amount)
  return {
    id: row.id,
    kind: row.kind,
    reason: row.reason,
    currency,
    amountMicro: BigInt(row.amount),
    leftMicro,
    usedMicro: isOver ? BigInt(row.used) : BigInt(row.amount) - BigInt(row.ended) - leftMicro,
    modelsOnly: row.modelsOnly,
    effectDate: new Date(Number(row.createdMs)),
    expirationDate: endsAt,
    status: isOver ? 'expired' : leftMicro > 0n ? 'active' : 'used',
  } as const
}

async function readLotRows(
  q: Queryable,
  from: SQL,
  order: SQL,
  { page, page_size }: PageQuery,
): Promise<{ rows: LotRow[]; total: number }> {
  const { rows } = await q.execute<LotRow>(sql`
    select g.id, g.kind, g.reason, g.models_only as "modelsOnly", g.amount_micro as amount,
      (select coalesce(sum(u.amount_micro), 0) from credit_use u where u.grant_id = g.id) as used,
      (select coalesce(sum(e.amount_micro), 0) from credit_end e where e.grant_id = g.id) as ended,
      extract(epoch from g.created_at) * 1000 as "createdMs", extract(epoch from g.ends_at) * 1000 as "endsMs"
    ${from} order by ${order} limit ${page_size} offset ${(page - 1) * page_size}`)
  const counted = await q.execute<{ count: string }>(sql`select count(*) ${from}`)
  return { rows, total: Number(counted.rows[0]?.count ?? 0) }
}
