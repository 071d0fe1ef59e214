import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import type { RequestOptions as TlsOptions } from 'node:https'
import type { Call, CallData, CallInput } from '@berth/contract/call'
import type { InstanceStatus } from '@berth/contract/instance-states'
import { startWebTerminal } from '@berth/contract/instances'
import {
  decodeServerFrame,
  encodeClientFrame,
  TERMINAL_PATH,
  TERMINAL_SUBPROTOCOL,
  TERMINAL_TICKET_PREFIX,
  type TerminalServerFrame,
} from '@berth/contract/terminal'
import { eq } from 'drizzle-orm'
import { pino } from 'pino'
import { WebSocket } from 'ws'
import { openCustomers } from '../../../test/open-customers.ts'
import { shippedCatalogue } from '../../../test/shipped-catalogue.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { createTestEvents } from '../../../test/test-events.ts'
import { startTestServer } from '../../../test/test-server.ts'
import { systemClock } from '../../platform/clock.ts'
import { notify } from '../../platform/database/open-database.ts'
import { findDirectHost } from '../../platform/direct-host.ts'
import type { Caller } from '../../platform/http/handler.ts'
import { systemIds } from '../../platform/ids.ts'
import { INSTANCE_CHANNEL } from '../instances/change-status.ts'
import { noteUsed } from '../instances/idle.ts'
import { noteNoPort } from '../instances/no-port.ts'
import * as reads from '../instances/reads.ts'
import { instance } from '../instances/tables.ts'
import { createPublicIps } from '../public-ips/public-ips.ts'
import type { ReachedEngine } from './machine-ways.ts'
import { createReach, type ReachDeps } from './reach.ts'

/** A gateway that can only connect to instances: the real server, database and rules; rows made by the test. */
export type ConnectFixture = Awaited<ReturnType<typeof startConnectFixture>>

/** Two customers, by the tokens that the fixture's server knows. */
export const CALLERS: Record<'anna' | 'ben', Caller> = {
  anna: { userId: systemIds.uuid(), sessionId: systemIds.uuid(), emailVerified: true, provenAt: new Date(0) },
  ben: { userId: systemIds.uuid(), sessionId: systemIds.uuid(), emailVerified: true, provenAt: new Date(0) },
}

const POLL_MS = 10
/** Only what never comes meets it, also on a computer that does much else. */
const DEADLINE_MS = 60_000

interface Answered<C extends Call> {
  httpStatus: number
  code: string | null
  /** What is wrong with which field. */
  fields: { path: string; rule: string }[]
  data: CallData<C>
}

/** Of several gateways, each has some of its own. */
export interface ConnectParts {
  /** Dropped by whoever made it. Left out: one for this gateway alone. */
  database?: TestDatabase
  gateways?: ReachDeps['gateways']
  whereIs?: ReachDeps['whereIs']
  ssh?: ReachDeps['ssh']
  direct?: ReachDeps['direct']
  /** Addresses for instances alone; they stay where they are from one gateway to the next. */
  publicIps?: { address: string; listen: string }[]
}

/** A gateway that is the only one. */
const ALONE: ReachDeps['gateways'] = {
  serve: () => undefined,
  open: () => Promise.reject(new Error('there is no other')),
}

/**
 * Starts such a gateway.
 * @param engine What its machines are reached by, unless the parts say where they are.
 */
export async function startConnectFixture(
  engine: ReachedEngine,
  limits: NonNullable<ReachDeps['limits']> = {},
  parts: ConnectParts = {},
) {
  const database = parts.database ?? (await createTestDatabase())
  const { db } = database
  await openCustomers(db, ...Object.values(CALLERS).map(({ userId }) => userId))
  const clock = { offsetMs: 0, now: () => new Date(systemClock.now().getTime() + clock.offsetMs) }
  const sessions = createSessionStub()
  const region = {
    code: 'local',
    name: 'local',
    enabled: true,
    engines: [],
    public_ips: parts.publicIps ?? [],
    traffic_micro_per_gb: 0n,
  }
  const { prices } = shippedCatalogue()
  const publicIps = createPublicIps({ db, clock, ids: systemIds, catalogue: { regions: [region], prices } })
  await publicIps.seed()
  const connect = createReach({
    db,
    clock,
    ids: systemIds,
    log: pino({ level: 'silent' }),
    listen: database.listen,
    whereIs: parts.whereIs ?? (async () => ({ at: 'here', engine })),
    gateways: parts.gateways ?? ALONE,
    publicIps,
    selfId: systemIds.uuid(),
    instances: {
      findRunning: (userId, instanceId) => reads.findRunning(db, { userId, instanceId }),
      findOwnEver: target => reads.findOwnEver(db, target),
      findOwn: target => reads.findOwn(db, target),
      findService: secret => reads.findService(db, secret),
      ownerOf: instanceId => reads.ownerOf(db, instanceId),
      accessOf: instanceId => reads.accessOf(db, instanceId),
      noteUsed: ids => noteUsed(db, ids, clock.now()),
      noteNoPort: lacked => noteNoPort(db, lacked, clock.now()),
    },
    identity: sessions,
    events: createTestEvents(db),
    host: '127.0.0.1',
    internalHost: '127.0.0.1',
    publicUrl: null,
    trustedProxies: [PROXY_ADDRESS],
    serviceHost: 'localhost',
    uploadGbMax: 1,
    direct: parts.direct ?? { host: await findDirectHost(null), name: null, ports: null },
    ssh: parts.ssh ?? null,
    limits,
  })
  const server = await startTestServer(db, connect.routes, {
    authenticate: async token => CALLERS[token as 'anna' | 'ben'] ?? null,
    rawRoutes: connect.rawRoutes,
    upgrades: [connect.terminals.upgrade],
    serviceOrigin: connect.serviceOrigin,
  })
  const stop = await connect.start()

  async function call<C extends Call>(
    called: C,
    input: CallInput<C>,
    token: 'anna' | 'ben' = 'anna',
  ): Promise<Answered<C>> {
    const params = (input.params ?? {}) as Record<string, string>
    const path = called.path.replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? '')
    const response = await fetch(`${server.origin}/gateway${path}`, {
      method: called.method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(called.body ? { body: JSON.stringify(input.body) } : {}),
    })
    const {
      code = null,
      fields = [],
      data,
    } = (await response.json()) as Partial<Answered<C>> & {
      data: CallData<C>
    }
    return { httpStatus: response.status, code, fields, data }
  }

  return {
    database,
    server,
    connect,
    publicIps,
    clock,
    sessions,
    call,
    /** Makes an instance of Anna's that runs, as far as the database knows. */
    async addInstance(part: RowPart = {}) {
      const row = runningRow(part)
      await db.insert(instance).values(row)
      return { id: row.id, secret: row.serviceSecret }
    },
    /** Changes an instance's status, with the notice that goes with it. */
    async setStatus(id: string, status: InstanceStatus) {
      await db.transaction(async tx => {
        await tx.update(instance).set({ status }).where(eq(instance.id, id))
        await notify(tx, INSTANCE_CHANNEL, id)
      })
    },
    /** Asks for a ticket, and opens the socket that it is for. */
    async openShell(instanceId: string, session: number, options?: TerminalOptions): Promise<TestTerminal> {
      const { data } = await call(startWebTerminal, { body: { instance_id: instanceId, session } })
      return openTerminal(server.origin, data.ticket, { path: data.path, ...options })
    },
    async ticket(instanceId: string, token: 'anna' | 'ben' = 'anna'): Promise<string> {
      const { data } = await call(startWebTerminal, { body: { instance_id: instanceId } }, token)
      return data.ticket
    },
    /** A request to an instance's service, by its host name. */
    service: (host: string, options: ServiceRequest = {}) => requestService(server.port, host, options),
    async close() {
      void connect.leave()
      await connect.shutdown()
      await stop()
      await server.close(100)
      if (!parts.database) await database.drop()
    },
  }
}

function createSessionStub() {
  const ended = new Set<string>()
  const ending = new Set<string>()
  const listeners = new Set<() => void>()
  const end = (sessionId: string) => {
    ended.add(sessionId)
    for (const listener of listeners) listener()
  }
  return {
    isSessionOpen: async (sessionId: string) => {
      const isOpen = !ended.has(sessionId)
      if (ending.delete(sessionId)) end(sessionId)
      return isOpen
    },
    watchSessions: async (onChange: () => void) => {
      listeners.add(onChange)
      return () => listeners.delete(onChange)
    },
    end,
    /** Ends a session right after it was seen open the next time. */
    endOnceSeen: (sessionId: string) => ending.add(sessionId),
    reopen: (sessionId: string) => ended.delete(sessionId),
  }
}

interface RowPart {
  httpPorts?: number[]
  tcpPorts?: number[]
  udpPorts?: number[]
  id?: string
  kind?: 'POD' | 'VM'
  idleStopMinutes?: number
}

function runningRow(part: RowPart) {
  const now = systemClock.now()
  return {
    id: systemIds.instanceId(),
    userId: CALLERS.anna.userId,
    name: 'connected',
    kind: 'POD',
    regionCode: 'local',
    gpuSpecId: 'cpu',
    gpuCount: 1,
    simulated: true,
    spec: { name: 'CPU', gpu: false, vram_gb: 0, vcpu: 1, memory_gb: 1 },
    gpuUuids: [],
    imageId: 'host',
    billingType: 'postpay',
    containerDiskGb: 20,
    httpPorts: [],
    tcpPorts: [],
    env: {},
    startCommand: '',
    onCommandEnd: 'keep',
    runningMicroPerHour: 0n,
    stoppedMicroPerHour: 0n,
    serviceSecret: systemIds.hostSecret(),
    desired: 'running',
    status: 'running',
    statusSince: now,
    nextAttemptAt: now,
    createdAt: now,
    ...part,
  } as const satisfies typeof instance.$inferInsert
}

export interface TerminalOptions {
  cols?: number
  rows?: number
  origin?: string
  /** Of the socket, where it is not the first shell's. */
  path?: string
  /** Acknowledges output as it comes, as a tab does that renders at once. */
  acks?: boolean
  protocols?: string[]
  /** How it connects, where that is by TLS. */
  client?: Pick<TlsOptions, 'ca' | 'lookup'>
  /** False for a client that stays silent. */
  saysSize?: boolean
}

/** A browser tab's end of a terminal. */
export type TestTerminal = Awaited<ReturnType<typeof openTerminal>>

/** Opens a terminal socket and says its size. Fails with the HTTP status when the upgrade is refused. */
export async function openTerminal(origin: string, ticket: string, options: TerminalOptions = {}) {
  const { cols = 80, rows = 24 } = options
  let { acks = true } = options
  const protocols = options.protocols ?? [TERMINAL_SUBPROTOCOL, `${TERMINAL_TICKET_PREFIX}${ticket}`]
  const { path = TERMINAL_PATH } = options
  const socket = new WebSocket(`${origin.replace('http', 'ws')}${path}`, protocols, {
    perMessageDeflate: false,
    ...(options.origin ? { origin: options.origin } : {}),
    ...options.client,
  })
  const frames: TerminalServerFrame[] = []
  let output: Buffer[] = []
  let outputBytes = 0
  let replay: string | null = null
  socket.on('message', data => {
    const frame = decodeServerFrame(data as Buffer)
    if (!frame) throw new Error('a frame that is none')
    if (frame.kind === 'replay_begin') {
      output = []
      replay = null
    } else if (frame.kind === 'replay_end') replay = Buffer.concat(output).toString()
    if (frame.kind !== 'output') return void frames.push(frame)
    output.push(Buffer.from(frame.bytes))
    outputBytes += frame.bytes.length
    if (acks) ack(frame.bytes.length)
  })
  const closed = new Promise<{ code: number; reason: string }>(resolve => {
    socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() }))
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('open', () => resolve())
    socket.once('unexpected-response', (request, response: IncomingMessage) => {
      request.destroy()
      reject(new Error(`HTTP ${response.statusCode}`))
    })
    socket.once('error', reject)
  })
  socket.on('error', () => undefined)
  const ack = (bytes: number) => socket.send(encodeClientFrame({ kind: 'ack', bytes }))
  const resize = (nextCols: number, nextRows: number) =>
    socket.send(encodeClientFrame({ kind: 'resize', cols: nextCols, rows: nextRows }))
  if (options.saysSize !== false) resize(cols, rows)
  return {
    socket,
    frames,
    closed,
    ack,
    resize,
    /** From here on output is acknowledged as it comes. */
    renders: () => {
      acks = true
    },
    /** Output since the last replay began. */
    text: () => Buffer.concat(output).toString(),
    outputBytes: () => outputBytes,
    /** What the last replay showed; null while it is under way. */
    replay: () => replay,
    type: (text: string) =>
      socket.send(encodeClientFrame({ kind: 'input', bytes: new TextEncoder().encode(text) })),
    async shows(pattern: RegExp): Promise<RegExpExecArray> {
      let lookedAtBytes = -1
      return eventually(`${pattern}`, () => {
        // Only what has come since may show it; looking through megabytes again and again takes a core.
        if (lookedAtBytes === outputBytes) return null
        lookedAtBytes = outputBytes
        return pattern.exec(Buffer.concat(output).toString())
      })
    },
    async leave() {
      socket.close()
      await closed
    },
  }
}

/** Of the proxy in front, which is believed. */
export const PROXY_ADDRESS = '127.0.0.9'

interface ServiceRequest {
  /** Where it comes from; left out: 127.0.0.1. */
  localAddress?: string
  method?: string
  path?: string
  headers?: Record<string, string>
  body?: Buffer
}

/** Names below `localhost` resolve in browsers, not in every resolver: so the connection names the address. */
async function requestService(port: number, host: string, options: ServiceRequest) {
  const request = httpRequest({
    host: '127.0.0.1',
    port,
    method: options.method ?? 'GET',
    path: options.path ?? '/',
    ...(options.localAddress !== undefined && { localAddress: options.localAddress }),
    headers: { ...options.headers, host: `${host}:${port}` },
    agent: false,
  })
  request.end(options.body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }
}

/** Asks until there is an answer, for at most a minute unless told otherwise. */
export async function eventually<T>(
  what: string,
  read: () => T | null | undefined | false | Promise<T | null | undefined | false>,
  patienceMs = DEADLINE_MS,
): Promise<T> {
  const deadline = performance.now() + patienceMs
  for (;;) {
    const value = await read()
    if (value) return value
    if (performance.now() > deadline) throw new Error(`${what}: not within ${patienceMs} ms`)
    await new Promise(resolve => setTimeout(resolve, POLL_MS))
  }
}
