// A tick of metering over 1,000 to 100,000 subjects that run: a look at all of them, and the posting of their hour, beside
// the bare insert of the same entries.
import { spawnSync } from 'node:child_process'
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
import { gatewayFlags } from '../scripts/lib/gateway-build.mjs'
import { median, printFigure } from './lib/figures.ts'
import { emptyBooks, fillBooks } from './lib/running-customers.ts'

const SIZES = [1_000, 10_000, 100_000]
const LOOKS = 5
/** As many transactions post at once. */
const AT_ONCE = 1
const AIM_MS = 10_000
const MEMORY_AIM_MB = 300
const RATIO_AIM = 0.5
/** A tick posts no more than so many stretches; an hour that takes more of them than this is never posted. */
const TICKS_MAX = 20
/** Half an hour before an hour ends: a look then posts nothing. */
const BEGAN = new Date('2026-11-20T10:00:00.000Z')
const LOOKED = new Date('2026-11-20T10:30:00.000Z')
const POSTED = new Date('2026-11-20T11:00:01.000Z')
const BARE_TABLE = `drop table if exists bare_transfer;
  create table bare_transfer (like ledger_transfer including defaults including indexes)`

// What is kept of memory is for Node to say, and the gateway says it for Node: without its flags this process had 281 MB among a
// thousand subjects.
if (!gatewayFlags.every(flag => process.execArgv.includes(flag))) {
  const { status } = spawnSync(process.execPath, [...gatewayFlags, import.meta.filename], {
    stdio: 'inherit',
  })
  process.exit(status ?? 1)
}

const dataDir = mkdtempSync(join(tmpdir(), 'berth-bench-metering-'))
const log = createLog({ level: 'error', pretty: false })
/** What Node, its compiler of TypeScript and the tables in memory take; a built gateway's is in `metering-calls.ts`. */
const startedMb = process.memoryUsage.rss() / 1e6
const server = await startEmbeddedPostgres({ dataDir, password: randomBytes(16).toString('hex'), log })
try {
  await migrate(server.url)
  const database = openDatabase({ url: server.url, log })
  const ofOne: number[] = []
  for (const subjects of SIZES) {
    await emptyBooks(database.pool)
    await fillBooks(database.pool, { subjects, began: BEGAN })
    await database.pool.query(BARE_TABLE)
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
    ours: `${looked.toFixed(0)} ms, the process at ${memory.toFixed(0)} MB, ${startedMb.toFixed(0)} of it at its start`,
    bare: `${bareLook.toFixed(0)} ms for their sum alone`,
    compared: `ratio ${(looked / bareLook).toFixed(1)}`,
    aim: {
      says: `under ${AIM_MS / 1_000} s and ${MEMORY_AIM_MB} MB`,
      met: looked < AIM_MS && memory < MEMORY_AIM_MB,
    },
  })
  now = POSTED
  const ticks: number[] = []
  let entries = 0
  while (entries < subjects && ticks.length < TICKS_MAX) {
    ticks.push(await timeOf(() => postDue(deps)))
    const { rows } = await pool.query<{ entries: string }>(
      `select count(*) as entries from ledger_transfer where kind = 'usage'`,
    )
    entries = Number(rows[0]?.entries)
  }
  if (entries !== subjects) throw new Error(`${entries} of ${subjects} subjects were posted`)
  const posted = ticks.reduce((sum, tick) => sum + tick, 0)
  const longest = Math.max(...ticks)
  const bare = await timeOf(() => insertBare(pool))
  printFigure({
    what: `the hour of ${many} subjects, in ${ticks.length} ticks`,
    ours: `${posted.toFixed(0)} ms, the longest ${longest.toFixed(0)} ms, ${perSecond(entries, posted)} entries a second`,
    bare: `${bare.toFixed(0)} ms, ${perSecond(entries, bare)} a second`,
    compared: `ratio ${(bare / posted).toFixed(2)}`,
    aim: {
      says: `at least ${RATIO_AIM}, no tick over ${AIM_MS / 1_000} s`,
      met: bare / posted >= RATIO_AIM && longest < AIM_MS,
    },
  })
  const problems = await checkBooks(deps)
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
