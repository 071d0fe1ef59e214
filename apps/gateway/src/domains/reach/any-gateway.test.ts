import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { searchInstanceLogs, startLogDownload } from '@berth/contract/instance-page'
import { getConnection, getInstanceLogs, startWebTerminal, stopWebTerminal } from '@berth/contract/instances'
import { TERMINAL_CLOSE } from '@berth/contract/terminal'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { followCall } from '../../../test/follow-call.ts'
import { heldBytes } from '../../../test/held-bytes.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { createFakeEngine, type FakeEngine } from '../../drivers/compute/fake/fake-engine.ts'
import { ComputeError } from '../../drivers/compute/port/compute-error.ts'
import { lineOf } from '../../drivers/compute/sessions/datagram-line.ts'
import { openUdpSocket } from '../../drivers/compute/sessions/udp-socket.ts'
import { systemClock } from '../../platform/clock.ts'
import { createGateways, type Gateways } from '../../platform/gateways/gateways.ts'
import { systemIds } from '../../platform/ids.ts'
import { followLog } from './logs/follow-fixture.ts'
import type { Place, ReachedEngine } from './machine-ways.ts'
import {
  type ConnectFixture,
  eventually,
  openTerminal,
  startConnectFixture,
  type TestTerminal,
} from './reach-fixture.ts'

// Goal: whichever of two gateways is asked, every way into a machine works that only one of them reaches, and a terminal
// survives the gateway that held it. Method: two gateways with a real channel between them, on one database, each with
// an engine object of its own on the same machines; HTTP and TCP servers of the test's own stand in for what listens in
// the machine.

const MIB = 1024 * 1024
const HTTP_PORT = 8000
const ECHO_PORT = 8001
const CLOSED_PORT = 8002
const UDP_PORT = 8003
const POURED_BYTES = 64 * MIB
/** What sockets on four hops may hold of an answer that nobody reads. */
const UNDER_WAY_BYTES_MAX = 24 * MIB
/** Of that, what is in this process and not in the kernel. */
const HELD_BYTES_MAX = 4 * MIB
const KEY = new Uint8Array(32).fill(9)
const log = pino({ level: 'silent' })

/** A gateway that may be killed, and where it believes the machine to be. */
interface OneGateway extends ConnectFixture {
  gateways: Gateways
  place: Place
  /** Where it finds the machine when what it believes does not answer. */
  otherwise: Place | null
}

let database: TestDatabase
let near: OneGateway
let far: OneGateway
let engines: FakeEngine[]
let id: string
let secret: string
let poured = 0
/** What the machine's command writes. */
const KEPT_LINES = 50_000
let written = new PassThrough()
const ports = new Map<number, number>()
const closers: (() => Promise<void> | void)[] = []
let tabs: TestTerminal[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  await startServices()
  const one = createFakeEngine({ clock: systemClock })
  far = await startGateway({ at: 'here', engine: reached(one) })
  near = await startGateway({ at: 'elsewhere', gatewayId: far.gateways.selfId })
  ;({ id, secret } = await far.addInstance({
    httpPorts: [HTTP_PORT, CLOSED_PORT],
    tcpPorts: [ECHO_PORT],
    udpPorts: [UDP_PORT],
  }))
  one.plant(id, 'running')
  // Another object on the same machines, as a gateway has that takes them over.
  engines = [one, createFakeEngine({ clock: systemClock, held: one.held })]
})
afterEach(async () => {
  await Promise.all(tabs.map(tab => tab.leave()))
  tabs = []
  await far.connect.terminals.stop(id, null)
})
afterAll(async () => {
  await kill(near)
  await kill(far)
  for (const close of closers) await close()
  await database.drop()
})

describe('[R2.23] through the gateway that does not reach the machine', () => {
  test('an HTTP service answers, and sees the request as it was', async () => {
    const answer = await near.service(`${secret}-${HTTP_PORT}.localhost`, {
      method: 'POST',
      path: '/mirror?a=1',
      body: Buffer.from('asked'),
    })
    expect(answer.status).toBe(201)
    expect(JSON.parse(answer.body.toString())).toEqual({ method: 'POST', url: '/mirror?a=1', body: 'asked' })
  })

  test('a port on which nothing listens is told as it is', async () => {
    const [here, there] = await Promise.all(
      [far, near].map(one => one.service(`${secret}-${CLOSED_PORT}.localhost`)),
    )
    expect(there?.status).toBe(here?.status)
    expect(there?.body.toString()).toBe(here?.body.toString())
  })

  test('a WebSocket of a service passes messages both ways', async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${near.server.port}/echo`, {
      headers: { host: `${secret}-${HTTP_PORT}.localhost:${near.server.port}` },
    })
    await once(socket, 'open')
    socket.send('over the hop')
    const [said] = await once(socket, 'message')
    expect(String(said)).toBe('over the hop')
    socket.close()
    await once(socket, 'close')
  })

  test('an answer that nobody reads is not run ahead of, and comes whole when somebody does', async () => {
    poured = 0
    const request = httpRequest({
      host: '127.0.0.1',
      port: near.server.port,
      path: '/pour',
      headers: { host: `${secret}-${HTTP_PORT}.localhost:${near.server.port}` },
      agent: false,
    })
    request.end()
    const [answer] = (await once(request, 'response')) as [IncomingMessage]
    const heldFrom = heldBytes()
    await standsStill(() => poured)
    expect(poured).toBeLessThan(UNDER_WAY_BYTES_MAX)
    expect(heldBytes() - heldFrom).toBeLessThan(HELD_BYTES_MAX)
    let bytes = 0
    for await (const chunk of answer) bytes += (chunk as Buffer).length
    expect(bytes).toBe(POURED_BYTES)
  })

  test('[B9] all that is kept of a log is searched and saved', async () => {
    const from = { token: 'anna', params: { id }, query: { text: 'line 40000 ' } }
    const search = await followCall(near.server.origin, searchInstanceLogs, from)
    expect(await search.last()).toMatchObject({ found: 1, lines: KEPT_LINES, ended: 'whole' })
    const { data } = await near.call(startLogDownload, { params: { id } })
    const saved = await fetch(near.server.origin + data.path)
    expect(await saved.text()).toBe(keptLog())
  })

  test('[B9] a log is followed as it is written, and ends with the machine', async () => {
    written = new PassThrough()
    const log = await followLog(near.server.origin, id, 'anna')
    written.write('begun\nstep 1')
    await log.shows(/^begun\nstep 1$/)
    written.end(' of 2\n')
    expect(await log.ended()).toBe('machine')
    expect(log.text()).toBe('begun\nstep 1 of 2\n')
  })

  test('[B9] whoever follows a log and leaves is followed by nobody', async () => {
    written = new PassThrough()
    const log = await followLog(near.server.origin, id, 'anna')
    written.write('begun\n')
    await log.shows(/begun/)
    log.leave()
    await eventually('the end of its stream', () => written.destroyed)
  })

  test('a direct TCP port carries bytes both ways, and each side ends its own', async () => {
    const { data } = await near.call(getConnection, { params: { id } })
    expect(data.http.map(({ listening }) => listening)).toEqual([true, false])
    const socket = connect({
      host: data.tcp[0]?.host,
      port: data.tcp[0]?.public_port ?? 0,
      allowHalfOpen: true,
    })
    socket.end('direct')
    expect(await text(socket)).toBe('you said direct')
  })

  test('a direct UDP port carries datagrams both ways, whole and apart', async () => {
    const { data } = await near.call(getConnection, { params: { id } })
    const { host = '', public_port = 0 } = data.udp[0] ?? {}
    const socket = createSocket('udp4')
    const heard: string[] = []
    socket.on('message', datagram => heard.push(String(datagram)))
    await eventually('both answers', async () => {
      for (const word of ['one', 'two']) socket.send(word, public_port, host)
      return heard.includes('you said one') && heard.includes('you said two')
    })
    socket.close()
  })

  test('a terminal opens, and tabs at both gateways look at one shell', async () => {
    const one = await open(near)
    await one.shows(/# $/)
    const two = await open(far)
    await eventually('the replay', () => two.replay() !== null)
    one.type('echo shell-$$\r')
    const [, number] = await two.shows(/\r\nshell-(\d+)\r\n/)
    two.type('echo same-$$\r')
    await one.shows(new RegExp(`same-${number}\r\n`))
    for (const gateway of [near, far]) {
      const { data } = await gateway.call(getConnection, { params: { id } })
      expect(data.terminal).toEqual({ running: true })
    }
  })

  test('[R7.4] stop-web-terminal ends the shell for tabs at both', async () => {
    const seen = [await open(near), await open(far)]
    for (const tab of seen) await tab.shows(/# $/)
    expect(await near.call(stopWebTerminal, { body: { instance_id: id } })).toMatchObject({ httpStatus: 200 })
    for (const tab of seen) expect((await tab.closed).code).toBe(TERMINAL_CLOSE.stopped.code)
    const { data } = await near.call(getConnection, { params: { id } })
    expect(data.terminal).toEqual({ running: false })
  })

  test('[B9] each gateway names the shells that were opened by the other, and ends one of them', async () => {
    tabs.push(await near.openShell(id, 1), await far.openShell(id, 2), await near.openShell(id, 4))
    for (const tab of tabs) {
      await tab.shows(/# $/)
      tab.type('echo shell-$$\r')
    }
    const numbers = await Promise.all(tabs.map(async tab => (await tab.shows(/\r\nshell-(\d+)\r\n/))[1]))
    expect(new Set(numbers).size).toBe(3)
    const named = async (gateway: OneGateway) =>
      (await gateway.call(startWebTerminal, { body: { instance_id: id } })).data.sessions
    for (const gateway of [near, far]) expect(await named(gateway)).toEqual([1, 2, 4])
    await near.call(stopWebTerminal, { body: { instance_id: id, session: 2 } })
    expect((await tabs[1]?.closed)?.code).toBe(TERMINAL_CLOSE.stopped.code)
    for (const gateway of [near, far]) expect(await named(gateway)).toEqual([1, 4])
    await near.call(stopWebTerminal, { body: { instance_id: id } })
    for (const tab of tabs) expect((await tab.closed).code).toBe(TERMINAL_CLOSE.stopped.code)
    expect(await named(far)).toEqual([])
  })

  test('a ticket of one gateway opens a socket at the other, once', async () => {
    const { data } = await far.call(startWebTerminal, { body: { instance_id: id } })
    const tab = await openTerminal(near.server.origin, data.ticket)
    tabs.push(tab)
    await tab.shows(/# $/)
    await expect(openTerminal(far.server.origin, data.ticket)).rejects.toThrow('HTTP 401')
  })

  test('[B9] what its command wrote is read, by its owner alone', async () => {
    const machine = engines[0]?.held.get(id)
    if (machine) machine.log = 'berth: starting serve\n\u001b[32mready\u001b[0m\n'
    const input = { params: { id } }
    const read = await near.call(getInstanceLogs, input)
    expect(read).toMatchObject({ code: null, data: { text: 'berth: starting serve\nready', cut: false } })
    expect(await near.call(getInstanceLogs, input, 'ben')).toMatchObject({ code: 'not_found', data: null })
  })
})

// The last one: it kills a gateway.
test('[B9] a terminal survives the gateway that reached its machine: the page comes back by another and sees it again', async () => {
  const before = await open(near)
  await before.shows(/# $/)
  before.type('echo shell-$$\r')
  const [, number] = await before.shows(/\r\nshell-(\d+)\r\n/)
  await kill(far)
  // The page is told that it may come back.
  const { code } = await before.closed
  expect(code).toBe(TERMINAL_CLOSE.line_lost.code)
  expect(TERMINAL_CLOSE.line_lost.reconnect).toBe(true)
  // It does, at once: the gateway looks for the machine until somebody reaches it, here itself.
  const after = open(near)
  const engine = engines[1]
  if (!engine) throw new Error('no engine')
  near.otherwise = { at: 'here', engine: reached(engine) }
  const tab = await after
  await eventually('the replay', () => tab.replay()?.includes(`shell-${number}\r\n`))
  tab.type('echo again-$$\r')
  await tab.shows(new RegExp(`again-${number}\r\n`))
  await near.connect.terminals.stop(id, null)
  far = near
})

async function startGateway(place: Place): Promise<OneGateway> {
  const gateways = createGateways({
    ...database,
    selfId: systemIds.uuid(),
    log,
    key: KEY,
    host: '127.0.0.1',
    port: 0,
    address: null,
  })
  const one: Pick<OneGateway, 'place' | 'otherwise'> = { place, otherwise: null }
  const fixture = await startConnectFixture(
    reached(createFakeEngine({ clock: systemClock })),
    {},
    {
      database,
      gateways,
      whereIs: async (_, asked) => {
        const isAvoided = one.place.at === 'elsewhere' && asked?.avoid?.has(one.place.gatewayId)
        return isAvoided && one.otherwise ? one.otherwise : one.place
      },
    },
  )
  await gateways.start()
  return Object.assign(one, fixture, { gateways })
}

/** Ends a gateway as a kill does: what it held breaks, nobody is told a reason. */
async function kill(gateway: OneGateway): Promise<void> {
  await gateway.gateways.close()
  await gateway.close()
}

async function open(gateway: OneGateway): Promise<TestTerminal> {
  const tab = await openTerminal(gateway.server.origin, await gateway.ticket(id))
  tabs.push(tab)
  return tab
}

/** What the machine has written before. */
function keptLog(): string {
  return Array.from({ length: KEPT_LINES }, (_, line) => `line ${line + 1} of many\n`).join('')
}

/** An engine whose machine's ports lead to servers of the test's own. */
function reached({ console, observation }: FakeEngine): ReachedEngine {
  return {
    console,
    observation: {
      ...observation,
      followLogs: async () => written,
      keptLog: async () => Readable.from([Buffer.from(keptLog())]),
    },
    network: {
      async connect(_, port) {
        const there = ports.get(port)
        if (!there) throw new ComputeError('port_closed', 'nothing listens')
        const socket = connect({ port: there, host: '127.0.0.1', allowHalfOpen: true })
        await once(socket, 'connect')
        return socket
      },
      udp: { open: async (_, port) => lineOf(await openUdpSocket('127.0.0.1', ports.get(port) ?? 0)) },
    },
  }
}

async function startServices(): Promise<void> {
  const http = createServer(async (request, response) => {
    if (request.url === '/pour') {
      const piece = Buffer.alloc(256 * 1024, 'x')
      response.on('error', () => undefined)
      while (poured < POURED_BYTES && !response.destroyed) {
        poured += piece.length
        if (!response.write(piece)) await once(response, 'drain')
      }
      return void response.end()
    }
    response.writeHead(201).end(JSON.stringify({ ...pick(request), body: await text(request) }))
  })
  const sockets = new WebSocketServer({ server: http })
  sockets.on('connection', socket => socket.on('message', said => socket.send(String(said))))
  const datagrams = createSocket('udp4', (datagram, from) => {
    datagrams.send(`you said ${datagram}`, from.port, from.address)
  })
  datagrams.bind(0, '127.0.0.1')
  await once(datagrams, 'listening')
  ports.set(UDP_PORT, datagrams.address().port)
  closers.push(() => void datagrams.close())
  const echo = createTcpServer({ allowHalfOpen: true }, async socket => {
    socket.on('error', () => undefined)
    socket.end(`you said ${await text(socket)}`)
  })
  for (const [port, server] of [
    [HTTP_PORT, http],
    [ECHO_PORT, echo],
  ] as const) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    ports.set(port, (server.address() as AddressInfo).port)
    closers.push(() => void server.close())
  }
  closers.unshift(() => {
    for (const socket of sockets.clients) socket.terminate()
    http.closeAllConnections()
  })
}

function pick({ method, url }: IncomingMessage) {
  return { method, url }
}

/** Waits until a count has not changed over several looks. */
async function standsStill(read: () => number): Promise<void> {
  let same = 0
  let last = -1
  await eventually('a standstill', () => {
    const now = read()
    same = now === last && now > 0 ? same + 1 : 0
    last = now
    return same >= 30
  })
}
