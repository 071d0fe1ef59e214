import type { CallData } from '@berth/contract/call'
import {
  type listReferralOrders,
  type listReferralRecords,
  type ReferralState,
  referralOrder,
  referralRecord,
} from '@berth/contract/referral'
import { and, desc, eq, ilike, type SQL, sql } from 'drizzle-orm'
import type { Database } from '../../platform/database/database.ts'
import { wireOf } from '../../platform/http/wire.ts'
import { referral, referralReward } from './tables.ts'
import { percentOf, type Terms } from './terms.ts'

const recordOf = wireOf(referralRecord)
const orderOf = wireOf(referralOrder)

export interface RecordFilter {
  state?: ReferralState | undefined
  search?: string | undefined
  /** Whose figures are shown. */
  quarter: string
}

export interface OrderFilter {
  kind?: 'first_topup' | 'rebate' | undefined
  state?: ReferralState | undefined
  quarter?: string | undefined
  search?: string | undefined
}

/** Which rows of an ordered list: so many after the first so many, or after a row. */
export interface Slice {
  limit: number
  offset?: number
  after?: { at: Date; id: string } | null
}

type Page = { page: number; page_size: number }
export type RecordRow = Awaited<ReturnType<typeof readRecords>>[number]
export type OrderRow = Awaited<ReturnType<typeof readOrders>>[number]

/** Finds a text in masked addresses, as they are shown: what is masked is found by nobody. */
function isFound(search: string | undefined): SQL | undefined {
  const text = search?.trim() ?? ''
  return text === '' ? undefined : ilike(referral.maskedEmail, `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`)
}

function recordsOf(userId: string, { state, search }: RecordFilter): SQL | undefined {
  return and(
    eq(referral.referrerId, userId),
    state === undefined ? undefined : eq(referral.state, state),
    isFound(search),
  )
}

/** A customer's friends, newest first, with what they spent and what came of it in one quarter. */
export async function readRecords(
  db: Pick<Database, 'select'>,
  userId: string,
  filter: RecordFilter,
  { limit, offset = 0, after = null }: Slice,
) {
  const { amountMicro, cashMicro } = referralReward
  const isOfQuarter = sql`${referralReward.quarter} = ${filter.quarter}`
  // A join and no query among the columns: those of a select from one table are written without their tables there.
  const earned = db
    .select({
      cashMicro: sql`coalesce(sum(${cashMicro}) filter (where ${isOfQuarter}), 0)`
        .mapWith(BigInt)
        .as('cash_micro'),
      rebateMicro: sql`coalesce(sum(${amountMicro}) filter (where ${isOfQuarter}), 0)`
        .mapWith(BigInt)
        .as('rebate_micro'),
      totalMicro: sql`coalesce(sum(${amountMicro}), 0)`.mapWith(BigInt).as('total_micro'),
    })
    .from(referralReward)
    .where(and(eq(referralReward.referralId, referral.id), eq(referralReward.kind, 'rebate')))
    .as('earned')
  return await db
    .select({
      row: referral,
      cashMicro: earned.cashMicro,
      rebateMicro: earned.rebateMicro,
      totalMicro: earned.totalMicro,
    })
    .from(referral)
    .innerJoinLateral(earned, sql`true`)
    .where(
      and(
        recordsOf(userId, filter),
        after
          ? sql`(${referral.registeredAt}, ${referral.id}) < (${after.at.toISOString()}::timestamptz, ${after.id}::uuid)`
          : undefined,
      ),
    )
    .orderBy(desc(referral.registeredAt), desc(referral.id))
    .limit(limit)
    .offset(offset)
}

/** A friend on the wire. */
export function showRecord({ row, cashMicro, rebateMicro, totalMicro }: RecordRow, terms: Terms) {
  return recordOf({
    id: row.id,
    userEmail: row.maskedEmail,
    registrationTime: row.registeredAt,
    state: row.state,
    stateReason: row.reason,
    currency: row.currency,
    orderPaymentTime: row.firstPaidAt,
    orderAmountMicro: row.firstPaidMicro,
    paidMicro: row.paidMicro,
    cashPaymentAmountMicro: cashMicro,
    rebateRate: percentOf(terms.rebateHundredths),
    rebateAmountMicro: rebateMicro,
    totalRebateAmountMicro: totalMicro,
  })
}

/** A page of a customer's friends. */
export async function listRecords(
  { db, terms }: { db: Database; terms: Terms },
  userId: string,
  { page, page_size, ...filter }: RecordFilter & Page,
): Promise<CallData<typeof listReferralRecords>> {
  const slice = { limit: page_size, offset: (page - 1) * page_size }
  const rows = await readRecords(db, userId, filter, slice)
  const total = await db.$count(referral, recordsOf(userId, filter))
  return { items: rows.map(row => showRecord(row, terms)), total, page, page_size }
}

/** Rows that say nothing any more, because all of them was taken back, are left out. */
const SAYS_SOMETHING = sql`(${referralReward.amountMicro} <> 0 or ${referralReward.orderMicro} <> 0)`

function ordersOf(userId: string, { kind, state, quarter, search }: OrderFilter): SQL | undefined {
  return and(
    eq(referralReward.userId, userId),
    SAYS_SOMETHING,
    kind === undefined ? undefined : eq(referralReward.kind, kind),
    state === undefined ? undefined : eq(referral.state, state),
    quarter === undefined ? undefined : eq(referralReward.quarter, quarter),
    isFound(search),
  )
}

/** What a customer earned for what, newest first. */
export async function readOrders(
  db: Pick<Database, 'select'>,
  userId: string,
  filter: OrderFilter,
  { limit, offset = 0, after = null }: Slice,
) {
  const { orderAt, id } = referralReward
  return await db
    .select({ row: referralReward, friend: referral })
    .from(referralReward)
    .innerJoin(referral, eq(referral.id, referralReward.referralId))
    .where(
      and(
        ordersOf(userId, filter),
        after
          ? sql`(${orderAt}, ${id}) < (${after.at.toISOString()}::timestamptz, ${after.id}::uuid)`
          : undefined,
      ),
    )
    .orderBy(desc(orderAt), desc(id))
    .limit(limit)
    .offset(offset)
}

/** An order reward on the wire. */
export function showOrder({ row, friend }: OrderRow) {
  return orderOf({
    ...{ id: row.id, kind: row.kind, quarter: row.quarter, currency: friend.currency },
    userEmail: friend.maskedEmail,
    registrationTime: friend.registeredAt,
    orderPaymentTime: row.orderAt,
    orderAmountMicro: row.orderMicro,
    cashPaymentAmountMicro: row.cashMicro,
    rebateRate: row.rateHundredths === null ? null : percentOf(row.rateHundredths),
    rebateAmountMicro: row.amountMicro,
    state: friend.state,
  })
}

/** How many order rewards a filter lets through. */
export async function countOrders(
  db: Pick<Database, 'select'>,
  userId: string,
  filter: OrderFilter,
): Promise<number> {
  const [row] = await db
    .select({ count: sql<number>`count(*)`.mapWith(Number) })
    .from(referralReward)
    .innerJoin(referral, eq(referral.id, referralReward.referralId))
    .where(ordersOf(userId, filter))
  return row?.count ?? 0
}

/** A page of what a customer earned for what. */
export async function listOrders(
  { db }: { db: Database },
  userId: string,
  { page, page_size, ...filter }: OrderFilter & Page,
): Promise<CallData<typeof listReferralOrders>> {
  const rows = await readOrders(db, userId, filter, { limit: page_size, offset: (page - 1) * page_size })
  const total = await countOrders(db, userId, filter)
  return { items: rows.map(showOrder), total, page, page_size }
}
