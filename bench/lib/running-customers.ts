/** Whatever runs a statement. */
interface Statements {
  query(statement: string | { text: string; query_timeout: number }): Promise<unknown>
}

/** So many run for each customer. */
const SUBJECTS_EACH = 10
const FILL_MS = 300_000

/** Removes all customers' books of a database that is only for this. */
export async function emptyBooks(pool: Statements): Promise<void> {
  await each(pool, [
    `alter table ledger_transfer disable trigger user`,
    `alter table invoice disable trigger user`,
    `truncate ledger_transfer, usage_day, usage_total, usage_meter, usage_interval, payment_intent, invoice, invoice_series, wallet,
      ledger_account cascade`,
    `alter table ledger_transfer enable trigger user`,
    `alter table invoice enable trigger user`,
  ])
}

/**
 * Adds customers with money, who have paid for all of it, and subjects that run for them.
 * @param options.subjects Of all of them, ten each.
 * @param options.began When all of it began; nothing is posted since.
 */
export async function fillBooks(pool: Statements, options: { subjects: number; began: Date }): Promise<void> {
  const began = `'${options.began.toISOString()}'::timestamptz`
  await each(pool, [
    `create table bench_customer as
      select gen_random_uuid() as user_id from generate_series(1, ${options.subjects / SUBJECTS_EACH})`,
    `insert into ledger_account (id, kind, currency) values ('house:revenue:USD', 'revenue', 'USD'),
      ('house:clearing:testcard:USD', 'clearing', 'USD') on conflict do nothing`,
    `insert into wallet (user_id, currency, created_at) select user_id, 'USD', ${began} from bench_customer`,
    `insert into ledger_account (id, kind, user_id, currency, balance_micro)
      select 'user:' || user_id || ':cash', 'cash', user_id, 'USD', 1000000000 from bench_customer
      union all select 'user:' || user_id || ':credits', 'credits', user_id, 'USD', 0 from bench_customer`,
    `insert into payment_intent (id, user_id, amount_cents, currency, platform_name, source_brand, source_last4, state,
        created_at, finished_at)
      select user_id, user_id, 100000, 'USD', 'testcard', 'Visa', '4242', 'succeeded', ${began}, ${began}
      from bench_customer`,
    `insert into invoice_series select '2026-USD', count(*) from bench_customer`,
    `insert into invoice (id, key, user_id, kind, ref_id, series, position, currency, amount_cents, page, issued_at)
      select gen_random_uuid(), 'topup:' || user_id, user_id, 'topup', user_id, '2026-USD',
        row_number() over (order by user_id), 'USD', 100000, '{"lines": [{"amount": 100000}]}', ${began}
      from bench_customer`,
    `insert into ledger_transfer (id, key, from_account, to_account, amount_micro, kind, ref_id, user_id, created_at)
      select gen_random_uuid(), 'topup:' || user_id, 'house:clearing:testcard:USD', 'user:' || user_id || ':cash',
        1000000000, 'topup', user_id, user_id, ${began} from bench_customer`,
    `insert into usage_interval (id, user_id, subject_kind, subject_id, subject_name, charge, stops_when_empty,
        rate_micro, rate_seconds, started_at, credits_micro, cash_micro, waived_micro, posted_until)
      select gen_random_uuid(), user_id, 'instance', 'i-' || user_id || '-' || n, 'bench', 'by_time', true, 420000, 3600,
        ${began}, 0, 0, 0, ${began}
      from bench_customer, generate_series(1, ${SUBJECTS_EACH}) n`,
    `insert into usage_meter select i.id, 0, 'compute.rtx-4090', 'RTX 4090', 'hour', 1, i.rate_micro
      from usage_interval i join bench_customer using (user_id)`,
    `drop table bench_customer`,
    // As the server itself does after a while.
    `vacuum analyze`,
  ])
}

async function each(pool: Statements, statements: readonly string[]): Promise<void> {
  await pool.query('set statement_timeout = 0')
  for (const text of statements) {
    const query = { text, query_timeout: FILL_MS }
    await pool.query(query)
  }
}
