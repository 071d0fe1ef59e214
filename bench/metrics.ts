// What it costs to sample a thousand machines and to store what they used, beside one bare insert of the same rows; and how
// long thirty days of one take to be answered, beside a bare read of its rows.
import { setTimeout as sleep } from 'node:timers/promises'
import { getInstanceMetrics } from '@berth/contract/instance-metrics'
import { createSampleStore } from '../apps/gateway/src/domains/samples/sample-store.ts'
import { createSampler } from '../apps/gateway/src/domains/samples/sampler.ts'
import type { MachineSample } from '../apps/gateway/src/drivers/compute/port/observation.ts'
import { type OpenDatabase, openDatabase } from '../apps/gateway/src/platform/database/open-database.ts'
import { createLog } from '../apps/gateway/src/platform/log.ts'
import { databaseUrlOf } from './lib/database-url.ts'
import { median, printFigure } from './lib/figures.ts'
import { type GatewayProcess, startGatewayProcess } from './lib/gateway-process.ts'
import { inTurns } from './lib/rounds.ts'

const MACHINES = 1_000
const PASSES = 40
const ANSWERS = 60
const DAY_SECONDS = 86_400
const FILL_MS = 300_000
/** Of the second in which a pass has to be over. */
const PASS_AIM_PERCENT = 20
const ANSWER_AIM_MS = 100

const log = createLog({ level: 'error', pretty: false })
const gateway = await startGatewayProcess()
const database = openDatabase({ url: databaseUrlOf(gateway.dataDir), log, poolSize: 1 })
try {
  await passes(database)
  await answers(gateway, database)
} finally {
  await database.close()
  await gateway.stop()
}

/** Passes of the sampler over machines that answer at once, each of them looked at: all is written each second. */
async function passes({ db, pool }: OpenDatabase): Promise<void> {
  let nowMs = Date.now()
  const clock = { now: () => new Date(nowMs) }
  const machines = Array.from({ length: MACHINES }, (_, at) => `i-bench${at}`)
  const sampler = createSampler({
    clock,
    log,
    store: createSampleStore({ db }),
    fleet: {
      engines: () => [],
      serves: () => true,
      engine: () => ({ observation: { sample: async () => sampleAt(nowMs) } }) as never,
    },
    instances: {
      runningOn: async () =>
        machines.map(id => ({
          id,
          engineId: 'bench',
          vcpu: 4,
          gpuCount: 0,
          stopsWhenIdle: false,
          paysForTraffic: false,
        })),
      noteLoad: async () => undefined,
      noteOomKills: async () => undefined,
      noteTraffic: async () => undefined,
    },
  })
  const never = new AbortController().signal
  await sampler.pass(never)
  let cpuMs = 0
  const rounds = await inTurns(PASSES, {
    async ours() {
      nowMs += 1_000
      for (const id of machines) sampler.watch(id)
      const before = process.cpuUsage()
      const took = await timeOf(() => sampler.pass(never))
      const { user, system } = process.cpuUsage(before)
      cpuMs += (user + system) / 1_000
      return took
    },
    // What was written last, once more under other names.
    bare: () =>
      timeOf(() =>
        pool.query(
          `insert into sample_fine select 'bare-' || $1 || instance_id, step, at, cpu, memory_mb, disk_mb,
            network_in, network_out, gpu_load, gpu_memory_mb
            from sample_fine where step = 1 and at = (select max(at) from sample_fine where step = 1)
              and instance_id like 'i-bench%'`,
          [nowMs],
        ),
      ),
  })
  const [ours, bare] = [median(rounds.ours), median(rounds.bare)]
  printFigure({
    what: `a pass each second over ${MACHINES} machines, median`,
    ours: `${ours.toFixed(0)} ms, ${(cpuMs / (PASSES + 1)).toFixed(0)} ms of it the gateway's own`,
    bare: `${bare.toFixed(0)} ms`,
    compared: `ratio ${(ours / bare).toFixed(2)}`,
    aim: { says: `under ${PASS_AIM_PERCENT} % of the second`, met: ours < 10 * PASS_AIM_PERCENT },
  })
}

/** Thirty days and one of an instance, where a hundred others have as many rows. */
async function answers(own: GatewayProcess, { pool }: OpenDatabase): Promise<void> {
  const id = await own.deploy()
  await own.until(id, 'running')
  await pool.query('set statement_timeout = 0')
  await pool.query({
    text: `insert into sample_coarse (instance_id, step, at, cpu, memory_mb, disk_mb, network_in, network_out)
      select name, step, to_timestamp(floor(extract(epoch from now()) / step) * step - step * nth), 10, 20, 30, 40, 50
      from (select '${id}' as name union all select 'other-' || nr from generate_series(1, 100) nr) names,
        (values (600, 4320), (60, 1440)) tiers (step, rows), generate_series(1, tiers.rows) nth`,
    query_timeout: FILL_MS,
  } as never)
  await pool.query('vacuum analyze sample_coarse')
  for (const [days, step] of [
    [30, 600],
    [1, 60],
  ] as const) {
    const rounds = await inTurns(ANSWERS, {
      ours: () =>
        timeOf(() =>
          own.call(getInstanceMetrics, { params: { id }, query: { range_seconds: days * DAY_SECONDS } }),
        ),
      bare: () =>
        timeOf(() =>
          pool.query('select * from sample_coarse where instance_id = $1 and step = $2', [id, step]),
        ),
    })
    const [ours, bare] = [median(rounds.ours), median(rounds.bare)]
    printFigure({
      what: `what a machine used in ${days} ${days === 1 ? 'day' : 'days'}`,
      ours: `${ours.toFixed(1)} ms`,
      bare: `${bare.toFixed(1)} ms`,
      compared: `ratio ${(ours / bare).toFixed(2)}`,
      aim: { says: `under ${ANSWER_AIM_MS} ms`, met: ours < ANSWER_AIM_MS },
    })
  }
  await showOwn(own, id)
}

/** What was sampled of the machine itself meanwhile. */
async function showOwn(own: GatewayProcess, id: string): Promise<void> {
  const ask = () => own.call(getInstanceMetrics, { params: { id }, query: { range_seconds: 60 } })
  await ask()
  await sleep(5_000)
  const { state, cpu_percent, memory_used_mb, disk_used_mb, network_in_rate } = await ask()
  const newest = [cpu_percent, memory_used_mb, disk_used_mb, network_in_rate].map(({ values }) =>
    values.findLast(value => value !== null),
  )
  const seconds = cpu_percent.values.slice(-5).filter(value => value !== null).length
  console.log(
    `${id} is ${state}: cpu %, memory MB, disk MB, bytes in ${newest.join(', ')}; ${seconds} of 5 seconds`,
  )
}

function sampleAt(nowMs: number): MachineSample {
  return {
    cpu_percent: 37.5,
    memory_used_mb: 812.3,
    memory_limit_mb: 4_096,
    disk_used_mb: 1_234.5,
    network_received_bytes: nowMs,
    network_sent_bytes: nowMs,
    network_at: new Date(nowMs),
    gpus: [],
    sampled_at: new Date(nowMs),
  }
}

async function timeOf(run: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await run()
  return performance.now() - startedAt
}
