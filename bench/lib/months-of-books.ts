import type { OpenDatabase } from '../../apps/gateway/src/platform/database/open-database.ts'

const MACHINES = 20
const FILL_MS = 300_000

/**
 * Gives the demo customer the books of that many months, in place of what there was: the first machine runs all the
 * time, the others for 16 hours of each day and are off for 8; all is posted by the hour, and a week is paid in advance.
 * Since the last midnight of UTC all of them run; what that costs is left for the gateway to post.
 */
export async function fillMonths(pool: OpenDatabase['pool'], months: number): Promise<void> {
  const days = Math.round((months * 365) / 12)
  const user = '(select user_id from wallet limit 1)'
  const today = `date_trunc('day', now() at time zone 'UTC') at time zone 'UTC'`
  const first = `${today} - make_interval(days => ${days})`
  const statements = [
    `begin`,
    // The gateway's loops find the old books or the new ones.
    `select from wallet for update`,
    `lock table usage_interval in access exclusive mode`,
    `alter table ledger_transfer disable trigger user`,
    `delete from ledger_transfer where kind in ('usage', 'topup')`,
    `alter table ledger_transfer enable trigger user`,
    `alter table invoice disable trigger user`,
    `delete from invoice`,
    `delete from invoice_series`,
    `alter table invoice enable trigger user`,
    `delete from usage_day`,
    `delete from usage_total`,
    `delete from usage_meter`,
    `delete from usage_interval`,
    `delete from payment_intent`,
    `delete from instance_event`,
    `insert into ledger_account (id, kind, currency) values ('house:revenue:USD', 'revenue', 'USD'),
      ('house:clearing:testcard:USD', 'clearing', 'USD') on conflict do nothing`,
    // One stretch for the machine that runs on; two a day for each of the others.
    `insert into usage_interval (id, user_id, subject_kind, subject_id, subject_name, subject_facts, charge,
        stops_when_empty, rate_micro, rate_seconds, started_at, ended_at, credits_micro, cash_micro, waived_micro,
        posted_until, postings)
      select gen_random_uuid(), ${user}, 'instance', 'i-bench-' || machine, 'bench-' || machine,
        '{"gpu_spec_name": "RTX 4090", "gpu_count": 1}', 'by_time', not off,
        case when off then 14000 else 420000 end, 3600, begins, begins + make_interval(hours => hours), 0,
        hours::bigint * case when off then 14000 else 420000 end, 0, begins + make_interval(hours => hours), hours
      from (
        select 1 as machine, false as off, ${first} as begins, ${days} * 24 as hours
        union all
        select machine, off, ${first} + make_interval(days => day, hours => case when off then 16 else 0 end),
          case when off then 8 else 16 end
        from generate_series(2, ${MACHINES}) machine, generate_series(0, ${days} - 1) day,
          (values (false), (true)) offs (off)
      ) stretches`,
    `insert into usage_meter select id, 0, case when stops_when_empty then 'compute.rtx-4090' else 'disk.container' end,
      'RTX 4090', 'hour', 1, rate_micro from usage_interval`,
    `insert into ledger_transfer (id, key, from_account, to_account, amount_micro, kind, ref_id, user_id, created_at)
      select gen_random_uuid(), 'usage:' || i.id || ':' || hour || ':cash', 'user:' || i.user_id || ':cash',
        'house:revenue:USD', i.rate_micro, 'usage', i.id, i.user_id,
        i.started_at + make_interval(hours => hour) - interval '1 millisecond'
      from usage_interval i, generate_series(1, i.postings) hour`,
    `insert into usage_day select ref_id, user_id, (created_at at time zone 'UTC')::date, 'cash', false, count(*),
      sum(amount_micro) from ledger_transfer where kind = 'usage' group by 1, 2, 3`,
    `insert into payment_intent (id, user_id, amount_cents, currency, platform_name, source_brand, source_last4, state,
        created_at, finished_at)
      select gen_random_uuid(), ${user}, 1000000, 'USD', 'testcard', 'Visa', '4242', 'succeeded',
        ${first} + make_interval(days => week * 7), now()
      from generate_series(0, ${days} / 7) week`,
    // Each payment has its document; their numbers have no gap.
    `insert into invoice_series select '2026-USD', count(*) from payment_intent`,
    `insert into invoice (id, key, user_id, kind, ref_id, series, position, currency, amount_cents, page, issued_at)
      select gen_random_uuid(), 'topup:' || id, user_id, 'topup', id, '2026-USD', row_number() over (order by created_at),
        'USD', amount_cents, jsonb_build_object('lines', jsonb_build_array(jsonb_build_object('amount', amount_cents))),
        created_at
      from payment_intent`,
    `insert into ledger_transfer (id, key, from_account, to_account, amount_micro, kind, ref_id, user_id, created_at)
      select gen_random_uuid(), 'topup:' || id, 'house:clearing:testcard:USD', 'user:' || user_id || ':cash',
        amount_cents::bigint * 10000, 'topup', id, user_id, created_at from payment_intent`,
    `update ledger_account a set balance_micro = coalesce((
        select sum(case when to_account = a.id then amount_micro else -amount_micro end) from ledger_transfer
        where a.id in (from_account, to_account)), 0) where user_id is not null`,
    `insert into usage_interval (id, user_id, subject_kind, subject_id, subject_name, subject_facts, charge,
        stops_when_empty, rate_micro, rate_seconds, started_at, credits_micro, cash_micro, waived_micro, posted_until)
      select gen_random_uuid(), ${user}, 'instance', 'i-bench-' || machine, 'bench-' || machine,
        '{"gpu_spec_name": "RTX 4090", "gpu_count": 1}', 'by_time', true, 420000, 3600, ${today}, 0, 0, 0, ${today}
      from generate_series(1, ${MACHINES}) machine`,
    `insert into usage_meter select id, 0, 'compute.rtx-4090', 'RTX 4090', 'hour', 1, rate_micro
      from usage_interval where ended_at is null`,
    `insert into instance_event (instance_id, user_id, at, status, code)
      select i.subject_id, i.user_id, i.started_at + make_interval(secs => step), 'running', 'ready'
      from usage_interval i, generate_series(0, 3) step`,
    `commit`,
    // As the server itself does after a while.
    `vacuum analyze`,
  ]
  const client = await pool.connect()
  await client.query('set statement_timeout = 0')
  for (const text of statements) {
    const query = { text, query_timeout: FILL_MS }
    await client.query(query)
  }
  client.release()
}
