import type { listTransactions, TRANSACTION_TYPES, Transaction } from '@berth/contract/billing'
import type { CallData } from '@berth/contract/call'
import type { Currency } from '@berth/contract/limits'
import { type SQL, sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Queryable } from '../../../platform/database/database.ts'
import { unpostedMicro } from '../meters/metering.ts'
import type { SubjectFacts } from '../meters/tables.ts'
import type { Subject } from '../subject.ts'

type TransactionType = (typeof TRANSACTION_TYPES)[number]

/** Ids on the wire say what they are: `t_`, `u_`, `c_` or `r_` before the row's id. */
const PREFIXES: Record<TransactionType, string> = { topup: 't_', usage: 'u_', credit: 'c_', refund: 'r_' }

const ID_PATTERN = /^([tucr]_)([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

/** One row of the list, before it is put on the wire. */
export type TransactionRow = {
  type: TransactionType
  ref_id: string
  at_ms: string
  currency: Currency
  state: 'pending' | 'settled' | 'failed' | 'open' | 'closed'
  /** The top-up's or the grant's amount; what was posted of usage. */
  amount: string
  /** These are set for usage alone. */
  subject_kind: Subject['kind'] | null
  subject_id: string | null
  subject_name: string | null
  subject_facts: SubjectFacts | null
  /** The main one of its meters. */
  sku: string | null
  charge: 'by_time' | 'term' | 'once' | null
  rate: string | null
  rate_seconds: number | null
  ended_ms: string | null
  credits: string | null
  cash: string | null
  waived: string | null
  /** What is still owed of a refund. */
  owed: string | null
  source: string | null
  failure: string | null
}

export type TransactionsQuery = { page: number; page_size: number } & Pick<Filter, 'type' | 'search'>

interface Filter {
  type?: TransactionType | undefined
  search?: string | undefined
  refId?: string | undefined
}

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
 * A page of a customer's transactions, newest first: top-ups whatever became of them, stretches of usage, credits.
 * @param query Page from 1; `search` looks in an instance's name and id, in cards and reasons.
 */
export async function listPage(
  q: Queryable,
  clock: Clock,
  userId: string,
  query: TransactionsQuery,
): Promise<CallData<typeof listTransactions>> {
  const { page, page_size } = query
  const { rows, total } = await readRows(q, userId, query, {
    limit: page_size,
    offset: (page - 1) * page_size,
  })
  const now = clock.now()
  return { items: rows.map(row => toTransaction(row, now)), total, page, page_size }
}

/**
 * Rows of a customer's transactions in one query, with the number that the filter finds in all.
 * @param filter Narrows by type, by what is searched for, or to one row.
 */
export async function readRows(
  q: Queryable,
  userId: string,
  filter: Filter,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ rows: TransactionRow[]; total: number }> {
  const branches = Object.entries(branchesOf(userId, filter))
    .filter(([type]) => filter.type === undefined || filter.type === type)
    .map(([, branch]) => branch)
  // Each kind gives as many rows as the page could need, from its index; only those are merged and sorted.
  const newest = branches.map(
    ({ columns, from, at }) =>
      sql`(select ${columns} ${from} order by ${at} desc, id desc limit ${limit + offset})`,
  )
  const counts = branches.map(({ from }) => sql`(select count(*) ${from})`)
  const result = await q.execute<TransactionRow & { total: string; type: TransactionType | null }>(sql`
    with page as (
      select * from (${sql.join(newest, sql` union all `)}) found (type, ref_id, at, state, amount, subject_kind,
        subject_id, subject_name, subject_facts, charge, rate, rate_seconds, ended_at, credits, cash, waived, owed, source,
        failure)
      order by at desc, ref_id desc limit ${limit} offset ${offset}
    )
    select ${sql.join(counts, sql` + `)} as total,
      page.*, extract(epoch from page.at) * 1000 as at_ms, w.currency, m.sku,
      extract(epoch from page.ended_at) * 1000 as ended_ms
    from wallet w
    left join page on true
    left join usage_meter m on page.type = 'usage' and m.interval_id = page.ref_id and m.position = 0
    where w.user_id = ${userId}
    order by page.at desc, page.ref_id desc`)
  // A page past the end still has one row, which carries the total alone.
  const rows = result.rows.filter((row): row is typeof row & { type: TransactionType } => row.type !== null)
  return { rows, total: Number(result.rows[0]?.total ?? 0) }
}

/** The columns that only usage has; typed, because each select may stand alone. */
const NO_USAGE = sql`null::text, null::text, null::text, null::jsonb, null::text, null::bigint, null::int,
  null::timestamptz, null::bigint, null::bigint, null::bigint`

interface Branch {
  columns: SQL
  from: SQL
  at: SQL
}

/** The four kinds of rows with the same columns. */
function branchesOf(userId: string, { search, refId }: Filter): Record<TransactionType, Branch> {
  const one = refId === undefined ? sql`` : sql` and id = ${refId}`
  const matching = (...columns: string[]) => {
    if (!search) return sql``
    const pattern = `%${search.replaceAll(/[\\%_]/g, '\\$&')}%`
    const any = columns.map(column => sql`${sql.identifier(column)} ilike ${pattern}`)
    return sql` and (${sql.join(any, sql` or `)})`
  }
  return {
    topup: {
      columns: sql`'topup', id, created_at,
        case when state in ('created', 'requires_action', 'processing') then 'pending'
          when state in ('failed', 'canceled') then 'failed' else 'settled' end,
        amount_cents::bigint * 10000, ${NO_USAGE}, null::bigint, source_label,
        case when state = 'canceled' then 'payment_canceled' else failure end`,
      from: sql`from payment_intent where user_id = ${userId}${one}${matching('source_label')}`,
      at: sql`created_at`,
    },
    usage: {
      columns: sql`'usage', id, started_at, case when ended_at is null then 'open' else 'closed' end, posted_micro,
        subject_kind, subject_id, subject_name, subject_facts, charge, rate_micro, rate_seconds, ended_at,
        credits_micro, cash_micro, waived_micro, null::bigint, null, null`,
      from: sql`from usage_interval where user_id = ${userId}${one}${matching('subject_name', 'subject_id')}`,
      at: sql`started_at`,
    },
    credit: {
      columns: sql`'credit', id, created_at, 'settled', amount_micro, ${NO_USAGE}, null::bigint, reason, null`,
      from: sql`from credit_grant where user_id = ${userId}${one}${matching('reason')}`,
      at: sql`created_at`,
    },
    refund: {
      columns: sql`'refund', id, created_at, 'settled', amount_cents::bigint * 10000, ${NO_USAGE},
        owed_micro - repaid_micro, source_label, null`,
      from: sql`from (
        select r.*, i.source_label from payment_refund r join payment_intent i on i.id = r.intent_id
      ) refunds where user_id = ${userId}${one}${matching('source_label')}`,
      at: sql`created_at`,
    },
  }
}

/**
 * A row on the wire, signed for the customer: money in is positive.
 * @param now Where open usage is reckoned to.
 */
export function toTransaction(row: TransactionRow, now: Date): Transaction {
  const startedAt = new Date(Number(row.at_ms))
  return {
    id: PREFIXES[row.type] + row.ref_id,
    date: startedAt.toISOString(),
    type: row.type,
    status: statusOf(row),
    currency: row.currency,
    ...amountsOf(row, now),
    coupon_amount_micro: '0',
    invoice: null,
    about: {
      usage: row.type === 'usage' ? usageOf(row) : null,
      instance_id: row.subject_kind === 'instance' ? row.subject_id : null,
      instance_name: row.subject_kind === 'instance' ? row.subject_name : null,
      gpu_spec_name: row.subject_facts?.gpu_spec_name ?? null,
      gpu_count: row.subject_facts?.gpu_count ?? null,
      seconds: row.type === 'usage' ? secondsOf(startedAt, endOf(row) ?? now) : null,
      rate_micro_per_hour: row.type === 'usage' ? ratePerHour(row).toString() : null,
      source: row.source || null,
      failure: row.failure,
    },
  }
}

/** Whole seconds of an interval, never negative. */
export function secondsOf(startedAt: Date, endedAt: Date): number {
  return Math.max(0, Math.floor((endedAt.getTime() - startedAt.getTime()) / 1_000))
}

/** When usage ended; null while it goes on, and for everything else. */
export function endOf(row: TransactionRow): Date | null {
  return row.ended_ms === null ? null : new Date(Number(row.ended_ms))
}

/** What a stretch is reckoned from. */
export function chargeOf(row: TransactionRow) {
  return {
    charge: row.charge ?? 'by_time',
    rateMicro: BigInt(row.rate ?? 0),
    rateSeconds: row.rate_seconds ?? 1,
    startedAt: new Date(Number(row.at_ms)),
    endedAt: endOf(row),
  } as const
}

/** What a stretch costs by the hour, in micro-units, rounded down where that is not whole. */
export function ratePerHour(row: TransactionRow): bigint {
  const { rateMicro, rateSeconds } = chargeOf(row)
  return (rateMicro * 3_600n) / BigInt(rateSeconds)
}

/** Whether a stretch is that of a machine, or of the disk that it keeps while it is off. */
function usageOf({ sku }: TransactionRow): 'compute' | 'disk' {
  return sku?.startsWith('disk.') ? 'disk' : 'compute'
}

function statusOf({ state }: TransactionRow): Transaction['status'] {
  if (state === 'failed') return 'failed'
  return state === 'pending' || state === 'open' ? 'pending' : 'settled'
}

type Amounts = Pick<
  Transaction,
  'amount_micro' | 'cash_amount_micro' | 'bonus_amount_micro' | 'pending_amount_micro'
>

function amountsOf(row: TransactionRow, now: Date): Amounts {
  if (row.type === 'usage') {
    const pending = unpostedMicro(
      { ...chargeOf(row), postedMicro: BigInt(row.amount), waivedMicro: BigInt(row.waived ?? 0) },
      now,
    )
    return {
      amount_micro: (-BigInt(row.amount)).toString(),
      cash_amount_micro: (-BigInt(row.cash ?? 0)).toString(),
      bonus_amount_micro: (-BigInt(row.credits ?? 0)).toString(),
      pending_amount_micro: (-pending).toString(),
    }
  }
  if (row.type === 'refund') {
    const owed = BigInt(row.owed ?? 0)
    return {
      amount_micro: (-BigInt(row.amount)).toString(),
      cash_amount_micro: (owed - BigInt(row.amount)).toString(),
      bonus_amount_micro: '0',
      pending_amount_micro: (-owed).toString(),
    }
  }
  const settled = row.state === 'settled' ? row.amount : '0'
  return {
    amount_micro: row.amount,
    cash_amount_micro: row.type === 'topup' ? settled : '0',
    bonus_amount_micro: row.type === 'credit' ? settled : '0',
    pending_amount_micro: row.state === 'pending' ? row.amount : '0',
  }
}
