import { type SQL, sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { allowLonger } from '../../../platform/database/open-database.ts'
import { CREDIT_RULES } from '../credits/check-credits.ts'
import { dueSql } from '../meters/unposted.ts'
import { usageKindSql } from '../meters/usage-kinds.ts'
import { ASIDE_RULE } from '../payments/aside-rule.ts'
import type { Rule } from './book-rule.ts'
import { EARNING_RULES } from './check-earnings.ts'

/** Problems of one rule that are told; the rest is only counted. */
const PROBLEMS_TOLD_MAX = 20
/** One rule reads all of the books; what takes longer is not worth a snapshot that is kept for so long. */
const RULE_MS_MAX = 120_000

/** A usage entry counts against the customer, or for them where it gives back. */
const signedUsage = sql`case when from_account like 'user:%' then amount_micro else -amount_micro end`
/** A write-off entry counts as waived, or as taken back. */
const signedWaiver = sql`case when from_account like 'house:write\_off:%' then amount_micro else -amount_micro end`
/** A refund's entry counts as given back, or as come back. */
const signedRefund = sql`case when to_account like 'house:clearing:%' then amount_micro else -amount_micro end`

/** States of a payment, as in `payments/intent-states.ts`. */
const paid = sql`'succeeded', 'partly_refunded', 'refunded'`
const open = sql`'created', 'requires_action', 'processing'`

const RULES: Rule[] = [
  {
    name: "a customer's balance is the sum of their transfers",
    broken: sql`
      select a.id || ': ' || a.balance_micro || ' in the row, ' || coalesce(moved.micro, 0) || ' by its transfers' as problem
      from ledger_account a left join (
        -- Each transfer is read twice in all, and not once for each account of its customer.
        select account, sum(micro) as micro from (
          select to_account as account, amount_micro as micro from ledger_transfer
          union all
          select from_account, -amount_micro from ledger_transfer
        ) sides group by account
      ) moved on moved.account = a.id
      where a.user_id is not null and a.balance_micro <> coalesce(moved.micro, 0)`,
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
      left join (
        -- What is for models alone covers nothing that is set aside.
        select user_id, sum(micro) as micro from (
          select user_id, balance_micro as micro from ledger_account where user_id is not null
          union all select user_id, -rest_micro from credit_grant where models_only
        ) parts group by user_id
      ) owned on owned.user_id = held.user_id
      where held.micro > coalesce(owned.micro, 0)`,
  },
  {
    name: 'what is set aside for one is held by its owner',
    broken: sql`
      select h.subject_kind || ' ' || h.subject_id as problem from wallet_hold h
        join usage_interval i on i.subject_kind = h.subject_kind and i.subject_id = h.subject_id
      where h.released_at is null and i.ended_at is null and i.user_id <> h.user_id`,
  },
  {
    name: "a stretch's sums are those of its entries, by source",
    broken: sql`
      select coalesce(i.id, t.ref_id) || ': ' || coalesce(i.credits_micro::text, 'without a stretch') || ' of credits, '
        || coalesce(i.cash_micro, 0) || ' of cash and ' || coalesce(i.waived_micro, 0) || ' waived, by its entries '
        || coalesce(t.credits, 0) || ', ' || coalesce(t.cash, 0) || ' and ' || coalesce(t.waived, 0) as problem
      from usage_interval i full join (
        select ref_id, user_id,
          coalesce(sum(${signedUsage}) filter (where kind = 'usage'
            and (from_account like 'user:%:credits' or to_account like 'user:%:credits')), 0) as credits,
          coalesce(sum(${signedUsage}) filter (where kind = 'usage'
            and (from_account like 'user:%:cash' or to_account like 'user:%:cash')), 0) as cash,
          coalesce(sum(${signedUsage}) filter (where kind = 'usage'), 0) as posted,
          coalesce(sum(${signedWaiver}) filter (where kind = 'write_off'), 0) as waived
        from ledger_transfer where kind in ('usage', 'write_off') group by ref_id, user_id
      ) t on t.ref_id = i.id and t.user_id = i.user_id
      where i.id is null or i.credits_micro <> coalesce(t.credits, 0) or i.cash_micro <> coalesce(t.cash, 0)
        or i.waived_micro <> coalesce(t.waived, 0) or i.posted_micro <> coalesce(t.posted, 0)`,
  },
  {
    name: "a stretch's sums by day are those of its entries",
    broken: sql`
      select coalesce(d.interval_id, t.interval_id) || ' on ' || coalesce(d.day, t.day) || ': '
        || coalesce(d.amount_micro, 0) || ' by the day, ' || coalesce(t.micro, 0) || ' by its entries' as problem
      from usage_day d full join (
        select ref_id as interval_id, user_id, (created_at at time zone 'UTC')::date as day,
          case when kind = 'write_off' then 'write_off'
            when from_account like '%:credits' or to_account like '%:credits' then 'credits' else 'cash' end as part,
          from_account like 'house:revenue:%' as back, count(*) as entries, sum(amount_micro) as micro
        from ledger_transfer where kind in ('usage', 'write_off') group by 1, 2, 3, 4, 5
      ) t on t.interval_id = d.interval_id and t.user_id = d.user_id and t.day = d.day and t.part = d.part
        and t.back = d.back
      where d.amount_micro is distinct from t.micro or d.entries is distinct from t.entries`,
  },
  {
    name: "a customer's totals by day and kind of usage are those of their stretches",
    broken: sql`
      select coalesce(s.user_id, d.user_id) || ' on ' || coalesce(s.day, d.day) || ', ' || coalesce(s.usage, d.usage) || ': '
        || coalesce(s.cash_micro::text, 'without totals, 0') || ' of cash, ' || coalesce(s.credits_micro, 0) || ' of credits and '
        || coalesce(s.waived_micro, 0) || ' waived, by its stretches ' || coalesce(d.cash, 0) || ', '
        || coalesce(d.credits, 0) || ' and ' || coalesce(d.waived, 0) as problem
      from usage_total s full join (
        select user_id, day, usage, coalesce(sum(micro) filter (where part = 'cash'), 0) as cash,
          coalesce(sum(micro) filter (where part = 'credits'), 0) as credits,
          coalesce(sum(micro) filter (where part = 'write_off'), 0) as waived
        from (
          select u.user_id, u.day, u.part, case when u.back then -u.amount_micro else u.amount_micro end as micro,
            ${usageKindSql(sql`i.subject_kind`, sql`m.sku`)} as usage
          from usage_day u join usage_interval i on i.id = u.interval_id
            left join usage_meter m on m.interval_id = u.interval_id and m.position = 0
        ) parts group by user_id, day, usage
      ) d on d.user_id = s.user_id and d.day = s.day and d.usage = s.usage
      where s.cash_micro is distinct from d.cash or s.credits_micro is distinct from d.credits
        or s.waived_micro is distinct from d.waived`,
  },
  {
    name: 'a stretch was charged by the formula up to where it is posted',
    broken: sql`
      select id || ': ' || posted_micro || ' + ' || waived_micro || ' is not ' || due as problem from (
        select i.id, i.posted_micro, i.waived_micro, ${dueSql(sql`i.posted_until`)} as due from usage_interval i
        -- What a stretch begins with is due from its start, and posted with the rest of it.
        where i.ended_at is not null or i.posted_until > i.started_at
      ) charged where posted_micro + waived_micro <> due`,
  },
  {
    name: 'what stretches leave over is what later ones begin with, and what the wallet keeps for the next',
    broken: sql`
      select w.user_id || ': ' || w.rest_parts || ' kept, ' || coalesce(parts.left_over, 0) || ' left over' as problem
      from wallet w left join (
        select user_id, sum(rest_parts) - sum(carried_parts) as left_over from usage_interval group by user_id
      ) parts on parts.user_id = w.user_id
      where w.rest_parts <> coalesce(parts.left_over, 0)`,
  },
  {
    name: "a stretch's rate is that of its meters",
    broken: sql`
      select i.id || ': ' || i.rate_micro || ' in ' || i.rate_seconds || ' s' as problem
      from usage_interval i left join usage_meter m on m.interval_id = i.id
      where i.charge = 'by_time' group by i.id
      having i.rate_micro * 86400 <> i.rate_seconds * coalesce(sum(m.quantity * m.rate_micro * 86400
        / case m.unit when 'gb_day' then 86400 else 3600 end), 0)`,
  },
  {
    name: 'no time is paid for twice in advance',
    broken: sql`
      select i.subject_kind || ' ' || i.subject_id || ' from ' || later.started_at as problem
      from usage_interval i join usage_interval later on later.subject_kind = i.subject_kind
        and later.subject_id = i.subject_id and later.id <> i.id and later.charge = 'term'
        and later.ended_at > later.started_at
      where i.charge = 'term' and i.started_at <= later.started_at and later.started_at < i.ended_at`,
  },
  {
    name: 'a payment that succeeded has its one entry, and no other has any',
    broken: sql`
      select coalesce(u.id, t.ref_id) || ': ' || coalesce(u.state, 'no such payment') || ', '
        || coalesce(t.count, 0) || ' entries of ' || coalesce(t.micro, 0) as problem
      from payment_intent u full join (
        select ref_id, user_id, count(*), sum(amount_micro) as micro
        from ledger_transfer where kind = 'topup' group by ref_id, user_id
      ) t on t.ref_id = u.id and t.user_id = u.user_id
      where u.id is null
        or coalesce(t.count, 0) <> case when u.state in (${paid}) then 1 else 0 end
        or coalesce(t.micro, 0) <> case when u.state in (${paid}) then u.amount_cents::bigint * 10000 else 0 end`,
  },
  {
    name: 'a payment that is decided keeps nothing that could be charged again',
    broken: sql`select id || ': ' || state as problem from payment_intent
      where (state in (${open})) <> (source is not null) or (state in (${open})) <> (finished_at is null)
        or (state in (${open})) <> (look_at is not null)`,
  },
  {
    name: 'a payment has the refunds that it says',
    broken: sql`
      select u.id || ': ' || u.state || ', ' || u.refunded_cents || ' by the row, of which '
        || u.refunds_failed_cents || ' failed, ' || coalesce(r.cents, 0) || ' by its refunds, of which '
        || coalesce(r.failed, 0) || ' failed' as problem
      from (
        select *, refunded_cents - refunds_failed_cents as back_cents from payment_intent
      ) u left join (
        select intent_id, user_id, sum(amount_cents) as cents, sum(failed_cents) as failed
        from payment_refund where reason = 'refund' group by intent_id, user_id
      ) r on r.intent_id = u.id
      where u.refunded_cents <> coalesce(r.cents, 0) or u.refunds_failed_cents <> coalesce(r.failed, 0)
        or r.user_id <> u.user_id
        or u.state in (${paid}) and u.refunded_cents <> u.refunds_told_cents
        or u.state in (${paid}) and u.refunds_failed_cents <> u.refunds_failed_told_cents
        or (u.state = 'refunded') <> (u.back_cents = u.amount_cents)
        or (u.state = 'partly_refunded') <> (u.back_cents > 0 and u.back_cents < u.amount_cents)`,
  },
  {
    name: 'a payment has the disputes that it says',
    broken: sql`
      select u.id || ': ' || u.disputed_cents || ' by the row, of which ' || u.disputes_won_cents || ' won, '
        || coalesce(r.cents, 0) || ' by its disputes, of which ' || coalesce(r.won, 0) || ' won' as problem
      from payment_intent u left join (
        select intent_id, user_id, sum(amount_cents) as cents, sum(failed_cents) as won
        from payment_refund where reason = 'dispute' group by intent_id, user_id
      ) r on r.intent_id = u.id
      where u.disputed_cents <> coalesce(r.cents, 0) or u.disputes_won_cents <> coalesce(r.won, 0)
        or r.user_id <> u.user_id
        or u.state in (${paid}) and u.disputed_cents <> u.disputes_told_cents
        or u.state in (${paid}) and u.disputes_won_cents <> u.disputes_won_told_cents`,
  },
  {
    name: "a refund's sums are those of its entries",
    broken: sql`
      select coalesce(r.id, t.ref_id) || ': ' || coalesce((r.amount_cents - r.failed_cents)::text, 'no such refund') || ', '
        || coalesce(t.given, 0) || ' given back, ' || coalesce(t.owed, 0) || ' owed, '
        || coalesce(t.repaid, 0) || ' repaid by its entries' as problem
      from payment_refund r full join (
        select ref_id, user_id,
          coalesce(sum(${signedRefund}) filter (where kind = 'refund'), 0) as given,
          coalesce(sum(${signedRefund}) filter (where kind = 'refund'
            and (from_account like 'house:receivable:%' or to_account like 'house:receivable:%')), 0) as owed,
          coalesce(sum(amount_micro) filter (where kind = 'repay'), 0) as repaid
        from ledger_transfer where kind in ('refund', 'repay') group by ref_id, user_id
      ) t on t.ref_id = r.id and t.user_id = r.user_id
      where r.id is null or (r.amount_cents - r.failed_cents)::bigint * 10000 <> coalesce(t.given, 0)
        or r.owed_micro <> coalesce(t.owed, 0) or r.repaid_micro <> coalesce(t.repaid, 0)`,
  },
  {
    name: 'each settled top-up has its invoice, and the sums agree',
    broken: sql`
      select coalesce(u.id, n.ref_id) || ': ' || coalesce(u.amount_cents, 0) || ' paid, '
        || coalesce(n.amount_cents, 0) || ' on its invoice' as problem
      from (select * from payment_intent where state in (${paid})) u
        full join (select * from invoice where kind = 'topup') n on n.ref_id = u.id and n.user_id = u.user_id
      where u.id is null or n.id is null or n.amount_cents <> u.amount_cents or n.currency <> u.currency`,
  },
  {
    name: 'each refund has its credit note, and the sums agree',
    broken: sql`
      select coalesce(r.id, n.ref_id) || ': ' || coalesce(r.amount_cents, 0) || ' given back, of which '
        || coalesce(r.failed_cents, 0) || ' failed, ' || coalesce(n.noted, 0) || ' and ' || coalesce(n.reversed, 0)
        || ' by its documents' as problem
      from (select * from payment_refund where reason = 'refund') r full join (
        select ref_id, user_id, count(*) filter (where kind = 'refund') as notes,
          -coalesce(sum(amount_cents) filter (where kind = 'refund'), 0) as noted,
          coalesce(sum(amount_cents) filter (where kind = 'refund_failed'), 0) as reversed
        from invoice where kind in ('refund', 'refund_failed') group by ref_id, user_id
      ) n on n.ref_id = r.id and n.user_id = r.user_id
      where r.id is null or n.ref_id is null or n.notes <> 1 or n.noted <> r.amount_cents
        or n.reversed <> r.failed_cents`,
  },
  {
    name: "months' invoices add up to what was used",
    broken: sql`
      select user_id || ' in ' || month || ': ' || amount_cents || ' for ' || from_micro || ' to ' || to_micro
        || ', before it ' || before || ', used ' || used as problem
      from (
        select n.user_id, n.month, n.amount_cents, n.from_micro, n.to_micro,
          lag(n.to_micro, 1, 0::bigint) over (partition by n.user_id order by n.month) as before,
          (select coalesce(sum(case when d.back then -d.amount_micro else d.amount_micro end), 0) from usage_day d
            where d.user_id = n.user_id and d.part <> 'write_off' and d.day < n.month + interval '1 month') as used
        from invoice n where n.kind = 'usage'
      ) months
      where from_micro <> before or to_micro <> used
        or amount_cents <> floor(to_micro / 10000.0) - floor(from_micro / 10000.0)`,
  },
  {
    name: 'numbers of invoices have no gap',
    broken: sql`
      select s.series || ': ' || s.last || ' given, ' || count(n.id) || ' there, the highest ' || coalesce(max(n.position), 0)
        as problem
      from invoice_series s left join invoice n on n.series = s.series
      group by s.series, s.last having count(n.id) <> s.last or coalesce(max(n.position), 0) <> s.last`,
  },
  {
    name: "a document's lines add up to its amount",
    broken: sql`
      select n.id || ': ' || n.amount_cents || ', by its lines ' || l.cents as problem from invoice n
        cross join lateral (select coalesce(sum((line->>'amount')::int), 0) as cents
          from jsonb_array_elements(n.page->'lines') line) l
      where l.cents <> n.amount_cents`,
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
  ...CREDIT_RULES,
  ...EARNING_RULES,
  ASIDE_RULE,
]

/**
 * Audits all books in one consistent snapshot, without keeping anybody from working. It is bounded in time and in what it
 * reads, and ends at once when it is told to: a snapshot that is kept for long keeps the database from tidying up.
 * @param signal Ends it: the query under way is cancelled.
 * @returns Problems as sentences for operators, with both sides of what differs; none when the books balance (B2).
 * @throws Whatever `signal` was aborted with, and an error where a rule takes too long.
 */
export async function checkBooks(
  { db, clock }: { db: Database; clock: Clock },
  signal?: AbortSignal,
): Promise<string[]> {
  return await db.transaction(
    async tx => {
      await allowLonger(tx, RULE_MS_MAX)
      const problems: string[] = []
      await cancelledBy(db, tx, signal, async () => {
        for (const { name, broken } of RULES) {
          signal?.throwIfAborted()
          const query = typeof broken === 'function' ? broken(clock.now()) : broken
          problems.push(...(await problemsOf(tx, name, query)))
        }
      })
      return problems
    },
    { isolationLevel: 'repeatable read', accessMode: 'read only' },
  )
}

async function problemsOf(tx: Transaction, name: string, broken: SQL): Promise<string[]> {
  const { rows } = await tx.execute<{ problem: string; all: number }>(sql`
    select problem, count(*) over ()::int as all from (${broken}
    ) broken limit ${PROBLEMS_TOLD_MAX}`)
  const told = rows.map(({ problem }) => `${name}: ${problem}`)
  const all = rows[0]?.all ?? 0
  return all > told.length ? [...told, `${name}: ${all} times in all`] : told
}

/** Has the query that a transaction is at cancelled when a signal says so, and never one of later. */
async function cancelledBy(
  db: Database,
  tx: Transaction,
  signal: AbortSignal | undefined,
  run: () => Promise<void>,
): Promise<void> {
  if (!signal) return await run()
  const { rows } = await tx.execute<{ pid: number }>(sql`select pg_backend_pid() as pid`)
  let cancelling: Promise<unknown> = Promise.resolve()
  const cancel = () => {
    // Where the database is away, nothing runs that could be cancelled.
    cancelling = db.execute(sql`select pg_cancel_backend(${rows[0]?.pid ?? 0})`).catch(() => undefined)
  }
  signal.addEventListener('abort', cancel, { once: true })
  try {
    await run()
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    signal.removeEventListener('abort', cancel)
    // The connection goes to somebody else then, who must not be met by it.
    await cancelling
  }
}
