// What the gateway adds to a call of a model and to each token of a stream, beside asking the same server directly and,
// where they are named, beside two other gateways; and what an open stream holds in memory.
//   BERTH_BENCH_PORTKEY   folder in which `npm install @portkey-ai/gateway` was run
//   BERTH_BENCH_LITELLM   virtual environment of Python with `litellm[proxy]`
import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type OpenDatabase, openDatabase } from '../apps/gateway/src/platform/database/open-database.ts'
import { createLog } from '../apps/gateway/src/platform/log.ts'
import { processTree, startChildServer } from './lib/child-server.ts'
import { collectable, collectGarbage } from './lib/collect-garbage.ts'
import { databaseUrlOf } from './lib/database-url.ts'
import { residentBytes } from './lib/event-streams.ts'
import { median, quantile } from './lib/figures.ts'
import { type GatewayProcess, startGatewayProcess } from './lib/gateway-process.ts'
import { catalogueWith, makeKeys } from './lib/model-customers.ts'
import { type Calls, callAtRate, callInTurn, type ModelSide, openStreams } from './lib/model-load.ts'
import { type Peer, startLitellm, startPortkey } from './lib/model-peers.ts'

/** A customer has 200 calls under way, and a key 3,000 in a minute. */
const CUSTOMERS = 12
const KEYS_EACH = 2
const ROUNDS = 5
const CALLS_IN_TURN = 200
const CALLS_AT_ONCE = 64
const CALLS_OF_LIMIT = 3_000
const RATE_MOST = 1_000
const RATE_SECONDS = 5
/** Of what a side can do at the most: beyond that a call waits for those before it, whoever answers. */
const RATE_SHARE = 0.7
/** Streams at once, and how they speak: some thousand tokens a second at the most, as the processors are two. */
const STREAMS = [
  { streams: 1, tokens: 200, pauseMs: 20, beginAtOnce: 1 },
  { streams: 100, tokens: 50, pauseMs: 200, beginAtOnce: 25 },
  { streams: 1_000, tokens: 15, pauseMs: 2_000, beginAtOnce: 50 },
]
const SETTLE_MS = 4_000
const AIM_P50_MS = 0.44
const AIM_P99_MS = 5
const AIM_BYTES = 64_000

const log = createLog({ level: 'error', pretty: false })
const parts = process.argv.slice(2)
const isAsked = (part: string) => parts.length === 0 || parts.includes(part)

const server = await startChildServer('bench/fast-model-server.ts', /ready on (\S+)/, {})
const upstream = `${server.ready[1]}/v1`
const catalogue = catalogueWith(upstream)
const collected = { ours: await collectable(), portkey: await collectable() }
const gateway = await startGatewayProcess({
  ...{ BERTH_CATALOGUE: catalogue.file, BERTH_FIND_MODELS: 'off', BERTH_CAPTCHA: 'none' },
  ...(isAsked('memory') && collected.ours.env),
})
const database = openDatabase({ url: databaseUrlOf(gateway.dataDir), log, poolSize: 1 })
const peers: Peer[] = []
try {
  const direct: ModelSide = {
    name: 'direct',
    origin: server.ready[1] ?? '',
    pids: () => [],
    credentials: () => ({}),
  }
  const ours = await oursOf(gateway)
  peers.push(...(await startPeers()))
  const sides = [ours, ...peers]
  if (isAsked('calls')) await measureCalls(direct, sides, database)
  if (isAsked('rate')) await measureRate(direct, sides)
  if (isAsked('streams')) await measureStreams(direct, sides)
  if (isAsked('memory')) await measureMemory(sides)
} finally {
  await Promise.allSettled(peers.map(peer => peer.stop()))
  await database.close()
  await gateway.stop()
  await server.stop()
  rmSync(catalogue.folder, { recursive: true, force: true })
}

/** The gateway, asked with one key after another, so that no limit of one is met. */
async function oursOf({ server: own, origin }: GatewayProcess): Promise<ModelSide> {
  const keys = await makeKeys(database.db, CUSTOMERS, KEYS_EACH)
  let nth = 0
  return {
    name: 'ours',
    origin,
    pids: () => processTree(own.pid),
    credentials: () => ({ authorization: `Bearer ${keys[nth++ % keys.length]}` }),
  }
}

async function startPeers(): Promise<Peer[]> {
  const { BERTH_BENCH_PORTKEY: portkey, BERTH_BENCH_LITELLM: litellm } = process.env
  if (!portkey) console.log('Portkey is left out: BERTH_BENCH_PORTKEY names no folder')
  if (!litellm) console.log('LiteLLM is left out: BERTH_BENCH_LITELLM names no folder')
  const started: Peer[] = []
  if (portkey) started.push(await startPortkey(portkey, upstream, collected.portkey.env))
  if (litellm) started.push(await startLitellm(litellm, upstream))
  return started
}

/** Calls one after the other, and what one costs of a processor. */
async function measureCalls(direct: ModelSide, sides: ModelSide[], { pool }: OpenDatabase): Promise<void> {
  const all = new Map([direct, ...sides].map(side => [side.name, [] as Calls[]]))
  const commits: number[] = []
  await pool.query('create table if not exists bench_commit (n int)')
  for (let round = 0; round <= ROUNDS; round++) {
    for (const side of [direct, ...sides]) {
      const calls = await callInTurn(side, CALLS_IN_TURN, 1)
      if (round > 0) all.get(side.name)?.push(calls)
    }
    for (let nth = 0; nth < CALLS_IN_TURN && round > 0; nth++) {
      const startedAt = performance.now()
      await pool.query('insert into bench_commit values (1)')
      commits.push(performance.now() - startedAt)
    }
  }
  await pool.query('drop table bench_commit')
  console.log(`a bare insert of one row, committed to this disk: ${told(commits)}`)
  const floor = all.get(direct.name) ?? []
  for (const { name } of sides) printCalls('calls one after the other', name, all.get(name) ?? [], floor)
}

/** Calls that come at a steady rate, one that this machine can answer. */
async function measureRate(direct: ModelSide, sides: ModelSide[]): Promise<void> {
  for (const side of sides) {
    await callInTurn(side, CALLS_OF_LIMIT / 4, CALLS_AT_ONCE)
    const limit = await callInTurn(side, CALLS_OF_LIMIT, CALLS_AT_ONCE)
    const rate = Math.min(RATE_MOST, Math.floor(limit.perSecond * RATE_SHARE))
    const [through, floor]: [Calls[], Calls[]] = [[], []]
    for (let round = 0; round < 3; round++) {
      floor.push(await callAtRate(direct, rate, RATE_SECONDS))
      through.push(await callAtRate(side, rate, RATE_SECONDS))
    }
    console.log(
      `${side.name}: at the most ${limit.perSecond.toFixed(0)} calls a second, ${CALLS_AT_ONCE} at once`,
    )
    printCalls(`${rate} calls a second`, side.name, through, floor)
  }
}

function printCalls(what: string, name: string, through: Calls[], floor: Calls[]): void {
  const more = (part: number) =>
    median(through.map(({ took }, at) => quantile(took, part) - quantile(floor[at]?.took ?? [], part)))
  const [p50, p99] = [more(0.5), more(0.99)]
  const aim = (is: number, most: number) =>
    name === 'ours' ? ` (aim under ${most}: ${is < most ? 'met' : 'MISSED'})` : ''
  console.log(
    `${what}, ${name}: ${told(through.flatMap(({ took }) => took))}, direct ${told(floor.flatMap(({ took }) => took))}: ` +
      `p50 ${p50.toFixed(2)} ms more${aim(p50, AIM_P50_MS)}, p99 ${p99.toFixed(2)} ms more${aim(p99, AIM_P99_MS)}; ` +
      `${median(through.map(({ cpuMs }) => cpuMs)).toFixed(2)} ms of a processor for each`,
  )
}

/** Each token of streams, from its server to the client. */
async function measureStreams(direct: ModelSide, sides: ModelSide[]): Promise<void> {
  for (const asked of STREAMS) {
    const floor = await openStreams(direct, asked)
    console.log(
      `tokens of ${asked.streams} streams at once, direct: ${told(floor.tokens)}; the first one ${told(floor.first)}`,
    )
    for (const side of sides) {
      const seen = await openStreams(side, asked).catch((error: Error) => error)
      if (seen instanceof Error) {
        console.log(`tokens of ${asked.streams} streams at once, ${side.name}: ${seen.message}`)
        continue
      }
      const more = (part: number) => (quantile(seen.tokens, part) - quantile(floor.tokens, part)).toFixed(2)
      console.log(
        `tokens of ${asked.streams} streams at once, ${side.name}: ${told(seen.tokens)}: p50 ${more(0.5)} ms more, ` +
          `p99 ${more(0.99)} ms more; the first one ${told(seen.first)}`,
      )
    }
  }
}

/** What a thousand open streams add to what the processes held before. */
async function measureMemory(sides: ModelSide[]): Promise<void> {
  for (const side of sides) {
    const collectPort = { ours: collected.ours.port, Portkey: collected.portkey.port }[side.name]
    const held = async () => {
      await sleep(SETTLE_MS)
      if (collectPort) await collectGarbage(collectPort)
      return residentBytes(side.pids()[0] ?? 0)
    }
    const asked = { streams: 1_000, tokens: 60, pauseMs: 2_000, beginAtOnce: 50 }
    await openStreams(side, { ...asked, streams: 100, tokens: 3, pauseMs: 100 })
    const before = await held()
    let bytes = Number.NaN
    await openStreams(side, {
      ...asked,
      onAllOpen: async () => {
        bytes = ((await held()) - before) / asked.streams
      },
    })
    const aim = side.name === 'ours' ? ` (aim under 64 KB: ${bytes < AIM_BYTES ? 'met' : 'MISSED'})` : ''
    console.log(
      `memory of each of ${asked.streams} open streams, ${side.name}: ${(bytes / 1_000).toFixed(1)} KB${aim}`,
    )
  }
}

function told(values: number[]): string {
  return `p50 ${median(values).toFixed(2)} ms, p99 ${quantile(values, 0.99).toFixed(2)} ms`
}
