import { type SQL, sql } from 'drizzle-orm'
import { conditionOf, KINDS, type TransactionFilter, type TransactionType } from './transaction-filter.ts'

/** The reason of a row that says what of credits ended unused. */
const ENDED_REASON = 'ended'

/** Where a row of the list is: its moment in milliseconds, and its own id. */
interface Place {
  atMs: string
  refId: string
}

/**
 * The part of a query that finds a page of transactions: CTEs up to `page`, and an expression for the number of all rows.
 * @param span How many rows; from which on, by number or after one of them, and then none are counted; where open usage is
 *   reckoned to.
 * @returns Null where the filter lets nothing through.
 */
export function pageParts(
  userId: string,
  filter: TransactionFilter,
  span: { limit: number; now: Date; offset?: number; after?: Place | null },
): { page: SQL; total: SQL } | null {
  const { limit, now, offset = 0, after } = span
  const branches = branchesOf(userId, filter, now)
  if (branches.length === 0) return null
  const isSearch = (filter.search?.trim() ?? '') !== ''
  return isSearch && after === undefined
    ? searchedPage(branches, { limit, offset })
    : newestPage(branches, { limit, offset, after })
}

const COLUMNS = sql`found (type, ref_id, at, state, amount, subject_kind, subject_id, subject_name, subject_facts, charge,
  rate, rate_seconds, carried_parts, ended_at, credits, cash, waived, owed, came_back, brand, last4, reason, failure, origin)`

/** The CTE `page` and the number of all rows, where an index has what the filter lets through in its order. */
function newestPage(
  branches: Branch[],
  { limit, offset, after }: { limit: number; offset: number; after: Place | null | undefined },
): { page: SQL; total: SQL } {
  // Each kind gives as many rows as the page could need, from its index; only those are merged and sorted.
  const newest = branches.map(({ columns, from, at }) => {
    const older = after
      ? sql` and (${at}, id) < (${new Date(Number(after.atMs)).toISOString()}::timestamptz, ${after.refId}::uuid)`
      : sql``
    return sql`(select ${columns} ${from}${older} order by ${at} desc, id desc limit ${limit + offset})`
  })
  const counts = after === undefined ? branches.map(({ from }) => sql`(select count(*) ${from})`) : [sql`0`]
  return {
    page: sql`page as (
      select * from (${sql.join(newest, sql` union all `)}) ${COLUMNS}
      order by at desc, ref_id desc limit ${limit} offset ${offset}
    )`,
    total: sql.join(counts, sql` + `),
  }
}

/**
 * The same where each row must be looked at to know whether it is meant, and few may be: they are looked at once, for the
 * page and for the number.
 */
function searchedPage(
  branches: Branch[],
  { limit, offset }: { limit: number; offset: number },
): { page: SQL; total: SQL } {
  const meant = branches.map(({ type, from, at }) => sql`select ${type}::text, id, ${at} ${from}`)
  const rows = branches.map(
    ({ type, columns, table }) => sql`(
      select ${columns} from ${table} where id = any(array(select place.id from place where place.type = ${type})))`,
  )
  return {
    page: sql`meant (type, id, at) as materialized (${sql.join(meant, sql` union all `)}),
    place as materialized (
      select type, id from meant order by at desc, id desc limit ${limit} offset ${offset}
    ),
    page as (select * from (${sql.join(rows, sql` union all `)}) ${COLUMNS})`,
    total: sql`(select count(*) from meant)`,
  }
}

/** The columns that only usage has; typed, because each select may stand alone. */
const NO_USAGE = sql`null::text, null::text, null::text, null::jsonb, null::text, null::bigint, null::int,
  null::bigint, null::timestamptz, null::bigint, null::bigint, null::bigint`

interface Branch {
  type: TransactionType
  columns: SQL
  table: SQL
  from: SQL
  at: SQL
}

/** The kinds of rows that a filter lets through, with the same columns. */
function branchesOf(userId: string, filter: TransactionFilter, now: Date): Branch[] {
  return (Object.keys(KINDS) as TransactionType[]).flatMap(type => {
    const which = conditionOf(type, userId, filter, now)
    const { columns, table } = SOURCES[type]
    return which === null
      ? []
      : [{ type, columns, table, from: sql`from ${table} where ${which}`, at: KINDS[type].at }]
  })
}

/** Where the rows of each kind are, and their columns. */
const SOURCES: Record<TransactionType, { columns: SQL; table: SQL }> = {
  topup: {
    columns: sql`'topup', id, created_at,
      case when state in ('created', 'requires_action', 'processing') then state
        when state in ('failed', 'canceled') then 'failed' else 'settled' end,
      amount_cents::bigint * 10000, ${NO_USAGE}, null::bigint, null::bigint, source_brand, source_last4, null,
      case when state = 'canceled' then 'payment_canceled' else failure end, origin`,
    table: sql`payment_intent`,
  },
  usage: {
    columns: sql`'usage', id, started_at, case when ended_at is null then 'open' else 'closed' end, posted_micro,
      subject_kind, subject_id, subject_name, subject_facts, charge, rate_micro, rate_seconds, carried_parts,
      ended_at, credits_micro, cash_micro, waived_micro, null::bigint, null::bigint, null, null, null, null, null`,
    table: sql`usage_interval i`,
  },
  credit: {
    columns: sql`'credit', id, created_at, 'settled', amount_micro,
      case when instance_id is not null then 'instance' end, instance_id, instance_name, null::jsonb, null::text,
      null::bigint, null::int, null::bigint, outage_ended_at, null::bigint, null::bigint, null::bigint,
      null::bigint, null::bigint, null, null, reason, null, null`,
    // What of credits ended unused is a row as well, so that the list adds up to the balance.
    table: sql`(
      select g.id, g.user_id, g.created_at, g.amount_micro, g.reason, o.instance_id, o.instance_name,
        o.ended_at as outage_ended_at
      from credit_grant g left join outage_credit o on o.grant_id = g.id
      union all
      select e.id, e.user_id, e.created_at, -e.amount_micro, ${ENDED_REASON}, null, null, null from credit_end e
    ) credits`,
  },
  refund: {
    columns: sql`'refund', id, created_at, case when failed_cents < amount_cents then 'settled' else 'failed' end,
      amount_cents::bigint * 10000, ${NO_USAGE}, owed_micro - repaid_micro, failed_cents::bigint * 10000, source_brand,
      source_last4, reason, null, null`,
    table: sql`(
      select r.*, i.source_brand, i.source_last4, i.platform_name
      from payment_refund r join payment_intent i on i.id = r.intent_id
    ) refunds`,
  },
}
