import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { Readable } from 'node:stream'
import { getConnection } from '@berth/contract/instances'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { ComputeError } from '../../../drivers/compute/port/compute-error.ts'
import { instanceUse } from '../../instances/tables.ts'
import type { ReachedEngine } from '../machine-ways.ts'
import { type ConnectFixture, eventually, PROXY_ADDRESS, startConnectFixture } from '../reach-fixture.ts'
import { hostOnly } from './service-headers.ts'

// Goal: a customer's HTTP services as a browser meets them. Method: the real server in front, servers of the test's
// own behind; only the machine's network between them is a stand-in that leads ports of the instance to them.

const HTTP_PORT = 8000
const SILENT_PORT = 8001
const CLOSED_PORT = 8002
const RUDE_PORT = 8003
const UNDECLARED_PORT = 9000
const MB = 1024 * 1024
/** What a gateway that is soon out of patience waits for a WebSocket: longer than for other answers, to be told apart. */
const UPGRADE_MS = 1_500
const A_LONG_TIME_MS = 3_600_000

/** It waits as long as customers' gateways do: nothing but what hangs meets its limits. */
let fixture: ConnectFixture
/** Another one on the same database, for what hangs. */
let hasty: ConnectFixture
let behind: Server
let answer: (request: IncomingMessage, response: ServerResponse) => void
let id: string
let secret: string
let hosts: (port: number) => string
const closers: (() => void)[] = []
/** Connections that were opened into the machine and are open. */
let openConnections = 0
/** What happens while a connection into the machine is opened. */
let onConnect: () => Promise<void> = async () => undefined
/** Services answer `/late` when this is over. */
let lateAnswer: Promise<void> = Promise.resolve()

beforeAll(async () => {
  behind = createServer((request, response) => answer(request, response))
  echoWebSockets(behind)
  const rude = createTcpServer(socket => socket.end('SSH-2.0-not http\r\n'))
  const silent = createTcpServer(socket => socket.resume())
  const ports = new Map<number, number>()
  for (const [port, server] of [
    [HTTP_PORT, behind],
    [SILENT_PORT, silent],
    [RUDE_PORT, rude],
  ] as const) {
    server.on('connection', socket => socket.on('error', () => undefined))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    ports.set(port, (server.address() as AddressInfo).port)
    closers.push(() => server.close())
  }
  // It is reachable in the machine, but the customer never declared it.
  ports.set(UNDECLARED_PORT, ports.get(HTTP_PORT) ?? 0)
  const network = networkOf(ports)
  fixture = await startConnectFixture(network, {
    service: { upgradeAnswerMs: A_LONG_TIME_MS },
    streams: { connectionsPerInstanceMax: 5 },
  })
  hasty = await startConnectFixture(
    network,
    { service: { answerMs: 300, upgradeAnswerMs: UPGRADE_MS } },
    { database: fixture.database },
  )
  const made = await fixture.addInstance({
    httpPorts: [HTTP_PORT, SILENT_PORT, CLOSED_PORT, RUDE_PORT],
    tcpPorts: [HTTP_PORT, CLOSED_PORT],
  })
  id = made.id
  secret = made.secret
  hosts = port => `${secret}-${port}.localhost`
})
beforeEach(() => {
  answer = (_, response) => response.end('hello')
})
afterAll(async () => {
  await hasty.close()
  await fixture.close()
  behind.closeAllConnections()
  for (const close of closers) close()
})

describe('[R2.23] [B1] an HTTP service', () => {
  test('is reached on its own origin, and sees the request as it was', async () => {
    let seen: IncomingMessage | null = null
    answer = (request, response) => {
      seen = request
      response.setHeader('X-Two', ['a', 'b'])
      response.writeHead(201, 'Made').end('hello')
    }
    const { status, headers, body } = await fixture.service(hosts(HTTP_PORT), {
      path: '/a%20b?c=%2F',
      headers: { 'X-Mine': 'yes', 'X-Forwarded-For': '6.6.6.6', Connection: 'close, X-Hop', 'X-Hop': 'drop' },
    })
    expect([status, body.toString(), headers['x-two']]).toEqual([201, 'hello', 'a, b'])
    const request = seen as unknown as IncomingMessage
    expect([request.method, request.url]).toEqual(['GET', '/a%20b?c=%2F'])
    expect(request.headers).toMatchObject({
      host: `${hosts(HTTP_PORT)}:${fixture.server.port}`,
      'x-mine': 'yes',
      'x-forwarded-for': expect.stringContaining('127.0.0.1'),
      'x-forwarded-host': `${hosts(HTTP_PORT)}:${fixture.server.port}`,
      'x-forwarded-proto': 'http',
    })
    expect(request.headers['x-forwarded-for']).not.toContain('6.6.6.6')
    expect(request.headers).not.toHaveProperty('x-hop')
  })

  test('sees the address of who asks as a trusted proxy says it, and as nobody else does', async ctx => {
    if (process.platform !== 'linux') return ctx.skip('elsewhere 127.0.0.1 is the one address of loopback')
    const seen: unknown[] = []
    answer = (request, response) => {
      seen.push(request.headers['x-forwarded-for'])
      response.end()
    }
    const headers = { 'X-Forwarded-For': '6.6.6.6, 203.0.113.7' }
    await fixture.service(hosts(HTTP_PORT), { headers, localAddress: PROXY_ADDRESS })
    await fixture.service(hosts(HTTP_PORT), { headers, localAddress: '127.0.0.8' })
    expect(seen).toEqual(['203.0.113.7', '127.0.0.8'])
  })

  test.each(['POST', 'PUT', 'DELETE'])('%s with 20 MB there and back is passed on whole', async method => {
    answer = (request, response) => request.pipe(response)
    const body = Buffer.alloc(20 * MB, 'upload')
    const sized = await fixture.service(hosts(HTTP_PORT), {
      method,
      body,
      headers: { 'Content-Length': String(body.length) },
    })
    expect(hash(sized.body)).toBe(hash(body))
    const chunked = await fixture.service(hosts(HTTP_PORT), {
      method,
      body,
      headers: { 'Transfer-Encoding': 'chunked' },
    })
    expect(hash(chunked.body)).toBe(hash(body))
  })

  test('an event stream comes through while it is written, and is cut when its reader leaves', async () => {
    let gone = false
    answer = (request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.write('data: one\n\n')
      request.once('close', () => {
        gone = true
      })
    }
    const { socket, text } = await rawGet(hosts(HTTP_PORT))
    await eventually('the first event', () => text().includes('data: one'))
    expect(gone).toBe(false)
    socket.destroy()
    await eventually('the end of the request behind', () => gone)
    await eventually('the end of every connection', () => openConnections === 0)
  })

  test('a slow reader slows the service down instead of filling memory', async () => {
    let written = 0
    answer = (_, response) => {
      const more = () => {
        while (response.write(Buffer.alloc(64 * 1024))) written += 64 * 1024
        written += 64 * 1024
        if (written < 200 * MB) response.once('drain', more)
      }
      more()
    }
    const { socket } = await rawGet(hosts(HTTP_PORT), false)
    let last = -1
    await eventually('a standstill', async () => {
      const before = last
      last = written
      await new Promise(resolve => setTimeout(resolve, 50))
      return written > 0 && before === written
    })
    expect(written).toBeLessThan(40 * MB)
    socket.destroy()
  })

  test('answers before it has read everything, and the connection can be used again', async () => {
    answer = (_, response) => response.writeHead(413).end('too much')
    const { socket, text } = await rawGet(hosts(HTTP_PORT), true, 'POST / HTTP/1.1', 5 * MB)
    await eventually('the answer', () => text().includes('too much'))
    answer = (_, response) => response.end('next')
    socket.write(`GET / HTTP/1.1\r\nHost: ${hosts(HTTP_PORT)}\r\n\r\n`)
    await eventually('the next answer', () => text().includes('next'))
    socket.destroy()
  })

  test('HEAD and 304 have no body', async () => {
    answer = (request, response) =>
      response.writeHead(request.method === 'HEAD' ? 200 : 304, { ETag: '"a"' }).end()
    const head = await fixture.service(hosts(HTTP_PORT), { method: 'HEAD' })
    expect([head.status, head.body.length, head.headers.etag]).toEqual([200, 0, '"a"'])
    expect((await fixture.service(hosts(HTTP_PORT))).status).toBe(304)
  })

  test('a WebSocket is joined, both ways, until either end leaves', async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${fixture.server.port}/ws`, ['echo'], {
      headers: { host: `${hosts(HTTP_PORT)}:${fixture.server.port}` },
    })
    await once(socket, 'open')
    expect(socket.protocol).toBe('echo')
    socket.send(Buffer.alloc(MB, 'x'))
    const [message] = (await once(socket, 'message')) as [Buffer]
    expect(message.equals(Buffer.alloc(MB, 'x'))).toBe(true)
    socket.send('close')
    const [code] = await once(socket, 'close')
    expect(code).toBe(4321)
    await eventually('the end of every connection', () => openConnections === 0)
  })

  test('a WebSocket that the service refuses is answered with its own words', async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${fixture.server.port}/refuse`, {
      headers: { host: `${hosts(HTTP_PORT)}:${fixture.server.port}` },
    })
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage]
    expect(response.statusCode).toBe(418)
    response.destroy()
  })
})

describe('[B1] a WebSocket that a service does not answer', () => {
  test('is given up after its own time', async () => {
    const startedAt = performance.now()
    const { closed, bytes } = rawUpgrade(SILENT_PORT, '/', hasty)
    await closed
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(UPGRADE_MS - 100)
    expect(bytes().toString()).toMatch(/^HTTP\/1\.1 504 /)
    await eventually('the end of every connection', () => openConnections === 0)
  })

  test.each(['end', 'resetAndDestroy'] as const)('is given up when its client leaves (%s)', async leave => {
    const { socket } = rawUpgrade(SILENT_PORT)
    await eventually('a connection', () => openConnections === 1)
    socket[leave]()
    await eventually('the end of the connection', () => openConnections === 0)
  })

  test('gets what its client sent before the answer, once there is one', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    lateAnswer = promise
    const { socket, bytes } = rawUpgrade(HTTP_PORT, '/late')
    await eventually('a connection', () => openConnections === 1)
    const masked = Buffer.of(0x82, 0x81, 0, 0, 0, 0, 0x78)
    socket.write(masked)
    // The way there and back of another request, so that the frame has come too.
    await fixture.service(hosts(HTTP_PORT))
    resolve()
    await eventually('the echo', () =>
      bytes()
        .subarray(-3)
        .equals(Buffer.of(0x82, 0x01, 0x78)),
    )
    socket.destroy()
    await eventually('the end of every connection', () => openConnections === 0)
  })
})

describe('[B1] a service stays on its own origin', () => {
  test('its cookies lose their domain, and what reaches past the origin is dropped', async () => {
    answer = (_, response) => {
      response.writeHead(200, {
        'Set-Cookie': ['a=1; Domain=localhost; Path=/; HttpOnly', 'b=domain; dOmAiN = .localhost;Secure'],
        'Clear-Site-Data': '"cookies"',
        'Strict-Transport-Security': 'max-age=9; includeSubDomains',
        'Alt-Svc': 'h2=":1"',
      })
      response.end()
    }
    const { headers } = await fixture.service(hosts(HTTP_PORT))
    expect(headers['set-cookie']).toEqual(['a=1; Path=/; HttpOnly', 'b=domain;Secure'])
    for (const name of ['clear-site-data', 'strict-transport-security', 'alt-svc']) {
      expect(headers).not.toHaveProperty(name)
    }
    expect(headers['referrer-policy']).toBe('same-origin')
  })

  test.each([
    ['a=1', 'a=1'],
    ['a=1; domain', 'a=1'],
    ['domain=1; Path=/', 'domain=1; Path=/'],
    ['a="x; Domain=y"', 'a="x'],
  ])('%s becomes %s', (cookie, expected) => {
    expect(hostOnly(cookie)).toBe(expected)
  })

  test('the console’s own host never leads to a service, and a service’s never to the console', async () => {
    const { data } = await fixture.call(getConnection, { params: { id } })
    const service = new URL(data.http[0]?.url ?? '')
    expect(service.origin).not.toBe(fixture.server.origin)
    expect(service.hostname).toBe(hosts(HTTP_PORT))
    const { body } = await fixture.service(hosts(HTTP_PORT), { path: '/gateway/api/account/get-account' })
    expect(body.toString()).toBe('hello')
  })
})

test('[B5] a request to a service is a use of its instance, and a look at which of its ports listen is none', async () => {
  const rule = { httpPorts: [HTTP_PORT], idleStopMinutes: 5 }
  const [shown, used] = [await fixture.addInstance(rule), await fixture.addInstance(rule)]
  await fixture.call(getConnection, { params: { id: shown.id } })
  await fixture.service(`${used.secret}-${HTTP_PORT}.localhost`)
  const noted = async () => {
    const rows = await fixture.database.db.select().from(instanceUse)
    return rows.map(({ instanceId }) => instanceId)
  }
  // Both would be written down together.
  await expect.poll(noted).toEqual([used.id])
})

describe('a service that is not there', () => {
  test.each([
    ['an unknown secret', () => `${'a'.repeat(20)}-${HTTP_PORT}.localhost`],
    ['a port that was not declared', () => hosts(UNDECLARED_PORT)],
  ])('%s is the same 404', async (_, host) => {
    const { status, body } = await fixture.service(host())
    expect(status).toBe(404)
    expect(JSON.parse(body.toString())).toMatchObject({ status: 'error', code: 'unknown' })
  })

  test.each([
    'localhost.evil',
    'a-8000.localhost',
    `${'a'.repeat(20)}-0.localhost`,
    `${'a'.repeat(20)}-99999.localhost`,
  ])('%s is no service’s host', async host => {
    expect((await fixture.service(host)).status).toBe(421)
  })

  test('a stopped instance says so', async () => {
    await fixture.setStatus(id, 'stopped')
    try {
      const { status, body } = await fixture.service(hosts(HTTP_PORT))
      expect([status, JSON.parse(body.toString()).code]).toEqual([503, 'stopped'])
    } finally {
      await fixture.setStatus(id, 'running')
    }
  })

  test.each([
    ['en', 'Nothing listens on port 8002'],
    ['zh-CN,en', '端口 8002'],
    ['ja', 'ポート 8002'],
    ['ko', '포트 8002'],
  ])('a port on which nothing listens is explained in %s', async (language, text) => {
    const { status, headers, body } = await fixture.service(hosts(CLOSED_PORT), {
      headers: { accept: 'text/html', 'accept-language': language },
    })
    expect([status, headers['content-type']]).toEqual([502, 'text/html; charset=utf-8'])
    // Nothing of ours is taken for what it is not, or asks a browser for anything.
    expect([headers['x-content-type-options'], headers['permissions-policy']]).toEqual([
      'nosniff',
      expect.stringContaining('camera=()'),
    ])
    expect(body.toString()).toContain(text)
  })

  test('one that never answers, and one that does not speak HTTP', async () => {
    const silent = await hasty.service(hosts(SILENT_PORT))
    expect([silent.status, JSON.parse(silent.body.toString()).code]).toEqual([504, 'too_slow'])
    const rude = await fixture.service(hosts(RUDE_PORT))
    expect([rude.status, JSON.parse(rude.body.toString()).code]).toEqual([502, 'broken'])
    await eventually('the end of every connection', () => openConnections === 0)
  })

  test('one that breaks off in the middle of its answer is not taken for complete', async () => {
    answer = (_, response) => {
      response.writeHead(200, { 'Content-Length': '100' })
      response.write('half', () => response.destroy())
    }
    await expect(fixture.service(hosts(HTTP_PORT))).rejects.toThrow(/aborted|hang up/)
  })

  test('more connections than an instance may have are turned away', async () => {
    answer = (_, response) => void response.write('held')
    const held = await Promise.all(Array.from({ length: 5 }, () => rawGet(hosts(HTTP_PORT))))
    for (const { text } of held) await eventually('an answer', () => text().includes('held'))
    const { status, body } = await fixture.service(hosts(HTTP_PORT))
    expect([status, JSON.parse(body.toString()).code]).toEqual([503, 'busy'])
    for (const { socket } of held) socket.destroy()
    answer = (_, response) => response.end('again')
    await eventually('room', async () => (await fixture.service(hosts(HTTP_PORT))).status === 200)
  })
})

describe('[R2.23] [R7.4] the connection call', () => {
  test('names the services with what listens, and opens the declared TCP ports', async () => {
    const { data } = await fixture.call(getConnection, { params: { id } })
    const { port } = fixture.server
    expect(data.http).toEqual([
      { port: HTTP_PORT, url: `http://${hosts(HTTP_PORT)}:${port}`, listening: true },
      { port: SILENT_PORT, url: `http://${hosts(SILENT_PORT)}:${port}`, listening: true },
      { port: CLOSED_PORT, url: `http://${hosts(CLOSED_PORT)}:${port}`, listening: false },
      { port: RUDE_PORT, url: `http://${hosts(RUDE_PORT)}:${port}`, listening: true },
    ])
    expect([data.ssh, data.udp, data.terminal]).toEqual([null, [], { running: false }])
    expect(data.tcp.map(one => one.port)).toEqual([HTTP_PORT, CLOSED_PORT])
    expect(await (await fetch(addressOf(data.tcp[0]))).text()).toBe('hello')
    const again = await fixture.call(getConnection, { params: { id } })
    expect(again.data.tcp).toEqual(data.tcp)
  })

  test('a TCP port has an address of its own, so that no browser sends it the cookies of the console', async context => {
    if (process.platform !== 'linux') return context.skip('this computer may have one loopback address')
    const { data } = await fixture.call(getConnection, { params: { id } })
    const host = data.tcp[0]?.host
    expect(new URL(fixture.server.origin).hostname).not.toBe(host)
  })

  test('the TCP ports close when the instance stops', async () => {
    const { data } = await fixture.call(getConnection, { params: { id } })
    const socket = connect(data.tcp[0]?.public_port ?? 0, data.tcp[0]?.host).on('error', () => undefined)
    await once(socket, 'connect')
    const closed = once(socket, 'close')
    await fixture.setStatus(id, 'stopping')
    try {
      await closed
      await expect(fetch(addressOf(data.tcp[0]))).rejects.toThrow()
      expect(await fixture.call(getConnection, { params: { id } })).toMatchObject({
        httpStatus: 409,
        code: 'instance_not_running',
      })
    } finally {
      await fixture.setStatus(id, 'running')
    }
  })

  test('an instance that stops while its ports are opened has none', async () => {
    onConnect = () => fixture.setStatus(id, 'stopping')
    try {
      expect(await fixture.call(getConnection, { params: { id } })).toMatchObject({
        httpStatus: 409,
        code: 'instance_not_running',
      })
    } finally {
      onConnect = async () => undefined
      await fixture.setStatus(id, 'running')
    }
  })

  test('[R6.4] another customer’s instance is not found', async () => {
    const answered = await fixture.call(getConnection, { params: { id } }, 'ben')
    expect(answered).toMatchObject({ httpStatus: 404, code: 'not_found', data: null })
  })
})

function networkOf(ports: ReadonlyMap<number, number>): ReachedEngine {
  return {
    observation: {
      logs: async () => '',
      followLogs: async () => Readable.from([]),
      keptLog: async () => Readable.from([]),
      guest: { lacks: 'No guest.' },
    },
    network: {
      udp: { lacks: 'No datagrams here.' },
      async connect(_, port) {
        const there = ports.get(port)
        if (!there) throw new ComputeError('port_closed', 'nothing listens')
        await onConnect()
        const socket = connect({ port: there, host: '127.0.0.1', allowHalfOpen: true })
        await once(socket, 'connect')
        openConnections++
        socket.once('close', () => {
          openConnections--
        })
        return socket
      },
    },
    console: {
      attach: () => Promise.reject(new ComputeError('unsupported', 'no shell here')),
      sessions: async () => [],
      closeSession: async () => undefined,
      programs: { lacks: 'No programs here.' },
    },
  }
}

function echoWebSockets(server: Server): void {
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => 'echo' })
  server.on('upgrade', (request, socket, head) => {
    if (request.url === '/refuse') return void socket.end('HTTP/1.1 418 No\r\nContent-Length: 0\r\n\r\n')
    const accept = () =>
      sockets.handleUpgrade(request, socket, head, webSocket => {
        webSocket.on('message', (data, isBinary) => {
          if (isBinary) webSocket.send(data)
          else webSocket.close(4321)
        })
      })
    if (request.url === '/late') lateAnswer.then(accept)
    else accept()
  })
}

/** The request of a WebSocket, whose answer is read as it comes. */
function rawUpgrade(port: number, path = '/', gateway = fixture) {
  const socket = connect(gateway.server.port, '127.0.0.1').on('error', () => undefined)
  const chunks: Buffer[] = []
  socket.on('data', chunk => chunks.push(chunk))
  const closed = once(socket, 'close')
  const lines = [
    `GET ${path} HTTP/1.1`,
    `Host: ${hosts(port)}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  return { socket, closed, bytes: () => Buffer.concat(chunks) }
}

/** A GET whose answer is read as it comes, or not at all. */
async function rawGet(host: string, reads = true, line = 'GET / HTTP/1.1', bodyBytes = 0) {
  const socket = connect(fixture.server.port, '127.0.0.1').on('error', () => undefined)
  let text = ''
  if (reads) {
    socket.on('data', chunk => {
      text += chunk
    })
  }
  socket.write(`${line}\r\nHost: ${host}\r\nContent-Length: ${bodyBytes}\r\n\r\n`)
  socket.write(Buffer.alloc(bodyBytes))
  return { socket, text: () => text }
}

function hash(body: Buffer): string {
  return createHash('sha256').update(body).digest('hex')
}

function addressOf(direct: { host: string; public_port: number } | undefined): string {
  return `http://${direct?.host}:${direct?.public_port}/`
}
