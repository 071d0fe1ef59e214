// A tick of metering over 1,000 to 100,000 subjects that run: a look at all of them, and the posting of their hour, beside
// the bare insert of the same entries.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkBooks } from '../apps/gateway/src/domains/billing/ledger/check-books.ts'
import { postDue } from '../apps/gateway/src/domains/billing/meters/tick.ts'
import { startEmbeddedPostgres } from '../apps/gateway/src/platform/database/embedded/embedded-postgres.ts'
import { migrate } from '../apps/gateway/src/platform/database/migrate.ts'
import { type OpenDatabase, openDatabase } from '../apps/gateway/src/platform/database/open-database.ts'
import { createIds } from '../apps/gateway/src/platform/ids.ts'
import { createLog } from '../apps/gateway/src/platform/log.ts'
import { median, printFigure } from './lib/figures.ts'

const SIZES = [1_000, 10_000, 100_000]
/** So many run for each customer. */
const SUBJECTS_EACH = 10
const LOOKS = 5
/** As many customers are posted at once. */
const AT_ONCE = 4
const AIM_MS = 10_000
const MEMORY_AIM_MB = 300
const RATIO_AIM = 0.5
const FILL_MS = 300_000
/** Half an hour before an hour ends: a look then posts nothing. */
const BEGAN = new Date('2026-11-20T10:00:00.000Z')
const LOOKED = new Date('2026-11-20T10:30:00.000Z')
const POSTED = new Date('2026-11-20T11:00:01.000Z')

const dataDir = mkdtempSync(join(tmpdir(), 'berth-bench-metering-'))
const log = createLog({ level: 'error', pretty: false })
const server = await startEmbeddedPostgres({ dataDir, password: randomBytes(16).toString('hex'), log })
try {
  await migrate(server.url)
  const database = openDatabase({ url: server.url, log })
  const ofOne: number[] = []
  for (const subjects of SIZES) {
    await fill(database.pool, subjects)
    ofOne.push(await measure(database, subjects))
  }
  const [few = 0, , many = 0] = ofOne
  printFigure({
    what: `a look at one subject among ${SIZES.at(-1)?.toLocaleString('en')}`,
    ours: `${many.toFixed(1)} µs`,
    bare: `${few.toFixed(1)} µs among ${SIZES[0]?.toLocaleString('en')}`,
    compared: `ratio ${(many / few).toFixed(2)}`,
    aim: { says: 'no more than 1.5: it grows with the number alone', met: many / few <= 1.5 },
  })
  await database.close()
} finally {
  await server.stop()
  rmSync(dataDir, { recursive: true, force: true })
}

/** Customers with money and that many subjects that run, in place of those that there were. */
async function fill(pool: OpenDatabase['pool'], subjects: number): Promise<void> {
  const began = `'${BEGAN.toISOString()}'::timestamptz`
  const statements = [
    `alter table ledger_transfer disable trigger user`,
    `alter table invoice disable trigger user`,
    `truncate ledger_transfer, usage_day, usage_meter, usage_interval, payment_intent, invoice, invoice_series, wallet,
      ledger_account cascade`,
    `alter table ledger_transfer enable trigger user`,
    `alter table invoice enable trigger user`,
    `insert into ledger_account (id, kind, currency) values ('house:revenue:USD', 'revenue', 'USD'),
      ('house:clearing:testcard:USD', 'clearing', 'USD')`,
    `insert into wallet (user_id, currency, created_at)
      select gen_random_uuid(), 'USD', ${began} from generate_series(1, ${subjects / SUBJECTS_EACH})`,
    `insert into ledger_account (id, kind, user_id, currency, balance_micro)
      select 'user:' || user_id || ':cash', 'cash', user_id, 'USD', 1000000000 from wallet
      union all select 'user:' || user_id || ':credits', 'credits', user_id, 'USD', 0 from wallet`,
    `insert into payment_intent (id, user_id, amount_cents, currency, platform_name, source_brand, source_last4, state,
        created_at, finished_at)
      select user_id, user_id, 100000, 'USD', 'testcard', 'Visa', '4242', 'succeeded', ${began}, ${began} from wallet`,
    `insert into invoice_series select '2026-USD', count(*) from wallet`,
    `insert into invoice (id, key, user_id, kind, ref_id, series, position, currency, amount_cents, page, issued_at)
      select gen_random_uuid(), 'topup:' || user_id, user_id, 'topup', user_id, '2026-USD',
        row_number() over (order by user_id), 'USD', 100000, '{"lines": [{"amount": 100000}]}', ${began} from wallet`,
    `insert into ledger_transfer (id, key, from_account, to_account, amount_micro, kind, ref_id, user_id, created_at)
      select gen_random_uuid(), 'topup:' || user_id, 'house:clearing:testcard:USD', 'user:' || user_id || ':cash',
        1000000000, 'topup', user_id, user_id, ${began} from wallet`,
    `insert into usage_interval (id, user_id, subject_kind, subject_id, subject_name, charge, stops_when_empty,
        rate_micro, rate_seconds, started_at, credits_micro, cash_micro, waived_micro, posted_until)
      select gen_random_uuid(), user_id, 'instance', 'i-' || user_id || '-' || n, 'bench', 'by_time', true, 420000, 3600,
        ${began}, 0, 0, 0, ${began}
      from wallet, generate_series(1, ${SUBJECTS_EACH}) n`,
    `insert into usage_meter select id, 0, 'compute.rtx-4090', 'RTX 4090', 'hour', 1, rate_micro from usage_interval`,
    `drop table if exists bare_transfer`,
    `create table bare_transfer (like ledger_transfer including defaults including indexes)`,
    // As the server itself does after a while.
    `vacuum analyze`,
  ]
  await pool.query('set statement_timeout = 0')
  for (const text of statements) {
    const query = { text, query_timeout: FILL_MS }
    await pool.query(query)
  }
}

/** @returns How long a look takes for one subject, in µs. */
async function measure({ db, pool }: OpenDatabase, subjects: number): Promise<number> {
  let now = LOOKED
  const clock = { now: () => now }
  const deps = { db, clock, ids: createIds(clock), log }
  const many = subjects.toLocaleString('en')
  const looks: number[] = []
  for (let look = 0; look < LOOKS; look += 1) looks.push(await timeOf(() => postDue(deps)))
  const looked = median(looks)
  const bareLook = await timeOf(() =>
    pool.query(`select user_id, sum(rate_micro) from usage_interval where ended_at is null group by user_id`),
  )
  const memory = process.memoryUsage.rss() / 1e6
  printFigure({
    what: `a tick that looks at ${many} subjects`,
    ours: `${looked.toFixed(0)} ms, the process at ${memory.toFixed(0)} MB`,
    bare: `${bareLook.toFixed(0)} ms for their sum alone`,
    compared: `ratio ${(looked / bareLook).toFixed(1)}`,
    aim: {
      says: `under ${AIM_MS / 1_000} s and ${MEMORY_AIM_MB} MB`,
      met: looked < AIM_MS && memory < MEMORY_AIM_MB,
    },
  })
  now = POSTED
  const posted = await timeOf(() => postDue(deps))
  const { rows } = await pool.query<{ entries: string }>(
    `select count(*) as entries from ledger_transfer where kind = 'usage'`,
  )
  const entries = Number(rows[0]?.entries)
  if (entries !== subjects) throw new Error(`${entries} of ${subjects} subjects were posted`)
  const bare = await timeOf(() => insertBare(pool))
  printFigure({
    what: `the tick that posts the hour of ${many} subjects`,
    ours: `${posted.toFixed(0)} ms, ${perSecond(entries, posted)} entries a second`,
    bare: `${bare.toFixed(0)} ms, ${perSecond(entries, bare)} a second`,
    compared: `ratio ${(bare / posted).toFixed(2)}`,
    aim: { says: `at least ${RATIO_AIM}`, met: bare / posted >= RATIO_AIM },
  })
  const problems = await checkBooks(db)
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return (looked / subjects) * 1_000
}

/** Inserts the same entries again, a statement for each, a transaction for each customer, on as many connections. */
async function insertBare(pool: OpenDatabase['pool']): Promise<void> {
  const { rows } = await pool.query(`select * from ledger_transfer where kind = 'usage' order by user_id`)
  const byUser = new Map<string, Record<string, unknown>[]>()
  for (const row of rows) byUser.set(row.user_id, [...(byUser.get(row.user_id) ?? []), row])
  const queue = [...byUser.values()]
  const work = async () => {
    const client = await pool.connect()
    for (let entries = queue.shift(); entries !== undefined; entries = queue.shift()) {
      await client.query('begin')
      for (const entry of entries) {
        await client.query({
          name: 'bare-insert',
          text: `insert into bare_transfer (id, key, from_account, to_account, amount_micro, kind, ref_id, user_id, created_at)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
          values: [
            entry.id,
            entry.key,
            entry.from_account,
            entry.to_account,
            entry.amount_micro,
            entry.kind,
            entry.ref_id,
            entry.user_id,
            entry.created_at,
          ],
        })
      }
      await client.query('commit')
    }
    client.release()
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

function perSecond(entries: number, ms: number): string {
  return Math.round((entries * 1_000) / ms).toLocaleString('en')
}

async function timeOf(run: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await run()
  return performance.now() - startedAt
}
