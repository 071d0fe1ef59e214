// The pages of money of an account with 20 machines: one month of them and twelve, beside the bare SQL of each page.
import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import { Pool } from 'undici'
import { checkBooks } from '../apps/gateway/src/domains/billing/ledger/check-books.ts'
import { systemClock } from '../apps/gateway/src/platform/clock.ts'
import { type OpenDatabase, openDatabase } from '../apps/gateway/src/platform/database/open-database.ts'
import { createLog } from '../apps/gateway/src/platform/log.ts'
import { databaseUrlOf } from './lib/database-url.ts'
import { median, printFigure } from './lib/figures.ts'
import { type GatewayProcess, startGatewayProcess } from './lib/gateway-process.ts'

const MACHINES = 20
const ROUNDS = 60
const AIM_MS = 20
const SPEND_DAYS = 90
/** The fullest month of the longer account. */
const MONTH = new Date(Date.now() - 31 * 86_400_000).toISOString().slice(0, 7)
const FILL_MS = 300_000

const gateway = await startGatewayProcess()
try {
  const database = openDatabase({
    url: databaseUrlOf(gateway.dataDir),
    log: createLog({ level: 'error', pretty: false }),
    poolSize: 1,
  })
  for (const months of [1, 12]) {
    await fill(database.pool, months)
    const problems = await checkBooks({ db: database.db, clock: systemClock })
    if (problems.length > 0) throw new Error(problems.join('\n'))
    await compare(gateway, database.pool, months)
  }
  await database.close()
} finally {
  await gateway.stop()
}

/**
 * Gives the demo customer the books of that many months, in place of what there was: the first machine runs all the
 * time, the others for 16 hours of each day and are off for 8; all is posted by the hour, and a week is paid in advance.
 */
async function fill(pool: OpenDatabase['pool'], months: number): Promise<void> {
  const days = Math.round((months * 365) / 12)
  const user = '(select user_id from wallet limit 1)'
  const first = `date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' - make_interval(days => ${days})`
  const statements = [
    `alter table ledger_transfer disable trigger user`,
    `delete from ledger_transfer where kind in ('usage', 'topup')`,
    `alter table ledger_transfer enable trigger user`,
    `delete from usage_day`,
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
    `insert into ledger_transfer (id, key, from_account, to_account, amount_micro, kind, ref_id, user_id, created_at)
      select gen_random_uuid(), 'topup:' || id, 'house:clearing:testcard:USD', 'user:' || user_id || ':cash',
        amount_cents::bigint * 10000, 'topup', id, user_id, created_at from payment_intent`,
    `update ledger_account a set balance_micro = coalesce((
        select sum(case when to_account = a.id then amount_micro else -amount_micro end) from ledger_transfer
        where a.id in (from_account, to_account)), 0) where user_id is not null`,
    `insert into instance_event (instance_id, user_id, at, status, code)
      select i.subject_id, i.user_id, i.started_at + make_interval(secs => step), 'running', 'ready'
      from usage_interval i, generate_series(0, 3) step`,
    // As the server itself does after a while.
    `vacuum analyze`,
  ]
  await pool.query('set statement_timeout = 0')
  for (const text of statements) {
    const query = { text, query_timeout: FILL_MS }
    await pool.query(query)
  }
}

async function compare(
  { origin, token }: GatewayProcess,
  database: OpenDatabase['pool'],
  months: number,
): Promise<void> {
  const pool = new Pool(origin, { connections: 1 })
  const ask = async (path: string) => {
    const { body, statusCode } = await pool.request({
      method: 'GET',
      path: new URL(`${GATEWAY_PREFIX}/api/bill/${path}`, origin).href.slice(origin.length),
      headers: { authorization: `Bearer ${token}` },
    })
    const text = await body.text()
    if (statusCode !== 200) throw new Error(`${path}: ${text}`)
  }
  const { rows } = await database.query<{ id: string; user_id: string }>(
    `select id, user_id from usage_interval order by postings desc limit 1`,
  )
  const { id = '', user_id = '' } = rows[0] ?? {}
  const { rows: counted } = await database.query<{ pages: number }>(
    'select ceil(count(*) / 20.0)::int as pages from usage_interval',
  )
  const lastPage = counted[0]?.pages ?? 1
  const ofUser = `from usage_interval where user_id = '${user_id}'`
  const newest = `order by started_at desc, id desc limit 20`
  const pages: { what: string; path: string; bare: string }[] = [
    {
      what: 'transactions, first page',
      path: 'transaction?page=1&page_size=20',
      bare: `select *, (select count(*) ${ofUser}) as total ${ofUser} ${newest}`,
    },
    {
      what: 'transactions, last of usage',
      path: `transaction?type=usage&page=${lastPage}&page_size=20`,
      bare: `select *, (select count(*) ${ofUser}) as total ${ofUser} ${newest}
        offset ${(lastPage - 1) * 20}`,
    },
    {
      what: 'transactions searched',
      path: 'transaction?search=bench-17&page=1&page_size=20',
      bare: `select *, (select count(*) ${ofUser} and subject_name ilike '%bench-17%') as total
        ${ofUser} and subject_name ilike '%bench-17%' ${newest}`,
    },
    {
      what: `spend by day, ${SPEND_DAYS} days`,
      path: `spend?days=${SPEND_DAYS}`,
      bare: `select day, sum(amount_micro) from usage_day
        where user_id = '${user_id}' and day >= current_date - ${SPEND_DAYS} group by day`,
    },
    {
      what: 'months',
      path: '../order/bill_duration',
      bare: `select date_trunc('month', day), part, sum(amount_micro) from usage_day
        where user_id = '${user_id}' group by 1, 2`,
    },
    ...['resource', 'day', 'kind'].map(group => ({
      what: `bill of a month by ${group}`,
      path: `order?month=${MONTH}&group=${group}`,
      bare: `select i.subject_id, d.day, sum(d.amount_micro) from usage_day d join usage_interval i on i.id = d.interval_id
        where d.user_id = '${user_id}' and d.day >= '${MONTH}-01'
          and d.day < '${MONTH}-01'::date + interval '1 month' group by 1, 2`,
    })),
    {
      what: 'line of a bill opened',
      path: `order/line?month=${MONTH}&line=instance%3Ai-bench-2`,
      bare: `select i.*, d.* from usage_day d join usage_interval i on i.id = d.interval_id
        where d.user_id = '${user_id}' and i.subject_id = 'i-bench-2' and d.day >= '${MONTH}-01'
          and d.day < '${MONTH}-01'::date + interval '1 month'`,
    },
    {
      what: 'receipt of the machine that ran all the time',
      path: `transaction/u_${id}`,
      bare: `select i.*, d.* from usage_interval i join usage_day d on d.interval_id = i.id
        where i.id = '${id}' and i.user_id = '${user_id}' order by d.day`,
    },
  ]
  for (const { what, path, bare } of pages) {
    const ours: number[] = []
    const floor: number[] = []
    // The first rounds warm both up and are not counted.
    for (let round = -10; round < ROUNDS; round++) {
      const one = await timeOf(() => ask(path))
      const other = await timeOf(() => database.query(bare))
      if (round < 0) continue
      ours.push(one)
      floor.push(other)
    }
    const page = median(ours)
    printFigure({
      what: `${what}, ${months} ${months === 1 ? 'month' : 'months'}`,
      ours: `${page.toFixed(1)} ms`,
      bare: `${median(floor).toFixed(1)} ms`,
      compared: `ratio ${(page / median(floor)).toFixed(1)}`,
      aim: { says: `under ${AIM_MS} ms`, met: page < AIM_MS },
    })
  }
  await pool.close()
}

async function timeOf(run: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await run()
  return performance.now() - startedAt
}
