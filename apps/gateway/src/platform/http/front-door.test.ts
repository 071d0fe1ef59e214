import { once } from 'node:events'
import { Agent, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { defineCall } from '@berth/contract/call'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { PATIENCE_MS } from '../../../../../scripts/test/patience-ms.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { startTestServer, type TestServer } from '../../../test/test-server.ts'
import { brands } from '../config/brands.ts'
import { route } from './handler.ts'
import { createHostCheck } from './hosts.ts'
import { RATE_LIMITS } from './rate-limits.ts'

let database: TestDatabase
let server: TestServer
beforeAll(async () => {
  database = await createTestDatabase()
  server = await startTestServer(database.db, routes(), {
    publicUrl: 'https://gpu.example.com',
    brands: brands.parse([
      { hosts: ['console.north.example:8443'], name: 'North', docs_url: '/gateway/docs' },
      { hosts: ['default'], name: 'Berth', docs_url: '/gateway/docs' },
    ]),
    upgrades: [
      {
        path: '/gateway/socket',
        handle: (_request, socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\nhello'),
      },
    ],
    serviceOrigin: {
      match: host => (host?.startsWith('secret-8080.localhost') ? 'target' : null),
      request: (target, _request, response) => response.end(`service ${target}`),
      upgrade: (target, _request, socket) => socket.end(`HTTP/1.1 101 Switching Protocols\r\n\r\n${target}`),
    },
  })
})
afterAll(async () => {
  await server.close(1_000)
  await database.drop()
})

describe('the host that a request names', () => {
  test.each([
    'localhost',
    '127.0.0.1:8080',
    '[::1]:80',
    'gpu.example.com',
    'GPU.example.com:443',
    'console.north.example:8443',
  ])('is one of ours: %s', async host => {
    expect((await get('/gateway/api/hello', host)).status).toBe(200)
  })

  test.each([
    'evil.example',
    'localhost.evil.example',
    '10.0.0.1',
    'other-8080.localhost',
    'north.example',
    'default',
    'a b',
    'x@localhost',
  ])('is foreign, so that no page of another domain reads the console: %s', async host => {
    const answer = await get('/gateway/api/hello', host)
    expect([400, 421]).toContain(answer.status)
    expect(answer.text).not.toContain('"ok"')
  })

  test("is a service's: the console's server never sees it", async () => {
    expect(await get('/gateway/api/hello', 'secret-8080.localhost:9')).toMatchObject({
      status: 200,
      text: 'service target',
    })
  })

  test('is one: of several, a proxy in front may have gone by another', async () => {
    for (const others of ['evil.example', 'localhost']) {
      const request = `GET /gateway/api/hello HTTP/1.1\r\nHost: localhost\r\nhOST: ${others}\r\n`
      expect(await exchange(`${request}\r\n`)).toMatch(/^HTTP\/1.1 400/)
      const asSocket = `${request.replace('api/hello', 'socket')}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`
      expect(await exchange(asSocket)).toMatch(/^HTTP\/1.1 400/)
    }
  })

  test('beyond loopback without a public address: bare addresses, but no names', () => {
    const check = createHostCheck({ publicUrl: null, bindHost: '0.0.0.0', brandHosts: [] })
    expect(check('192.168.1.5:8080')).toBe(true)
    expect(check('[2001:db8::1]:8080')).toBe(true)
    expect(check('evil.example')).toBe(false)
    expect(check(undefined)).toBe(false)
  })
})

test.each([
  ['a call', '/gateway/api/hello', 'localhost', 200],
  ['a page', '/', 'localhost', 503],
  ['a document', '/gateway/openapi.json', 'localhost', 200],
  ['health', '/gateway/health', 'localhost', 200],
  ['nothing', '/gateway/nothing', 'localhost', 404],
  ['an address that cannot be read', '/gateway/%ff', 'localhost', 404],
  ['a foreign host', '/', 'evil.example', 421],
])('whatever is answered is taken for what it says it is, and may ask for no camera: %s', async (...row) => {
  const [, path, host, status] = row
  const answer = await get(path, host)
  expect(answer.status).toBe(status)
  expect(answer.headers['x-content-type-options']).toBe('nosniff')
  expect(answer.headers['permissions-policy']).toContain('camera=(), ')
})

test('connections that say nothing, or only the half of it, keep nobody out and are cut in the end', async () => {
  let now = 0
  const clock = { now: () => new Date(now) }
  const busy = await startTestServer(database.db, routes(), { clock })
  const talking = await openConnection(busy.port)
  const silent: Socket[] = []
  try {
    await askOver(talking)
    for (let n = 0; n < 200; n++) {
      const socket = await openConnection(busy.port)
      socket.write(BEGINNINGS[n % BEGINNINGS.length] ?? '')
      silent.push(socket)
    }
    now += 2_000
    for (let n = 0; n < 3; n++) silent.push(await openConnection(busy.port))
    await expect.poll(() => silent.filter(({ destroyed }) => destroyed)).toEqual(silent.slice(0, 3))
    // One that has said what it wants may stay, silent or not, and whoever comes is let in.
    await askOver(talking)
    expect((await fetch(`${busy.origin}/gateway/api/hello`)).status).toBe(200)
  } finally {
    for (const socket of [talking, ...silent]) socket.destroy()
    await busy.close(0)
  }
})

test('who asks and does not read is cut, and who reads gets all', async () => {
  const length = 48 * 1_024 * 1_024
  const large = await startTestServer(database.db, [], {
    stalledMs: 500,
    rawRoutes: [
      {
        methods: ['GET'],
        path: '/large',
        bodyBytesMax: 1,
        handle: async () => ({ status: 200, headers: {}, body: Buffer.alloc(length) }),
      },
    ],
  })
  const open = () => new Promise<number>(resolve => large.app.server.getConnections((_, all) => resolve(all)))
  const ask = 'GET /gateway/large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
  try {
    const silent = await openConnection(large.port)
    silent.pause()
    silent.write(ask)
    await vi.waitUntil(async () => (await open()) === 1, { timeout: PATIENCE_MS })
    await vi.waitUntil(async () => (await open()) === 0, { timeout: PATIENCE_MS })
    silent.destroy()
    const reader = await openConnection(large.port)
    reader.write(ask)
    let read = 0
    for await (const piece of reader as AsyncIterable<Buffer>) read += piece.length
    expect(read).toBeGreaterThan(length)
  } finally {
    await large.close(1_000)
  }
})

describe('WebSockets', () => {
  test('reach what answers their path', async () => {
    expect(await upgrade('/gateway/socket?x=1', 'localhost')).toContain('hello')
    expect(await upgrade('/gateway/socket', 'localhost', 'http://localhost')).toContain('hello')
  })

  test('from a page of another origin are refused', async () => {
    for (const origin of ['http://evil.example', 'http://localhost:3000', 'null']) {
      expect(await upgrade('/gateway/socket', 'localhost', origin), origin).toMatch(/^HTTP\/1.1 403/)
    }
  })

  test('to an unknown path or a foreign host are refused', async () => {
    expect(await upgrade('/gateway/other', 'localhost')).toMatch(/^HTTP\/1.1 404/)
    expect(await upgrade('/gateway/socket', 'evil.example')).toMatch(/^HTTP\/1.1 421/)
  })

  test("of services go to the service's origin", async () => {
    expect(await upgrade('/gateway/socket', 'secret-8080.localhost')).toContain('target')
  })
})

describe('rate limits', () => {
  test('answer 429 with how long to wait, in the envelope and in headers', async () => {
    const limited = await startTestServer(database.db, routes(), {
      rateLimits: { ...RATE_LIMITS, general_per_minute: 3 },
    })
    try {
      const statuses: number[] = []
      for (let n = 0; n < 4; n++) statuses.push((await fetch(`${limited.origin}/gateway/api/hello`)).status)
      expect(statuses).toEqual([200, 200, 200, 429])
      const answer = await fetch(`${limited.origin}/gateway/api/hello`)
      const body = (await answer.json()) as { code: string; msg: string }
      expect(body).toMatchObject({ status: 'error', code: 'too_many_requests' })
      expect(body.msg).toMatch(/^That was too often\. Please try again in \d+ s\.$/)
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(answer.headers.get('ratelimit-limit')).toBe('3')
    } finally {
      await limited.close(1_000)
    }
  })

  test('are stricter for signing in than for the rest, and shared by its ways', async () => {
    const limited = await startTestServer(database.db, routes(), {
      rateLimits: {
        ...RATE_LIMITS,
        strict_per_minute: { login: 2, signup: 2, mail: 2, captcha: 2, coupon: 2, card: 2 },
      },
    })
    const login = (path: string) =>
      fetch(`${limited.origin}/gateway${path}`, { method: 'POST' }).then(({ status }) => status)
    try {
      expect(await login('/api/account/login')).toBe(200)
      expect(await login('/api/account/login/password')).toBe(200)
      expect(await login('/api/account/login')).toBe(429)
      expect((await fetch(`${limited.origin}/gateway/api/hello`)).status).toBe(200)
    } finally {
      await limited.close(1_000)
    }
  })
})

test('a server that closes lets a running call end, and cuts what hangs', async () => {
  const closing = await startTestServer(database.db, routes())
  const slow = fetch(`${closing.origin}/gateway/api/slow`)
  await expect.poll(() => slowStarted).toBe(true)
  const hanging = await openConnection(closing.port)
  const closed = closing.close(300)
  releaseSlow()
  expect((await slow).status).toBe(200)
  await closed
  await expect.poll(() => hanging.destroyed || hanging.readableEnded).toBe(true)
})

test('[B14] a server that leaves answers as before, and keeps no connection, so that the next request goes elsewhere', async () => {
  const leaving = await startTestServer(database.db, routes())
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = async () => {
    const asking = httpRequest(`${leaving.origin}/gateway/api/hello`, { agent }).end()
    const [response] = (await once(asking, 'response')) as [IncomingMessage]
    const ended = response.resume()
    await once(ended, 'end')
    return {
      status: response.statusCode,
      connection: response.headers.connection,
      reused: asking.reusedSocket,
    }
  }
  expect(await ask()).toEqual({ status: 200, connection: 'keep-alive', reused: false })
  expect(await ask()).toMatchObject({ reused: true })
  leaving.leave()
  expect(await ask()).toEqual({ status: 200, connection: 'close', reused: true })
  expect(await ask()).toEqual({ status: 200, connection: 'close', reused: false })
  agent.destroy()
  await leaving.close(1_000)
})

/** What never becomes a request: nothing, half a head, half a body. */
const BEGINNINGS = [
  '',
  'GET / HTTP/1.1\r\nHost: loc',
  'POST /gateway/api/send HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
]

let slowStarted = false
let releaseSlow: () => void = () => {}

function routes() {
  const shared = { summary: 'A test.', audience: 'guest', readOnly: true, data: z.any() } as const
  const reads = (operation: string, path: `/${string}`) =>
    defineCall({ ...shared, operation, method: 'GET', path })
  const logsIn = (operation: string, path: `/${string}`) =>
    defineCall({ ...shared, operation, method: 'POST', path, rateClass: 'login' })
  return [
    route(reads('test.hello', '/api/hello'), async () => 'hello'),
    route(logsIn('test.login', '/api/account/login'), async () => 'token'),
    route(logsIn('test.login-by', '/api/account/login/password'), async () => 'token'),
    route(
      defineCall({ ...shared, operation: 'test.send', method: 'POST', path: '/api/send' }),
      async () => null,
    ),
    route(reads('test.slow', '/api/slow'), async () => {
      slowStarted = true
      await new Promise<void>(resolve => {
        releaseSlow = resolve
      })
      return null
    }),
  ]
}

/** `fetch` sets the Host header by itself. */
function get(
  path: string,
  host: string,
): Promise<{ status: number; headers: IncomingHttpHeaders; text: string }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { host: '127.0.0.1', port: server.port, path, setHost: false, headers: { host } },
      response => {
        let text = ''
        response.on('data', chunk => {
          text += chunk
        })
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        )
      },
    )
    request.on('error', reject)
    request.end()
  })
}

async function upgrade(path: string, host: string, origin?: string): Promise<string> {
  const lines = [`GET ${path} HTTP/1.1`, `Host: ${host}`, 'Connection: Upgrade', 'Upgrade: websocket']
  if (origin !== undefined) lines.push(`Origin: ${origin}`)
  return await exchange(`${lines.join('\r\n')}\r\n\r\n`)
}

/** All that is answered until the server closes. */
async function exchange(request: string): Promise<string> {
  const socket = await openConnection(server.port)
  socket.write(request)
  let text = ''
  for await (const chunk of socket) text += chunk
  return text
}

/** A request on a connection that stays open. */
async function askOver(socket: Socket): Promise<void> {
  socket.write('GET /gateway/api/hello HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toMatch(/^HTTP\/1.1 200/)
}

function openConnection(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket))
    socket.once('error', reject)
    socket.on('error', () => {})
  })
}
