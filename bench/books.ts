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
import { fillMonths } from './lib/months-of-books.ts'

const ROUNDS = 60
const AIM_MS = 20
const SPEND_DAYS = 90
/** The fullest month of the longer account. */
const MONTH = new Date(Date.now() - 31 * 86_400_000).toISOString().slice(0, 7)

const gateway = await startGatewayProcess()
try {
  const database = openDatabase({
    url: databaseUrlOf(gateway.dataDir),
    log: createLog({ level: 'error', pretty: false }),
    poolSize: 1,
  })
  for (const months of [1, 12]) {
    await fillMonths(database.pool, months)
    const problems = await checkBooks({ db: database.db, clock: systemClock })
    if (problems.length > 0) throw new Error(problems.join('\n'))
    await compare(gateway, database.pool, months)
  }
  await database.close()
} finally {
  await gateway.stop()
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
    `select id, user_id from usage_interval where ended_at is not null order by postings desc limit 1`,
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
      what: 'transactions searched by an amount',
      path: 'transaction?search=6.72&page=1&page_size=20',
      bare: `select *, (select count(*) ${ofUser} and posted_micro = 6720000) as total
        ${ofUser} and posted_micro = 6720000 ${newest}`,
    },
    {
      what: `spend by day, ${SPEND_DAYS} days`,
      path: `spend?days=${SPEND_DAYS}`,
      bare: `select day, sum(amount_micro) from usage_day
        where user_id = '${user_id}' and day >= current_date - ${SPEND_DAYS} group by day`,
    },
    {
      what: 'outlook',
      path: 'outlook',
      bare: `select subject_id, rate_micro ${ofUser} and ended_at is null`,
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
