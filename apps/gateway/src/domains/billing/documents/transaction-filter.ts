import { MICRO_PER_UNIT } from '@berth/contract/money'
import type { TRANSACTION_STATES, TRANSACTION_TYPES } from '@berth/contract/transaction-filters'
import { type SQL, sql } from 'drizzle-orm'
import { dueSql } from '../meters/unposted.ts'
import { methodRowId } from '../payments/methods/stored.ts'
import { contains } from './used.ts'

export type TransactionType = (typeof TRANSACTION_TYPES)[number]
type TransactionState = (typeof TRANSACTION_STATES)[number]

/** What transactions are narrowed by. */
export interface TransactionFilter {
  type?: TransactionType | undefined
  state?: TransactionState | undefined
  platform_name?: string | undefined
  method_id?: string | undefined
  /** Moments as the wire has them; the second one is not among them. */
  from?: string | undefined
  until?: string | undefined
  search?: string | undefined
  /** One row alone. */
  refId?: string | undefined
}

/** Ids on the wire say what they are: `t_`, `u_`, `c_` or `r_` before the row's id. */
export const PREFIXES: Record<TransactionType, string> = {
  topup: 't_',
  usage: 'u_',
  credit: 'c_',
  refund: 'r_',
}

/** An id as people copy it: of a transaction, of a document, or a row's own. */
const ANY_ID = /^([tucr]_|inv_)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i
const INVOICE_NUMBER = /^(\d{4}-[A-Z]{3})-(\d{1,9})$/i
const AMOUNT = /^[+\-−]?[$€]?(\d{1,3}(?:,\d{3})+|\d{1,12})(?:\.(\d{1,6}))?$/
/** Amounts are read with at least so many decimals, and the books have at most so many. */
const DECIMALS_MIN = 2
const DECIMALS_MAX = 6

/** When a row of each kind was, the texts that it is found by, its amount as it is read, and its states. */
interface Kind {
  at: SQL
  texts: SQL[]
  amount: (now: SQL) => SQL
  /** Those that it can be in. */
  states: Partial<Record<TransactionState, SQL>>
}

const CARD = [sql`source_brand`, sql`source_last4`]

/** Each of the four kinds of rows, by the columns of its table; usage is called `i`. */
export const KINDS: Record<TransactionType, Kind> = {
  topup: {
    at: sql`created_at`,
    texts: CARD,
    amount: () => sql`amount_cents::bigint * 10000`,
    states: {
      settled: sql`state not in ('created', 'requires_action', 'processing', 'failed', 'canceled')`,
      pending: sql`state in ('created', 'requires_action', 'processing')`,
      not_charged: sql`state in ('failed', 'canceled')`,
    },
  },
  usage: {
    at: sql`started_at`,
    texts: [
      sql`subject_name`,
      sql`subject_id`,
      sql`subject_facts ->> 'instance_name'`,
      sql`subject_facts ->> 'gpu_spec_name'`,
    ],
    // Of what goes on, what is due by now is read, posted or not.
    amount: now =>
      sql`case when ended_at is null then greatest(${dueSql(now)} - waived_micro, posted_micro)::bigint else posted_micro end`,
    states: { settled: sql`ended_at is not null`, pending: sql`ended_at is null` },
  },
  credit: {
    at: sql`created_at`,
    texts: [sql`reason`, sql`instance_name`],
    amount: () => sql`amount_micro`,
    states: { settled: sql`true` },
  },
  refund: {
    at: sql`created_at`,
    texts: CARD,
    amount: () =>
      sql`(amount_cents - case when failed_cents < amount_cents then failed_cents else 0 end)::bigint * 10000`,
    states: { settled: sql`failed_cents < amount_cents`, came_back: sql`failed_cents >= amount_cents` },
  },
}

/**
 * Which rows of a kind a filter lets through, as a condition on its columns. The one place that says so, for the list, for
 * its count and for the file.
 * @param now Where open usage is reckoned to.
 * @returns Null where it lets none through.
 */
export function conditionOf(
  type: TransactionType,
  userId: string,
  filter: TransactionFilter,
  now: Date,
): SQL | null {
  const { at, states } = KINDS[type]
  const { state, from, until, refId, platform_name: platform, method_id: methodId } = filter
  if (filter.type !== undefined && filter.type !== type) return null
  const conditions = [sql`user_id = ${userId}`]
  if (state !== undefined) {
    const inState = states[state]
    if (!inState) return null
    conditions.push(inState)
  }
  if (platform !== undefined || methodId !== undefined) {
    if (type !== 'topup' && type !== 'refund') return null
    if (platform !== undefined) conditions.push(sql`platform_name = ${platform}`)
    if (methodId !== undefined) conditions.push(ofMethod(userId, methodId))
  }
  if (from !== undefined) conditions.push(sql`${at} >= ${from}::timestamptz`)
  if (until !== undefined) conditions.push(sql`${at} < ${until}::timestamptz`)
  if (refId !== undefined) conditions.push(sql`id = ${refId}::uuid`)
  const search = filter.search?.trim() ?? ''
  if (search !== '') {
    const found = finding(type, userId, search, now)
    if (!found) return null
    conditions.push(found)
  }
  return sql.join(conditions, sql` and `)
}

/** Payments by a card that the customer keeps, also those before it was kept. Another customer's has none. */
function ofMethod(userId: string, methodId: string): SQL {
  const id = methodRowId(methodId)
  if (id === null) return sql`false`
  return sql`(platform_name, source_brand, source_last4) = (
    select one.platform_name, one.brand, one.last4 from payment_method one
    where one.id = ${id}::uuid and one.user_id = ${userId})`
}

/** What a text finds of a kind: an id finds its row, anything else whatever has it in its texts or reads as its amount. */
function finding(type: TransactionType, userId: string, search: string, now: Date): SQL | null {
  const { texts, amount } = KINDS[type]
  const [, prefix, uuid] = ANY_ID.exec(search.toLowerCase()) ?? []
  const isOfPayment = type === 'topup' || type === 'refund'
  if (prefix === 'inv_') {
    return isOfPayment ? sql`id in (${documents(userId, sql`d.id = ${uuid}::uuid`)})` : null
  }
  if (prefix !== undefined) return prefix === PREFIXES[type] ? sql`id = ${uuid}::uuid` : null
  const ways = texts.map(text => contains(text, search))
  if (uuid !== undefined) return anyOf([...ways, sql`id = ${uuid}::uuid`])
  const [, series, position] = INVOICE_NUMBER.exec(search) ?? []
  if (isOfPayment && series !== undefined) {
    const number = sql`d.series = ${series.toUpperCase()} and d.position = ${Number(position)}`
    return sql`id in (${documents(userId, number)})`
  }
  // The words around a card are those of the reader's language: its digits are found in whatever stands around them.
  if (isOfPayment) ways.push(sql`source_last4 <> '' and strpos(${search}, source_last4) > 0`)
  const range = amountsReadAs(search)
  if (range !== null) {
    const size = sql`abs(${amount(sql`${now.toISOString()}::timestamptz`)})`
    ways.push(sql`${size} >= ${range.least}::bigint and ${size} < ${range.below}::bigint`)
  }
  return anyOf(ways)
}

/** What the customer's documents are about that fit. */
const documents = (userId: string, which: SQL) =>
  sql`select d.ref_id from invoice d where d.user_id = ${userId} and ${which}`

const anyOf = (ways: SQL[]) =>
  sql`(${sql.join(
    ways.map(way => sql`(${way})`),
    sql` or `,
  )})`

/**
 * Which amounts read as a text does, whatever their sign: those that round to it in as many decimals as it has.
 * @param text Such as `5.23`, `−$1,204.50` or `0.0029`.
 * @returns From the least to below another one, in micro-units; null where it is no amount.
 */
function amountsReadAs(text: string): { least: string; below: string } | null {
  const [, whole, fraction = ''] = AMOUNT.exec(text.replaceAll(' ', '')) ?? []
  if (whole === undefined) return null
  const decimals = Math.max(fraction.length, DECIMALS_MIN)
  const micro =
    BigInt(whole.replaceAll(',', '')) * MICRO_PER_UNIT + BigInt(fraction.padEnd(DECIMALS_MAX, '0'))
  const half = 10n ** BigInt(DECIMALS_MAX - decimals) / 2n
  return { least: (micro - half).toString(), below: (micro + (half || 1n)).toString() }
}
