import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ComputeError } from '../../../drivers/compute/port/compute-error.ts'
import { type ConnectFixture, eventually, startConnectFixture } from '../reach-fixture.ts'

// Goal: what a customer's program sends in place of an answer costs the gateway little, however much of it comes. Method:
// the real server in front, a TCP server of the test's own that says whatever it likes behind.

const PORT = 8000
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
const CHUNKS = 20_000
/** What sockets between the two may hold, and some. */
const WRITTEN_BYTES_MAX = 8 * 1024 * 1024

let fixture: ConnectFixture
let behind: Server
let host: string
let answer: (socket: Socket) => void
/** Bytes of an endless answer that were taken. */
let written = 0

beforeAll(async () => {
  behind = createServer({ noDelay: true }, socket => {
    socket.on('error', () => socket.destroy())
    socket.once('data', () => answer(socket.resume()))
  })
  behind.listen(0, '127.0.0.1')
  await once(behind, 'listening')
  const { port } = behind.address() as AddressInfo
  fixture = await startConnectFixture({
    observation: {
      logs: async () => '',
      followLogs: async () => Readable.from([]),
      keptLog: async () => Readable.from([]),
      guest: { lacks: 'No guest.' },
    },
    network: {
      udp: { lacks: 'No datagrams here.' },
      connect: async () => {
        const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
        await once(socket, 'connect')
        return socket
      },
    },
    console: {
      attach: () => Promise.reject(new ComputeError('unsupported', 'no shell here')),
      sessions: async () => [],
      closeSession: async () => undefined,
      programs: { lacks: 'No programs here.' },
    },
  })
  const { secret } = await fixture.addInstance({ httpPorts: [PORT] })
  host = `${secret}-${PORT}.localhost`
})
beforeEach(() => {
  written = 0
})
afterAll(async () => {
  await fixture.close()
  behind.close()
})

/** Sends the same without an end, or until far more was taken than anybody should. */
function flood(socket: Socket, text: string): void {
  const many = Buffer.from(text.repeat(1_000))
  const more = () => {
    if (socket.destroyed || written > WRITTEN_BYTES_MAX * 4) return
    written += many.length
    if (socket.write(many)) setImmediate(more)
    else socket.once('drain', more)
  }
  more()
}

async function answersOthers(): Promise<boolean> {
  return (await fetch(`${fixture.server.origin}/gateway/health`)).ok
}

describe('a service that never comes to its answer', () => {
  test.each([CONTINUE, 'HTTP/1.1 102 Processing\r\nX-More: yes\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\n\r\n'])(
    '%j without an end is cut, and others are answered meanwhile',
    async information => {
      answer = socket => flood(socket, information)
      const asked = fixture.service(host)
      expect(await answersOthers()).toBe(true)
      const { status, body } = await asked
      expect([status, JSON.parse(body.toString()).code]).toEqual([502, 'broken'])
      expect(written).toBeLessThan(WRITTEN_BYTES_MAX)
    },
  )

  test('a WebSocket’s answer is waited for no longer', async () => {
    answer = socket => flood(socket, CONTINUE)
    const { status } = await fixture.service(host, {
      headers: { Connection: 'Upgrade', Upgrade: 'websocket' },
    })
    expect(status).toBe(502)
    expect(written).toBeLessThan(WRITTEN_BYTES_MAX)
  })

  test('one that says now and then that it is still at it has its time', async () => {
    answer = socket => socket.end(`${CONTINUE.repeat(50)}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone`)
    const { status, body } = await fixture.service(host)
    expect([status, body.toString()]).toEqual([200, 'done'])
  })

  test('headers without an end are cut', async () => {
    answer = socket => {
      socket.write('HTTP/1.1 200 OK\r\n')
      flood(socket, 'a: b\r\n')
    }
    expect((await fixture.service(host)).status).toBe(502)
    expect(written).toBeLessThan(WRITTEN_BYTES_MAX)
  })
})

test('an answer in chunks of one byte comes whole, in far fewer of them', async () => {
  answer = socket => socket.end(`${CHUNKED}${'1\r\nx\r\n'.repeat(CHUNKS)}0\r\n\r\n`)
  const client = connect(fixture.server.port, '127.0.0.1')
  client.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  let text = ''
  client.on('data', chunk => {
    text += chunk
  })
  await eventually('the whole answer', () => text.endsWith('\r\n0\r\n\r\n'))
  client.destroy()
  const [, body = ''] = text.split('\r\n\r\n', 2)
  expect(body.match(/x/g)?.length).toBe(CHUNKS)
  expect(body.split('\r\n').length / 2).toBeLessThan(CHUNKS / 100)
})
