// A thousand live streams of events on one gateway: what each of them holds in memory, and how long a change takes until
// it has reached all, beside a bare server that keeps as many answers and writes the same bytes to them.
import { setTimeout as sleep } from 'node:timers/promises'
import { APPLICATION, login, ORGANIZATION, signup } from '@berth/contract/account'
import type { Call, CallData, CallInput } from '@berth/contract/call'
import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import { followInstances } from '@berth/contract/instance-follow'
import { Client } from 'undici'
import { type OpenDatabase, openDatabase } from '../apps/gateway/src/platform/database/open-database.ts'
import { createLog } from '../apps/gateway/src/platform/log.ts'
import { startChildServer, threadMs } from './lib/child-server.ts'
import { collectable, collectGarbage } from './lib/collect-garbage.ts'
import { databaseUrlOf } from './lib/database-url.ts'
import { type EventStream, openEventStream, residentBytes } from './lib/event-streams.ts'
import { median, printFigure, quantile } from './lib/figures.ts'
import { type GatewayProcess, startGatewayProcess } from './lib/gateway-process.ts'
import { inTurns } from './lib/rounds.ts'

/** A customer may have 24 streams on a gateway: so many customers have a thousand together. */
const CUSTOMERS = 42
const STREAMS_EACH = 24
const STREAMS = CUSTOMERS * STREAMS_EACH
/** Opened, told of a change and closed again before anything is measured, so that what is made once is there. */
const WARMING = STREAMS_EACH * 4
const ROUNDS = 20
const SETTLE_MS = 5_000
const AIM_BYTES = 30_000
const AIM_MS = 200
const PASSWORD = 'Correct-Horse-7'

interface Customer {
  token: string
  from: string
  instanceId: string
}

/** Something that streams can be opened on, and that can be made to tell. */
interface Side {
  pid: number
  /** Where it is asked to collect its garbage. */
  collectPort: number
  open(nth: number): Promise<EventStream>
  /** Has it tell every stream of that number. */
  tell(round: number): Promise<unknown>
  /** What stands in that event. */
  mark(round: number): string
}

const log = createLog({ level: 'error', pretty: false })
const collected = { ours: await collectable(), bare: await collectable() }
const gateway = await startGatewayProcess({ BERTH_CAPTCHA: 'none', ...collected.ours.env })
const database = openDatabase({ url: databaseUrlOf(gateway.dataDir), log, poolSize: 1 })
try {
  const customers = await makeCustomers(gateway, database)
  const ours = oursOf(gateway, database, customers)
  const event = await eventOf(ours)
  const bareServer = await startChildServer('bench/bare-event-server.ts', /ready on (\S+)/, {
    BENCH_EVENT: event,
    ...collected.bare.env,
  })
  try {
    await measure(ours, bareOf(bareServer.ready[1] ?? '', bareServer.pid))
  } finally {
    await bareServer.stop()
  }
} finally {
  await database.close()
  await gateway.stop()
}

async function measure(ours: Side, bare: Side): Promise<void> {
  const held = { ours: await fill(ours), bare: await fill(bare) }
  const each = (bytes: number) => `${(bytes / STREAMS / 1_000).toFixed(1)} KB`
  printFigure({
    what: `memory of each of ${STREAMS} streams`,
    ours: each(held.ours.bytes),
    bare: each(held.bare.bytes),
    compared: `${each(held.ours.bytes - held.bare.bytes)} more`,
    aim: { says: `under ${AIM_BYTES / 1_000} KB`, met: held.ours.bytes / STREAMS < AIM_BYTES },
  })
  const worked: number[] = []
  const rounds = await inTurns(ROUNDS, {
    async ours(round) {
      const before = threadMs(ours.pid)
      const took = await reach(ours, held.ours.streams, round)
      worked.push(threadMs(ours.pid) - before)
      return took
    },
    bare: round => reach(bare, held.bare.streams, round),
  })
  const told = (values: number[]) =>
    `${median(values).toFixed(0)} ms (slowest of ${ROUNDS} rounds ${quantile(values, 1).toFixed(0)})`
  printFigure({
    what: `a change until it has reached all ${STREAMS}, median`,
    ours: `${told(rounds.ours)}, ${median(worked).toFixed(0)} ms of it the gateway’s own`,
    bare: told(rounds.bare),
    compared: `${(median(rounds.ours) - median(rounds.bare)).toFixed(0)} ms more`,
    aim: { says: `under ${AIM_MS} ms`, met: median(rounds.ours) < AIM_MS },
  })
  for (const stream of [...held.ours.streams, ...held.bare.streams]) stream.close()
}

/** Opens all streams. @returns What they add to what the process held before, once it rests. */
async function fill(side: Side): Promise<{ streams: EventStream[]; bytes: number }> {
  const warming = await openMany(side, WARMING)
  await reach(side, warming, -1)
  for (const stream of warming) stream.close()
  const before = await heldBytes(side)
  const streams = await openMany(side, STREAMS)
  // Each has been written to, as all are in a while.
  await reach(side, streams, -2)
  return { streams, bytes: (await heldBytes(side)) - before }
}

/** What it holds at rest: what openings and events left behind is collected at some time, and is no part of a stream. */
async function heldBytes({ pid, collectPort }: Side): Promise<number> {
  await sleep(SETTLE_MS)
  await collectGarbage(collectPort)
  return residentBytes(pid)
}

/** As many at a time as come to a gateway when another one has ended. */
async function openMany(side: Side, count: number): Promise<EventStream[]> {
  const streams: EventStream[] = []
  while (streams.length < count) {
    const some = Array.from({ length: STREAMS_EACH }, (_, nth) => side.open(streams.length + nth))
    streams.push(...(await Promise.all(some)))
  }
  return streams
}

/** @returns From the change until the last stream has heard of it, in ms. */
async function reach(side: Side, streams: EventStream[], round: number): Promise<number> {
  const heard = Promise.all(streams.map(stream => stream.hears(side.mark(round))))
  const startedAt = performance.now()
  await side.tell(round)
  const times = await heard
  // A round begins with a gateway at rest: what comes within a tenth of a second of another change waits for the rest of it.
  await sleep(AIM_MS)
  return Math.max(...times) - startedAt
}

/** One statement changes the instance of each customer: all streams are told by it. */
function oursOf(own: GatewayProcess, { pool }: OpenDatabase, customers: readonly Customer[]): Side {
  const mark = (round: number) => `"name":"round${round}"`
  const ids = customers.map(({ instanceId }) => instanceId)
  return {
    pid: own.server.pid,
    collectPort: collected.ours.port,
    mark,
    async open(nth) {
      const { token, from } = customers[nth % customers.length] ?? { token: '', from: '' }
      return openEventStream(own.origin + GATEWAY_PREFIX + followInstances.path, from, token)
    },
    tell: round => pool.query('update instance set name = $1 where id = any($2)', [`round${round}`, ids]),
  }
}

function bareOf(origin: string, pid: number): Side {
  return {
    pid,
    collectPort: collected.bare.port,
    mark: round => `"name":"round${round}"`,
    open: () => openEventStream(origin, '127.0.0.1', ''),
    tell: round => fetch(`${origin}/${round}`, { method: 'POST' }),
  }
}

/** The bytes of an event of ours, with the number of its round left open. */
async function eventOf(side: Side): Promise<string> {
  const stream = await side.open(0)
  const whole = stream.whole(side.mark(0))
  await side.tell(0)
  const text = await whole
  stream.close()
  return text.replaceAll('round0', 'roundNUMBER')
}

/** Customers with an instance each, which is at rest: rows of one that was really deployed. */
async function makeCustomers(own: GatewayProcess, { pool }: OpenDatabase): Promise<Customer[]> {
  const made = await own.deploy()
  await own.until(made, 'running')
  const customers: Customer[] = []
  for (let nth = 0; nth < CUSTOMERS; nth++) {
    // Each from an address of their own, as they are.
    const from = `127.0.1.${nth + 1}`
    const { token, userId } = await signUp(own.origin, from, `bench${nth}@example.org`)
    const instanceId = `i-bench${String(nth).padStart(2, '0')}`
    const part = {
      ...{ id: instanceId, user_id: userId, service_secret: instanceId, engine_id: null, status: 'stopped' },
      ...{ desired: 'stopped', may_run: false, ready_at: null, progress: null, lease_owner: null },
      ...{ stopped_at: new Date(), next_attempt_at: new Date(Date.now() + 3_600_000) },
    }
    await pool.query(
      'insert into instance select (jsonb_populate_record(i, $1::jsonb)).* from instance i where id = $2',
      [JSON.stringify(part), made],
    )
    customers.push({ token, from, instanceId })
  }
  return customers
}

async function signUp(
  origin: string,
  from: string,
  email: string,
): Promise<{ token: string; userId: string }> {
  const client = new Client(origin, { connect: { localAddress: from } })
  const names = { application: APPLICATION, organization: ORGANIZATION }
  async function call<C extends Call>({ method, path }: C, body: CallInput<C>['body']): Promise<CallData<C>> {
    const answer = await client.request({
      method,
      path: GATEWAY_PREFIX + path,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const envelope = (await answer.body.json()) as { status: string; msg: string; data: CallData<C> }
    if (envelope.status !== 'ok') throw new Error(envelope.msg)
    return envelope.data
  }
  try {
    await call(signup, {
      ...{ ...names, username: email, email, password: PASSWORD, name: 'Bench', agreement: true },
    })
    const token = await call(login, { ...names, type: 'token', username: email, password: PASSWORD })
    const [, claims = ''] = token.split('.')
    const { sub = '' } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { sub?: string }
    return { token, userId: sub }
  } finally {
    await client.close()
  }
}
