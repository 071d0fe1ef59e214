import { type SQL, sql } from 'drizzle-orm'
import type { Database } from '../../platform/database/database.ts'

/** One rule of the books: a query that gives a row of text for each place where it is broken. */
interface Rule {
  name: string
  broken: SQL
}

/** Problems of one rule that are told; the rest is only counted. */
const PROBLEMS_TOLD_MAX = 20

/** A usage entry counts against the customer, or for them where it gives back. */
const signedUsage = sql`case when from_account like 'user:%' then amount_micro else -amount_micro end`
/** A write-off entry counts as waived, or as taken back. */
const signedWaiver = sql`case when from_account like 'house:write\_off:%' then amount_micro else -amount_micro end`

const RULES: Rule[] = [
  {
    name: "a customer's balance is the sum of their transfers",
    broken: sql`
      select a.id || ': ' || a.balance_micro || ' in the row, ' || moved.sum || ' by its transfers' as problem
      from ledger_account a cross join lateral (
        select coalesce(sum(sum), 0) as sum from (
          select sum(amount_micro) from ledger_transfer where user_id = a.user_id and to_account = a.id
          union all
          select -sum(amount_micro) from ledger_transfer where user_id = a.user_id and from_account = a.id
        ) sides
      ) moved
      where a.user_id is not null and a.balance_micro <> moved.sum`,
  },
  {
    name: 'all accounts of a currency sum to zero',
    broken: sql`
      select currency || ': ' || sum(micro) as problem from (
        select currency, balance_micro as micro from ledger_account where user_id is not null
        union all
        select a.currency, t.amount_micro from ledger_transfer t
          join ledger_account a on a.id = t.to_account where a.user_id is null
        union all
        select a.currency, -t.amount_micro from ledger_transfer t
          join ledger_account a on a.id = t.from_account where a.user_id is null
      ) positions group by currency having sum(micro) <> 0`,
  },
  {
    name: "a transfer stays in one currency and touches nobody else's account",
    broken: sql`
      select t.key as problem from ledger_transfer t
        join ledger_account f on f.id = t.from_account join ledger_account o on o.id = t.to_account
      where f.currency <> o.currency or f.user_id <> t.user_id or o.user_id <> t.user_id`,
  },
  {
    name: 'a wallet has its two accounts in its currency',
    broken: sql`
      select w.user_id || ': ' || count(a.id) || ' accounts' as problem from wallet w
        left join ledger_account a on a.user_id = w.user_id and a.currency = w.currency
      group by w.user_id having count(a.id) <> 2`,
  },
  {
    name: 'what is set aside is there',
    broken: sql`
      select held.user_id || ': ' || held.micro || ' held of ' || coalesce(owned.micro, 0) as problem
      from (select user_id, sum(amount_micro - used_micro) as micro from wallet_hold
            where released_at is null group by user_id) held
      left join (select user_id, sum(balance_micro) as micro from ledger_account group by user_id) owned
        on owned.user_id = held.user_id
      where held.micro > coalesce(owned.micro, 0)`,
  },
  {
    name: "an interval's sums are those of its entries",
    broken: sql`
      select coalesce(i.id, t.ref_id) || ': posted ' || coalesce(i.posted_micro::text, 'without an interval')
        || ' and waived ' || coalesce(i.waived_micro, 0)
        || ', by its entries ' || coalesce(t.posted, 0) || ' and ' || coalesce(t.waived, 0) as problem
      from usage_interval i full join (
        select ref_id, user_id,
          coalesce(sum(${signedUsage}) filter (where kind = 'usage'), 0) as posted,
          coalesce(sum(${signedWaiver}) filter (where kind = 'write_off'), 0) as waived
        from ledger_transfer where kind in ('usage', 'write_off') group by ref_id, user_id
      ) t on t.ref_id = i.id and t.user_id = i.user_id
      where i.id is null or i.posted_micro <> coalesce(t.posted, 0) or i.waived_micro <> coalesce(t.waived, 0)`,
  },
  {
    name: 'an interval that ended was charged by the formula',
    broken: sql`
      select id || ': ' || posted_micro || ' + ' || waived_micro || ' is not ' || due as problem from (
        select id, posted_micro, waived_micro,
          div(floor(extract(epoch from ended_at - started_at)) * rate_micro_per_hour, 3600) as due
        from usage_interval where ended_at is not null
      ) ended where posted_micro + waived_micro <> due`,
  },
  {
    name: 'a settled top-up has its one entry, and no other has any',
    broken: sql`
      select coalesce(u.id, t.ref_id) || ': ' || coalesce(u.state, 'no such top-up') || ', '
        || coalesce(t.count, 0) || ' entries of ' || coalesce(t.micro, 0) as problem
      from topup u full join (
        select ref_id, user_id, count(*), sum(amount_micro) as micro
        from ledger_transfer where kind = 'topup' group by ref_id, user_id
      ) t on t.ref_id = u.id and t.user_id = u.user_id
      where u.id is null
        or coalesce(t.count, 0) <> case when u.state = 'settled' then 1 else 0 end
        or coalesce(t.micro, 0) <> case when u.state = 'settled' then u.amount_cents::bigint * 10000 else 0 end`,
  },
  {
    name: 'a finished top-up keeps nothing that could be charged again',
    broken: sql`select id || ': ' || state as problem from topup
      where (state = 'created') <> (source is not null) or (state = 'created') <> (finished_at is null)`,
  },
  {
    name: 'a credit has its one entry',
    broken: sql`
      select coalesce(c.id, t.ref_id) || ': ' || coalesce(t.count, 0) || ' entries of ' || coalesce(t.micro, 0)
        as problem
      from credit_grant c full join (
        select ref_id, user_id, count(*), sum(amount_micro) as micro
        from ledger_transfer where kind = 'credit' group by ref_id, user_id
      ) t on t.ref_id = c.id and t.user_id = c.user_id
      where c.id is null or coalesce(t.count, 0) <> 1 or t.micro <> c.amount_micro`,
  },
]

/**
 * Audits all books in one consistent snapshot, without keeping anybody from working.
 * @returns Problems as sentences for operators; none when the books balance (B2).
 */
export async function checkBooks(db: Database): Promise<string[]> {
  return await db.transaction(
    async tx => {
      const problems: string[] = []
      for (const { name, broken } of RULES) {
        const { rows } = await tx.execute<{ problem: string }>(broken)
        problems.push(...rows.slice(0, PROBLEMS_TOLD_MAX).map(({ problem }) => `${name}: ${problem}`))
        if (rows.length > PROBLEMS_TOLD_MAX) problems.push(`${name}: ${rows.length} times in all`)
      }
      return problems
    },
    { isolationLevel: 'repeatable read', accessMode: 'read only' },
  )
}
