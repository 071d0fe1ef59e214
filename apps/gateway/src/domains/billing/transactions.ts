import type { listTransactions, TRANSACTION_TYPES, Transaction } from '@berth/contract/billing'
import type { CallData } from '@berth/contract/call'
import type { Currency } from '@berth/contract/limits'
import { type SQL, sql } from 'drizzle-orm'
import type { Clock } from '../../platform/clock.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { customerAccounts } from './ledger.ts'
import { pendingMicro } from './metering.ts'

export type TransactionType = (typeof TRANSACTION_TYPES)[number]

/** Ids on the wire say what they are: `t_`, `u_` or `c_` before the row's id. */
const PREFIXES: Record<TransactionType, string> = { topup: 't_', usage: 'u_', credit: 'c_' }

const ID_PATTERN = /^([tuc]_)([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

/** One row of the list, before it is put on the wire. */
export type TransactionRow = {
  type: TransactionType
  ref_id: string
  at_ms: string
  currency: Currency
  state: 'created' | 'settled' | 'failed' | 'open' | 'closed'
  /** The top-up's or the grant's amount; what was posted of usage. */
  amount: string
  usage: 'compute' | 'disk' | null
  instance_id: string | null
  instance_name: string | null
  gpu_spec_name: string | null
  gpu_count: number | null
  rate: string | null
  ended_ms: string | null
  waived: string | null
  source: string | null
  failure: string | null
  /** What usage took from each account. */
  cash: string
  credits: string
}

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
  query: { page: number; page_size: number } & Pick<Filter, 'type' | 'search'>,
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
  const branches = Object.entries(selects(userId, filter))
    .filter(([type]) => filter.type === undefined || filter.type === type)
    .map(([, select]) => select)
  const { cash, credits } = customerAccounts(userId)
  const result = await q.execute<TransactionRow & { total: string; type: TransactionType | null }>(sql`
    with found (type, ref_id, at, state, amount, usage, instance_id, instance_name, gpu_spec_name, gpu_count,
      rate, ended_at, waived, source, failure) as (${sql.join(branches, sql` union all `)}),
    page as (select * from found order by at desc, ref_id desc limit ${limit} offset ${offset})
    select (select count(*) from found) as total,
      page.*, extract(epoch from page.at) * 1000 as at_ms, w.currency,
      extract(epoch from page.ended_at) * 1000 as ended_ms,
      coalesce(parts.cash, 0) as cash, coalesce(parts.credits, 0) as credits
    from wallet w
    left join page on true
    left join lateral (
      select
        sum(case ${cash} when l.from_account then l.amount_micro when l.to_account then -l.amount_micro end) as cash,
        sum(case ${credits} when l.from_account then l.amount_micro when l.to_account then -l.amount_micro end) as credits
      from ledger_transfer l where l.ref_id = page.ref_id and l.kind = 'usage'
    ) parts on page.type = 'usage'
    where w.user_id = ${userId}
    order by page.at desc, page.ref_id desc`)
  // A page past the end still has one row, which carries the total alone.
  const rows = result.rows.filter((row): row is typeof row & { type: TransactionType } => row.type !== null)
  return { rows, total: Number(result.rows[0]?.total ?? 0) }
}

/** The columns that only usage has, from `usage` to `waived`; typed, because each select may stand alone. */
const NO_USAGE = sql`null::text, null::text, null::text, null::text, null::int, null::bigint, null::timestamptz,
  null::bigint`

/** The three kinds of rows with the same columns. */
function selects(userId: string, { search, refId }: Filter): Record<TransactionType, SQL> {
  const one = refId === undefined ? sql`` : sql` and id = ${refId}`
  const matching = (...columns: string[]) => {
    if (!search) return sql``
    const pattern = `%${search.replaceAll(/[\\%_]/g, '\\$&')}%`
    const any = columns.map(column => sql`${sql.identifier(column)} ilike ${pattern}`)
    return sql` and (${sql.join(any, sql` or `)})`
  }
  return {
    topup: sql`
      select 'topup', id, created_at, state, amount_cents::bigint * 10000, ${NO_USAGE}, source_label, failure
      from topup where user_id = ${userId}${one}${matching('source_label')}`,
    usage: sql`
      select 'usage', id, started_at, case when ended_at is null then 'open' else 'closed' end, posted_micro,
        usage, instance_id, instance_name, gpu_spec_name, gpu_count, rate_micro_per_hour, ended_at, waived_micro,
        null, null
      from usage_interval where user_id = ${userId}${one}${matching('instance_name', 'instance_id')}`,
    credit: sql`
      select 'credit', id, created_at, 'settled', amount_micro, ${NO_USAGE}, reason, null
      from credit_grant where user_id = ${userId}${one}${matching('reason')}`,
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
      usage: row.usage,
      instance_id: row.instance_id,
      instance_name: row.instance_name,
      gpu_spec_name: row.gpu_spec_name,
      gpu_count: row.gpu_count,
      seconds: row.type === 'usage' ? secondsOf(startedAt, endOf(row) ?? now) : null,
      rate_micro_per_hour: row.rate,
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

function statusOf({ state }: TransactionRow): Transaction['status'] {
  if (state === 'failed') return 'failed'
  return state === 'created' || state === 'open' ? 'pending' : 'settled'
}

type Amounts = Pick<
  Transaction,
  'amount_micro' | 'cash_amount_micro' | 'bonus_amount_micro' | 'pending_amount_micro'
>

function amountsOf(row: TransactionRow, now: Date): Amounts {
  if (row.type === 'usage') {
    const pending = pendingMicro(
      {
        startedAt: new Date(Number(row.at_ms)),
        endedAt: endOf(row),
        rateMicroPerHour: BigInt(row.rate ?? 0),
        postedMicro: BigInt(row.amount),
        waivedMicro: BigInt(row.waived ?? 0),
      },
      now,
    )
    return {
      amount_micro: (-BigInt(row.amount)).toString(),
      cash_amount_micro: (-BigInt(row.cash)).toString(),
      bonus_amount_micro: (-BigInt(row.credits)).toString(),
      pending_amount_micro: (-pending).toString(),
    }
  }
  const settled = row.state === 'settled' ? row.amount : '0'
  return {
    amount_micro: row.amount,
    cash_amount_micro: row.type === 'topup' ? settled : '0',
    bonus_amount_micro: row.type === 'credit' ? settled : '0',
    pending_amount_micro: row.state === 'created' ? row.amount : '0',
  }
}
