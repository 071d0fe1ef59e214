// What others notice while the hour of 100,000 subjects is posted: balance calls to the gateway that posts it, beside the same
// calls while it does not, and that gateway's memory.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { getBalance } from '@berth/contract/billing'
import { openDatabase } from '../apps/gateway/src/platform/database/open-database.ts'
import { createLog } from '../apps/gateway/src/platform/log.ts'
import { databaseUrlOf } from './lib/database-url.ts'
import { median, printFigure, quantile } from './lib/figures.ts'
import { type GatewayProcess, startGatewayProcess } from './lib/gateway-process.ts'
import { fillBooks } from './lib/running-customers.ts'

const SUBJECTS = 100_000
const ROUNDS = 2
const QUIET_MS = 8_000
/** Between two calls: a customer, not a load. */
const PAUSE_MS = 5
/** Long enough that quiet is quiet but for a look or none. */
const METERING_MS = 20_000
const HOUR_OVER = {
  text: `update usage_interval set started_at = started_at - interval '1 hour',
    posted_until = posted_until - interval '1 hour' where ended_at is null`,
  query_timeout: 120_000,
}
const RATIO_AIM = 1.2
const MEMORY_AIM_MB = 300

const gateway = await startGatewayProcess({ BERTH_METERING_MS: `${METERING_MS}` })
const database = openDatabase({
  url: databaseUrlOf(gateway.dataDir),
  log: createLog({ level: 'error', pretty: false }),
  // What the filling sets for its connection holds for all of it.
  poolSize: 1,
})
const { pool } = database
try {
  await callsUntil(gateway, () => sleep(QUIET_MS))
  await fillBooks(pool, { subjects: SUBJECTS, began: new Date() })
  const quiet: number[] = []
  const posting: number[] = []
  const memory = { quiet: 0, posting: 0 }
  const took: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const calm = await callsUntil(gateway, () => sleep(QUIET_MS))
    const before = await entries()
    await pool.query(HOUR_OVER)
    while ((await entries()) === before) await sleep(50)
    const startedAt = performance.now()
    const busy = await callsUntil(gateway, async () => {
      while ((await entries()) < before + SUBJECTS) await sleep(500)
    })
    took.push(performance.now() - startedAt)
    quiet.push(...calm.ms)
    posting.push(...busy.ms)
    memory.quiet = Math.max(memory.quiet, calm.memoryMb)
    memory.posting = Math.max(memory.posting, busy.memoryMb)
  }
  const said = (ms: number[]) =>
    `${median(ms).toFixed(2)} ms (p99 ${quantile(ms, 0.99).toFixed(0)}, ${ms.length} calls)`
  const ratio = median(posting) / median(quiet)
  printFigure({
    what: `a balance call while ${SUBJECTS.toLocaleString('en')} subjects are posted, in ${(median(took) / 1_000).toFixed(1)} s`,
    ours: said(posting),
    bare: `${said(quiet)} while nothing is`,
    compared: `ratio ${ratio.toFixed(2)}`,
    aim: { says: `at most ${RATIO_AIM}`, met: ratio <= RATIO_AIM },
  })
  printFigure({
    what: 'the memory of that gateway meanwhile, at most',
    ours: `${memory.posting.toFixed(0)} MB`,
    bare: `${memory.quiet.toFixed(0)} MB`,
    compared: `${(memory.posting - memory.quiet).toFixed(0)} MB more`,
    aim: { says: `under ${MEMORY_AIM_MB} MB`, met: memory.posting < MEMORY_AIM_MB },
  })
} finally {
  await database.close()
  await gateway.stop()
}

/** What each call took until something is over, and the most memory that the gateway had meanwhile. */
async function callsUntil(
  { call, server }: GatewayProcess,
  over: () => Promise<unknown>,
): Promise<{ ms: number[]; memoryMb: number }> {
  let isOver = false
  const ending = over().then(() => {
    isOver = true
  })
  const ms: number[] = []
  let memoryMb = 0
  while (!isOver) {
    const startedAt = performance.now()
    await call(getBalance, {})
    ms.push(performance.now() - startedAt)
    memoryMb = Math.max(memoryMb, residentMb(server.pid))
    await sleep(PAUSE_MS)
  }
  await ending
  return { ms, memoryMb }
}

/** How many entries of usage there are. */
async function entries(): Promise<number> {
  const { rows } = await pool.query<{ entries: string }>(
    `select coalesce(sum(entries), 0) as entries from usage_day`,
  )
  return Number(rows[0]?.entries)
}

function residentMb(pid: number): number {
  const [, kilobytes = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1_000
}
