import { once } from 'node:events'
import { connect as connectTcp, createServer, type Server, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { connect as connectTls } from 'node:tls'
import { eq, sql } from 'drizzle-orm'
import fc from 'fast-check'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { heldBytes } from '../../../test/held-bytes.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { ApiError } from '../http/api-error.ts'
import { systemIds } from '../ids.ts'
import { GatewayAway } from './channel-client.ts'
import type { ChannelHandler } from './channel-server.ts'
import { CHANNEL_TLS, keyTowards } from './channel-tls.ts'
import { createGateways, type Gateways } from './gateways.ts'
import { gateway } from './tables.ts'

const KEY = new Uint8Array(32).fill(5)
const MIB = 1024 * 1024
const PATIENCE = { interval: 50 }

let database: TestDatabase
const running: Gateways[] = []
beforeAll(async () => {
  database = await createTestDatabase()
})
afterEach(async () => {
  for (const one of running.splice(0)) {
    await one.close()
  }
})
afterAll(() => database.drop())

describe('a stream to another gateway', () => {
  test('carries bytes both ways, and each side ends its own', async () => {
    const far = await start({ shout: echoUpperCase })
    const near = await start()
    const stream = await near.open(far.selfId, 'shout', { prefix: 'you said ' })
    stream.end('hello')
    expect(await text(stream)).toBe('you said HELLO')
    await expect.poll(() => near.streamCount() + far.streamCount(), PATIENCE).toBe(0)
  })

  test('carries any bytes in any pieces', async () => {
    const far = await start({ echo: (_request, accept) => pipeBack(accept()) })
    const near = await start()
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ minLength: 1, maxLength: 20_000 }), { maxLength: 12 }),
        async pieces => {
          const stream = await near.open(far.selfId, 'echo', null)
          const answer = buffer(stream)
          for (const piece of pieces) stream.write(piece)
          stream.end()
          expect(await answer).toEqual(Buffer.concat(pieces))
        },
      ),
      { numRuns: 20 },
    )
  })

  test('does not run ahead of a slow reader: 100 MiB take no more memory than the sockets hold', async () => {
    const far = await start({ pour: (_request, accept) => pour(accept(), 100 * MIB) })
    const near = await start()
    const stream = await near.open(far.selfId, 'pour', null)
    await expect.poll(() => stream.readableLength, PATIENCE).toBeGreaterThan(0)
    const heldFrom = heldBytes()
    await expectStandsStill(() => poured)
    expect(poured).toBeLessThan(32 * MIB)
    let received = 0
    for await (const chunk of stream) received += (chunk as Buffer).length
    expect(received).toBe(100 * MIB)
    expect(heldBytes() - heldFrom).toBeLessThan(64 * MIB)
  })

  test('ends on the other side when one side is cut', async () => {
    let far: Duplex | null = null
    const other = await start({
      hold: (_request, accept) => {
        far = accept()
        far.resume()
      },
    })
    const near = await start()
    const stream = await near.open(other.selfId, 'hold', null)
    await expect.poll(() => far, PATIENCE).not.toBeNull()
    stream.destroy()
    await expect.poll(() => far?.destroyed || far?.readableEnded, PATIENCE).toBe(true)
  })

  test('is refused with a code before it begins', async () => {
    const far = await start({
      ticket: () => {
        throw new ApiError('too_many_requests', { values: { seconds: 7 } })
      },
      broken: () => Promise.reject(new Error('its own trouble')),
      silent: () => {},
    })
    const near = await start()
    await expect(near.open(far.selfId, 'ticket', null)).rejects.toMatchObject({
      code: 'too_many_requests',
      values: { seconds: 7 },
    })
    await expect(near.open(far.selfId, 'broken', null)).rejects.toMatchObject({ code: 'internal' })
    await expect(near.open(far.selfId, 'silent', null)).rejects.toMatchObject({ code: 'internal' })
    await expect(near.open(far.selfId, 'unheard-of', null)).rejects.toMatchObject({ code: 'not_found' })
  })
})

describe('a gateway that is gone', () => {
  test('is not opened to once its row ran out, or it said that it goes', async () => {
    const far = await start({ shout: echoUpperCase })
    const near = await start()
    await far.leave()
    await expect(near.open(far.selfId, 'shout', null)).rejects.toThrow(GatewayAway)
    await writeDead(far.selfId)
    await expect(near.open(far.selfId, 'shout', null)).rejects.toThrow(GatewayAway)
    await expect(near.open(systemIds.uuid(), 'shout', null)).rejects.toMatchObject({ code: 'unavailable' })
  })

  test('[B14] keeps what is open and says that it lives until that is over, while nothing new is opened to it', async () => {
    const far = await start({ hold: (_request, accept) => pipeBack(accept()) })
    const near = await start()
    const stream = await near.open(far.selfId, 'hold', null)
    const left = far.leave()
    await expect
      .poll(() => near.open(far.selfId, 'hold', null).then(opened => void opened.destroy(), String))
      .toMatch(/GatewayAway|unavailable/)
    // What others may take from a gateway is taken where it has no row that lives.
    const lives = () => database.db.select().from(gateway).where(eq(gateway.id, far.selfId))
    expect(await lives()).toHaveLength(1)
    stream.end('to the end')
    expect(await text(stream)).toBe('to the end')
    await left
    await far.close()
    expect(await lives()).toEqual([])
  })

  test('is given up at once where nothing listens any more', async () => {
    const far = await start({ shout: echoUpperCase })
    const near = await start()
    await far.close()
    await expect(near.open(far.selfId, 'shout', null)).rejects.toThrow(GatewayAway)
  })

  test('loses its streams when its row has run out, although it never hung up', async () => {
    const far = await start({ hold: (_request, accept) => void accept() })
    const near = await start()
    const stream = await near.open(far.selfId, 'hold', null)
    stream.resume()
    // It goes on saying that it lives, as a dead one does not.
    const streams = async () => {
      await writeDead(far.selfId)
      return near.streamCount()
    }
    await expect.poll(streams, { timeout: 20_000 }).toBe(0)
  })
})

describe('a stranger', () => {
  test('with another key gets nothing done', async () => {
    let asked = 0
    const far = await start({ count: () => void asked++ })
    const stranger = await start({}, new Uint8Array(32).fill(6))
    await expect(stranger.open(far.selfId, 'count', null)).rejects.toThrow(GatewayAway)
    expect(asked).toBe(0)
  })

  test('who listens where a gateway was is not told what was asked', async () => {
    const near = await start()
    const other = await start({ shout: echoUpperCase })
    const gone = systemIds.uuid()
    // The address now belongs to another gateway, and then to a program that is none.
    await database.db
      .insert(gateway)
      .values({ id: gone, address: await addressOf(other), seenUntil: later() })
    await expect(near.open(gone, 'shout', { secret: 'to you alone' })).rejects.toThrow(GatewayAway)
    const heard = await listenPlainly(socket => socket.end('HTTP/1.1 200 OK\r\n\r\n'))
    await database.db.update(gateway).set({ address: heard.address }).where(eq(gateway.id, gone))
    await expect(near.open(gone, 'shout', { secret: 'to you alone' })).rejects.toThrow(GatewayAway)
    expect(heard.bytes().toString('latin1')).not.toContain('to you alone')
    heard.server.close()
  })

  test('who recorded a request cannot read it or send it again', async () => {
    let asked = 0
    const far = await start({
      count: (_request, accept) => {
        asked++
        accept().end()
      },
    })
    const near = await start()
    const target = await addressOf(far)
    const tap = await listenPlainly(socket => passOn(socket, target))
    await database.db.update(gateway).set({ address: tap.address }).where(eq(gateway.id, far.selfId))
    const stream = await near.open(far.selfId, 'count', { secret: 'between us' })
    stream.end()
    await text(stream)
    expect(asked).toBe(1)
    expect(tap.bytes().toString('latin1')).not.toContain('between us')
    const again = connectTcp(portOf(target), '127.0.0.1')
    again.on('error', () => {})
    again.resume().write(tap.bytes())
    await once(again, 'close')
    expect(asked).toBe(1)
    tap.server.close()
  })

  test('who opens connections and says nothing keeps nobody out', async () => {
    const far = await start({ shout: echoUpperCase })
    const near = await start()
    const port = portOf(await addressOf(far))
    const idle = Array.from({ length: 200 }, () => connectTcp(port, '127.0.0.1').on('error', () => {}))
    await Promise.all(idle.map(socket => once(socket, 'connect')))
    const stream = await near.open(far.selfId, 'shout', { prefix: '' })
    stream.end('still here')
    expect(await text(stream)).toBe('STILL HERE')
    await expect
      .poll(() => idle.filter(socket => socket.closed || socket.readableEnded).length, PATIENCE)
      .toBeGreaterThan(100)
    for (const socket of idle) socket.destroy()
  })

  test('who knows the key but no measure is cut before anything is kept', async () => {
    const far = await start({ shout: echoUpperCase })
    const near = await start()
    await expect(near.open(far.selfId, 'shout', { prefix: 'x'.repeat(20_000) })).rejects.toThrow('16384')
    for (const bytes of [
      Buffer.from([0xff, 0xff, 0xff, 0xff]),
      Buffer.from([0, 0, 0, 0]),
      Buffer.from([0, 0, 0, 2, 0x7b, 0x7b]),
      Buffer.concat([Buffer.from([0, 0, 0, 2]), Buffer.from('{}')]),
    ]) {
      const socket = connectTls({
        ...CHANNEL_TLS,
        host: '127.0.0.1',
        port: portOf(await addressOf(far)),
        checkServerIdentity: () => undefined,
        pskCallback: () => ({ identity: far.selfId, psk: keyTowards(KEY, far.selfId) }),
      })
      socket.on('error', () => {})
      await once(socket, 'secureConnect')
      socket.write(bytes)
      expect(await buffer(socket).catch(() => Buffer.alloc(0))).toEqual(Buffer.alloc(0))
    }
    await expect.poll(() => far.streamCount(), PATIENCE).toBe(0)
  })
})

let poured = 0

async function start(handlers: Record<string, ChannelHandler> = {}, key = KEY): Promise<Gateways> {
  const made = createGateways({
    db: database.db,
    selfId: systemIds.uuid(),
    log: pino({ level: 'silent' }),
    key,
    host: '127.0.0.1',
    port: 0,
    address: null,
  })
  for (const [kind, handler] of Object.entries(handlers)) made.serve(kind, handler)
  await made.start()
  running.push(made)
  return made
}

async function echoUpperCase(request: unknown, accept: () => Duplex): Promise<void> {
  const { prefix } = request as { prefix: string }
  const stream = accept()
  stream.write(prefix)
  stream.end((await text(stream)).toUpperCase())
}

function pipeBack(stream: Duplex): void {
  stream.pipe(stream)
}

async function pour(stream: Duplex, bytes: number): Promise<void> {
  poured = 0
  const piece = Buffer.alloc(64 * 1024, 1)
  while (poured < bytes) {
    poured += piece.length
    if (!stream.write(piece)) await once(stream, 'drain')
  }
  stream.end()
}

/** Waits until a number has been the same for a while. */
async function expectStandsStill(read: () => number): Promise<void> {
  let last = -1
  await expect
    .poll(
      () => {
        const same = read() === last
        last = read()
        return same
      },
      { interval: 300 },
    )
    .toBe(true)
}

async function addressOf({ selfId }: Gateways): Promise<string> {
  const [row] = await database.db.select().from(gateway).where(eq(gateway.id, selfId))
  return row?.address ?? ''
}

function portOf(address: string): number {
  return Number(address.split(':').at(-1))
}

function later(): Date {
  return new Date(Date.now() + 60_000)
}

/** As it stands after a computer lost its power. */
async function writeDead(id: string): Promise<void> {
  const dead = { address: '127.0.0.1:9', seenUntil: sql`now() - interval '1 second'` as never }
  await database.db
    .insert(gateway)
    .values({ id, ...dead })
    .onConflictDoUpdate({ target: gateway.id, set: dead })
}

interface Listening {
  server: Server
  address: string
  /** All that came in so far. */
  bytes(): Buffer
}

async function listenPlainly(onSocket: (socket: Socket) => void): Promise<Listening> {
  const pieces: Buffer[] = []
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.on('data', piece => pieces.push(piece))
    onSocket(socket)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return { server, address: `127.0.0.1:${port}`, bytes: () => Buffer.concat(pieces) }
}

function passOn(socket: Socket, target: string): void {
  const far = connectTcp(portOf(target), '127.0.0.1').on('error', () => {})
  socket.pipe(far).pipe(socket)
}
