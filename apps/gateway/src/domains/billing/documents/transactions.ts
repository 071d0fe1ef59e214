import { type listTransactions, type Transaction, transaction } from '@berth/contract/billing'
import type { CallData } from '@berth/contract/call'
import type { ChargeCycle } from '@berth/contract/charge-terms'
import type { Currency } from '@berth/contract/limits'
import type { UsageKind } from '@berth/contract/usage-kinds'
import { sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Queryable } from '../../../platform/database/database.ts'
import { wireOf } from '../../../platform/http/wire.ts'
import { unpostedMicro } from '../meters/metering.ts'
import type { SubjectFacts } from '../meters/tables.ts'
import type { Unit } from '../meters/units.ts'
import { usageKindSql } from '../meters/usage-kinds.ts'
import type { Subject } from '../subject.ts'
import { INVOICE_PREFIX } from './invoices/read-invoices.ts'
import { PREFIXES, type TransactionFilter, type TransactionType } from './transaction-filter.ts'
import { pageParts } from './transaction-page.ts'

const transactionOf = wireOf(transaction)
const aboutOf = wireOf(transaction.shape.about)

const ID_PATTERN = /^([tucr]_)([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

/**
 * The id that a row of the list has on the wire.
 * @param refId The row's own id.
 */
export function transactionId(type: TransactionType, refId: string): string {
  return PREFIXES[type] + refId
}

/** One row of the list, before it is put on the wire. */
export type TransactionRow = {
  type: TransactionType
  refId: string
  atMs: string
  currency: Currency
  state: 'created' | 'requires_action' | 'processing' | 'settled' | 'failed' | 'open' | 'closed'
  /** The top-up's or the grant's amount; what was posted of usage. */
  amount: string
  /** These are set for usage alone. */
  subjectKind: Subject['kind'] | null
  subjectId: string | null
  subjectName: string | null
  subjectFacts: SubjectFacts | null
  /** What it is of, by its main meter. */
  usage: UsageKind | null
  /** The main meter's. */
  unit: Unit | null
  /** Of what was counted, all that was: bytes, or tokens. */
  counted: string | null
  charge: 'by_time' | 'term' | 'once' | null
  rate: string | null
  rateSeconds: number | null
  carriedParts: string | null
  endedMs: string | null
  credits: string | null
  /** What of the credits coupons gave; of a row of credits that a coupon gave, all of it. */
  coupon: string | null
  cash: string | null
  waived: string | null
  /** What is still owed of a refund, and what of it did not arrive. */
  owed: string | null
  cameBack: string | null
  /** What a top-up was paid with; why a credit was given, or why money went back. */
  brand: string | null
  last4: string | null
  reason: string | null
  failure: string | null
  /** The document that was made for it, and its number. */
  invoiceId: string | null
  invoiceSeries: string | null
  invoicePosition: number | null
  /** Who began a top-up. */
  origin: 'customer' | 'auto' | null
}

export type TransactionsQuery = { page: number; page_size: number } & TransactionFilter

/**
 * Reads an id of the wire.
 * @returns Type and the row's id, or null when it is none of ours.
 */
export function parseTransactionId(id: string): { type: TransactionType; refId: string } | null {
  const match = ID_PATTERN.exec(id)
  const refId = match?.[2]
  const type = (Object.keys(PREFIXES) as TransactionType[]).find(type => PREFIXES[type] === match?.[1])
  return type && refId ? { type, refId } : null
}

/**
 * A page of a customer's transactions, newest first: top-ups whatever became of them, stretches of usage, credits and
 * what of them ended unused.
 * @param query Page from 1; what `TransactionFilter` narrows it by.
 */
export async function listPage(
  q: Queryable,
  clock: Clock,
  userId: string,
  query: TransactionsQuery,
): Promise<CallData<typeof listTransactions>> {
  const { page, page_size, ...filter } = query
  const now = clock.now()
  const span = { limit: page_size, offset: (page - 1) * page_size }
  const { rows, total } = await readRows(q, userId, filter, { ...span, now })
  return { items: rows.map(row => toTransaction(row, now)), total, page, page_size }
}

/**
 * Rows of a customer's transactions in one query, newest first.
 * @param filter Narrows them, or names one row.
 * @param span How many; from which on, by number or, for a file that goes through all, after a row; and where open usage
 *   is reckoned to.
 * @returns The number that the filter finds in all is not counted for a file.
 */
export async function readRows(
  q: Queryable,
  userId: string,
  filter: TransactionFilter,
  span: { limit: number; now: Date; offset?: number; after?: TransactionRow | null },
): Promise<{ rows: TransactionRow[]; total: number }> {
  const parts = pageParts(userId, filter, span)
  if (parts === null) return { rows: [], total: 0 }
  const result = await q.execute<TransactionRow & { total: string; type: TransactionType | null }>(sql`
    with ${parts.page}
    select ${parts.total} as total,
      page.type, page.ref_id as "refId", d.id as "invoiceId", d.series as "invoiceSeries", d.position as "invoicePosition",
      page.state, page.amount, page.subject_kind as "subjectKind",
      page.subject_id as "subjectId", page.subject_name as "subjectName", page.subject_facts as "subjectFacts",
      page.charge, page.rate, page.rate_seconds as "rateSeconds",
      page.carried_parts as "carriedParts", page.credits, ${couponPart} as coupon, page.cash, page.waived, page.owed,
      page.came_back as "cameBack", page.brand, page.last4, page.reason, page.failure, page.origin, extract(epoch from page.at) * 1000 as "atMs",
      extract(epoch from page.ended_at) * 1000 as "endedMs", w.currency, m.unit,
      case page.charge when 'once' then (select sum(c.quantity) from usage_meter c where c.interval_id = page.ref_id) end as counted,
      case page.type when 'usage' then ${usageKindSql(sql`page.subject_kind`, sql`m.sku`)} end as usage
    from wallet w
    left join page on true
    left join usage_meter m on page.type = 'usage' and m.interval_id = page.ref_id and m.position = 0
    left join invoice d on d.key = page.type || ':' || page.ref_id and page.type in ('topup', 'refund')
    where w.user_id = ${userId}
    order by page.at desc, page.ref_id desc`)
  // A page past the end still has one row, which carries the total alone.
  const rows = result.rows.filter((row): row is typeof row & { type: TransactionType } => row.type !== null)
  return { rows, total: Number(result.rows[0]?.total ?? 0) }
}

/** What of a row of the page came of coupons: of usage, what their lots paid; of credits, whether they are of one. */
const couponPart = sql`case page.type
  when 'usage' then (select sum(u.amount_micro) from credit_use u join credit_grant g on g.id = u.grant_id
    where u.interval_id = page.ref_id and g.kind = 'coupon')
  when 'credit' then (select page.amount from credit_grant g where g.kind = 'coupon'
    and (g.id = page.ref_id or g.id = (select e.grant_id from credit_end e where e.id = page.ref_id)))
  end`

/**
 * A row on the wire, signed for the customer: money in is positive.
 * @param now Where open usage is reckoned to.
 */
export function toTransaction(row: TransactionRow, now: Date): Transaction {
  const startedAt = new Date(Number(row.atMs))
  const isUsage = row.type === 'usage'
  const isInstance = row.subjectKind === 'instance'
  return transactionOf({
    ...row,
    ...amountsOf(row, now),
    id: transactionId(row.type, row.refId),
    date: startedAt,
    status: statusOf(row),
    invoice: row.invoiceId === null ? null : INVOICE_PREFIX + row.invoiceId,
    about: aboutOf({
      usage: row.usage,
      instanceId: isInstance ? row.subjectId : (row.subjectFacts?.instance_id ?? null),
      instanceName: isInstance ? row.subjectName : (row.subjectFacts?.instance_name ?? null),
      volumeName: isOfVolume(row) ? row.subjectName : null,
      imageName: row.subjectKind === 'image' ? row.subjectName : null,
      modelName: row.subjectKind === 'model_call' ? row.subjectName : null,
      gpuSpecName: row.subjectFacts?.gpu_spec_name ?? null,
      gpuCount: row.subjectFacts?.gpu_count ?? null,
      address: row.subjectKind === 'public_ip' ? row.subjectName : null,
      seconds: isUsage ? secondsOf(startedAt, endOf(row) ?? now) : null,
      rateMicroPerHour: isUsage && row.charge !== 'once' ? ratePerHour(row) : null,
      sentBytes: row.usage === 'traffic' ? Number(row.counted) : null,
      tokens: row.usage === 'model' && row.counted !== null ? Number(row.counted) : null,
      chargeCycle: cycleOf(row),
      card: row.brand === null ? null : { brand: row.brand, last4: row.last4 ?? '' },
      creditReason: row.type === 'credit' ? row.reason : null,
      refundReason: row.type === 'refund' ? (row.reason === 'dispute' ? 'dispute' : 'refund') : null,
      waitsFor: isOpenTopup(row.state) ? WAITS_FOR[row.state] : null,
      failure: row.failure,
      origin: row.origin,
    }),
  })
}

/** Whole seconds of an interval, never negative. */
export function secondsOf(startedAt: Date, endedAt: Date): number {
  return Math.max(0, Math.floor((endedAt.getTime() - startedAt.getTime()) / 1_000))
}

/** When usage ended; null while it goes on, and for everything else. */
export function endOf(row: TransactionRow): Date | null {
  return row.endedMs === null ? null : new Date(Number(row.endedMs))
}

/** What a stretch is reckoned from. */
export function chargeOf(row: TransactionRow) {
  return {
    charge: row.charge ?? 'by_time',
    rateMicro: BigInt(row.rate ?? 0),
    rateSeconds: row.rateSeconds ?? 1,
    carriedParts: BigInt(row.carriedParts ?? 0),
    startedAt: new Date(Number(row.atMs)),
    endedAt: endOf(row),
  } as const
}

/** What a stretch costs by the hour, in micro-units, rounded down where that is not whole. */
export function ratePerHour(row: TransactionRow): bigint {
  const { rateMicro, rateSeconds } = chargeOf(row)
  return (rateMicro * 3_600n) / BigInt(rateSeconds)
}

const isOfVolume = ({ subjectKind }: TransactionRow) =>
  subjectKind === 'network_volume' || subjectKind === 'volume_snapshot'

/** Of a term that was paid in advance, how long it was bought for; null of what was metered. */
function cycleOf({ charge, unit }: TransactionRow): ChargeCycle | null {
  if (charge !== 'term') return null
  return unit === 'week' || unit === 'gb_week' ? 'weekly' : 'monthly'
}

function statusOf({ state }: TransactionRow): Transaction['status'] {
  if (state === 'failed') return 'failed'
  return state === 'open' || isOpenTopup(state) ? 'pending' : 'settled'
}

/** Who is to act next on a top-up that is not decided. */
const WAITS_FOR = { created: 'platform', requires_action: 'customer', processing: 'bank' } as const

function isOpenTopup(state: TransactionRow['state']): state is keyof typeof WAITS_FOR {
  return state in WAITS_FOR
}

interface Amounts {
  amountMicro: bigint
  cashAmountMicro: bigint
  bonusAmountMicro: bigint
  couponAmountMicro: bigint
  pendingAmountMicro: bigint
}

function amountsOf(row: TransactionRow, now: Date): Amounts {
  const amount = BigInt(row.amount)
  const coupon = BigInt(row.coupon ?? 0)
  if (row.type === 'usage') {
    const stretch = { ...chargeOf(row), postedMicro: amount, waivedMicro: BigInt(row.waived ?? 0) }
    return {
      amountMicro: -amount,
      cashAmountMicro: -BigInt(row.cash ?? 0),
      bonusAmountMicro: coupon - BigInt(row.credits ?? 0),
      couponAmountMicro: -coupon,
      pendingAmountMicro: -unpostedMicro(stretch, now),
    }
  }
  if (row.type === 'refund') {
    const owed = BigInt(row.owed ?? 0)
    const given = amount - BigInt(row.cameBack ?? 0)
    return {
      amountMicro: -(row.state === 'failed' ? amount : given),
      cashAmountMicro: owed - given,
      bonusAmountMicro: 0n,
      couponAmountMicro: 0n,
      pendingAmountMicro: -owed,
    }
  }
  const settled = row.state === 'settled' ? amount : 0n
  return {
    amountMicro: amount,
    cashAmountMicro: row.type === 'topup' ? settled : 0n,
    bonusAmountMicro: row.type === 'credit' ? settled - coupon : 0n,
    couponAmountMicro: coupon,
    pendingAmountMicro: isOpenTopup(row.state) ? amount : 0n,
  }
}
