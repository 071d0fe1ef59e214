import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Duplex, type DuplexOptions } from 'node:stream'
import { pino } from 'pino'
import ssh2, { type Client, type ClientChannel } from 'ssh2'
import { afterEach, expect, test } from 'vitest'
import { encodeFrame, encodeJson, FRAME } from '../../../drivers/compute/sessions/frames.ts'
import { fingerprintOf } from '../../ssh-keys/public-key.ts'
import { eventually } from '../reach-fixture.ts'
import { createMachineTurns, PROCESS_CLOCKS } from '../streams/machine-turns.ts'
import { STREAM_LIMITS } from '../streams/stream-limits.ts'
import type { GatewaySide } from './gateway-side.ts'
import { createHostKeys } from './host-keys.ts'
import { makeKeyPair } from './key-pair-fixture.ts'
import { SSH_LIMITS, SSH_TURNS, type SshLimits, WINDOW_BYTES_MAX, WINDOW_BYTES_MIN } from './ssh-limits.ts'
import { createSshServer, type SshServer } from './ssh-server.ts'
import { sshSentence } from './ssh-words.ts'

// Goal: what a hostile client may cost is bounded, before it has signed in and after. Method: the real server without a
// database, raw sockets that say what no client says, and the library's own client that does not read.

const ROUNDS = 20
const MIB = 1024 * 1024
/** Windows of ten channels, and what sockets of both ends hold; what nobody reads stands still before this. */
const UNDER_WAY_BYTES_MAX = 64 * MIB
/** Of which more than one connection may open. */
const STUCK_CHANNELS = 70
/** What one channel has on its way into a machine besides what it holds. */
const HANDED_BYTES = 2 * 64 * 1024
const STUCK_PORT = 1_000
const HOLE_PORT = 2_000
const keys = makeKeyPair()

let server: SshServer | null = null
let askedForPorts = 0
const clients: { destroy(): unknown }[] = []
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy()
  server?.shutdown()
})

test('whatever a stranger sends ends that connection and nothing else', async () => {
  const port = await start()
  const hello = Buffer.from('SSH-2.0-any\r\n')
  for (let round = 0; round < ROUNDS; round++) {
    const socket = reach(port)
    const bytes = randomBytes(16 + ((round * 997) % 5_000))
    // Lengths and types that a packet may have, so that some of it is read as one.
    if (round % 2 === 0) bytes.writeUInt32BE(Math.max(12, bytes.length - 4), 0)
    bytes.writeUInt8([20, 30, 50, 80, 90, 94][round % 6] ?? 1, 5)
    socket.end(Buffer.concat([...(round % 3 === 0 ? [] : [hello]), bytes]))
    await once(socket.resume(), 'close')
  }
  const endless = reach(port)
  const pour = () => endless.write(Buffer.alloc(64 * 1024, 'x'))
  endless.on('drain', pour)
  pour()
  await once(endless.resume(), 'close')
  await eventually('no stranger', () => server?.count().strangers === 0)
  expect((await signIn(port)).said).toBe('ready')
})

test('strangers of one address are few, and none stays who says nothing', async () => {
  const port = await start({ strangersPerAddressMax: 3, signInMs: 1_000 })
  const closed: number[] = []
  const sockets = Array.from({ length: 8 }, (_, index) =>
    reach(port)
      .on('close', () => closed.push(index))
      .resume(),
  )
  await eventually('five that are sent away', () => closed.length >= 5)
  await Promise.all(sockets.map(socket => socket.closed || once(socket, 'close')))
  await eventually('no stranger', () => server?.count().strangers === 0)
})

test('a client that does not read stops the machine, and one connection has ten sessions at most', async () => {
  const { port, poured } = await startPouring()
  const { client } = await signIn(port)
  const opened = await Promise.allSettled(
    Array.from(
      { length: 14 },
      () =>
        new Promise((resolve, reject) => {
          client.exec('flood', (error, channel) => (error ? reject(error) : resolve(channel.pause())))
        }),
    ),
  )
  const refused = opened.filter(one => one.status === 'rejected')
  expect(refused).toHaveLength(4)
  expect(String(refused[0]?.reason)).toContain('as many sessions')
  // Windows without an end, on a connection that takes nothing: only the connection itself can hold the machine back.
  for (const one of opened) if (one.status === 'fulfilled') widen(client, one.value as ClientChannel)
  await eventually('a machine that waits', () => isStill(poured))
  expect(poured()).toBeLessThan(UNDER_WAY_BYTES_MAX)
})

test('a machine waits while its client exchanges keys, however long that takes, and goes on after it', async () => {
  const { port, poured } = await startPouring()
  const { client } = await signIn(port)
  const channel = await new Promise<ClientChannel>((resolve, reject) => {
    client.exec('flood', (error, opened) => (error ? reject(error) : resolve(opened)))
  })
  channel.resume()
  const { _protocol } = client as unknown as { _protocol: { rekey(): void } }
  _protocol.rekey()
  await once(client, 'handshake')
  const before = poured()
  await eventually('more of it', () => poured() > before + MIB)
  // It says that it takes everything, begins to exchange keys, and hears nothing of the answer.
  widen(client, channel)
  _protocol.rekey()
  const atOnce = poured()
  await eventually('a machine that waits', () => isStill(poured))
  expect(poured() - atOnce).toBeLessThan(UNDER_WAY_BYTES_MAX)
})

test('[B1] what nobody reads of a customer’s channels is bounded over all of them, and their others go on', async () => {
  const room = 4 * MIB
  const machines: Stuck[] = []
  const port = await start({ heldBytesPerCustomerMax: room }, undefined, async asked => {
    if (asked === HOLE_PORT) return new Hole()
    // Windows grow while what comes is read.
    const machine = new Stuck(MIB / 4)
    machines.push(machine)
    return machine
  })
  const { sent } = await fill(port, STUCK_CHANNELS)
  await eventually('clients that wait', () => isStill(sent))
  const each = WINDOW_BYTES_MIN + HANDED_BYTES
  const taken = machines.reduce((sum, machine) => sum + machine.takenBytes, 0)
  expect(sent() - taken).toBeLessThan(STUCK_CHANNELS * each + room / 2)
  const { client } = await signIn(port)
  const other = await openPort(client, HOLE_PORT)
  other.end(Buffer.alloc(2 * MIB))
  await once(other.resume(), 'close')
})

test('[B1] a client that is gone takes what it has opened with it, also where what it sent waits', async () => {
  const machines: Stuck[] = []
  const port = await start({}, undefined, async () => {
    const machine = new Stuck()
    machines.push(machine)
    return machine
  })
  const { clients: gone, sent } = await fill(port, 3)
  await eventually('a client that waits', () => isStill(sent))
  for (const client of gone) client.destroy()
  await eventually('machines that are left', () => machines.every(({ destroyed }) => destroyed))
})

test('[B1] who sends past a window is cut off, and nobody else', async () => {
  const port = await start({}, undefined, async () => new Stuck())
  const [one, other] = [await signIn(port), await signIn(port)]
  const channel = await openPort(one.client, STUCK_PORT)
  const { outgoing } = channel as unknown as { outgoing: { window: number } }
  expect(outgoing.window).toBe(WINDOW_BYTES_MIN)
  outgoing.window = WINDOW_BYTES_MAX
  const closed = new Promise<void>(resolve => one.client.once('close', () => resolve()))
  channel.write(Buffer.alloc(WINDOW_BYTES_MAX))
  await closed
  expect((await openPort(other.client, STUCK_PORT)).writable).toBe(true)
})

test('[B1] a port whose reader does not read stands still, whatever windows it says, and others are carried', async () => {
  let poured = 0
  const piece = Buffer.alloc(32 * 1024)
  const port = await start({}, undefined, async () => {
    return new Endless({ highWaterMark: 1 }, () => {
      poured += piece.length
      return piece
    })
  })
  const [one, other] = [await signIn(port), await signIn(port)]
  for (let each = 0; each < 10; each++) {
    const channel = await openPort(one.client, HOLE_PORT)
    widen(one.client, channel.pause())
    // The next one has to be heard of.
    if (each < 9) sockOf(one.client).resume()
  }
  await eventually('a machine that waits', () => isStill(() => poured))
  expect(poured).toBeLessThan(UNDER_WAY_BYTES_MAX)
  const reader = await openPort(other.client, HOLE_PORT)
  let read = 0
  reader.on('data', (bytes: Buffer) => {
    read += bytes.length
  })
  await eventually('more of it', () => read > 4 * MIB)
})

test('[B1] a client that gives no sign of life is dropped with what it has opened, and one that does stays', async () => {
  const machines: Stuck[] = []
  const port = await start(
    { keepAliveMs: 100, keepAlivesMissedMax: 2, closeMs: 100 },
    undefined,
    async () => {
      const machine = new Stuck()
      machines.push(machine)
      return machine
    },
  )
  const [dead] = [await signIn(port), await signIn(port)]
  await openPort(dead.client, STUCK_PORT)
  sockOf(dead.client).pause()
  await eventually('one that is left', () => server?.count().customers === 1)
  expect(machines.every(({ destroyed }) => destroyed)).toBe(true)
  expect(await isStill(() => server?.count().customers ?? 0)).toBe(true)
})

test('[B1] a client that takes next to nothing, or nothing, at once is cut off, and nobody else', async () => {
  const { port } = await startPouring()
  const other = await signIn(port)
  for (const packetBytes of [1, 0]) {
    const { client } = await signIn(port)
    const { _protocol } = client as unknown as {
      _protocol: { session(id: number, windowBytes: number, packetBytes: number): void }
    }
    const plain = _protocol.session.bind(_protocol)
    _protocol.session = (id, windowBytes) => plain(id, windowBytes, packetBytes)
    const closed = once(client, 'close')
    client.exec('pour', () => undefined)
    await closed
  }
  await eventually('one that is left', () => server?.count().customers === 1)
  const channel = await new Promise<ClientChannel>((resolve, reject) => {
    other.client.exec('pour', (error, opened) => (error ? reject(error) : resolve(opened)))
  })
  await once(channel, 'data')
})

test('what is no number of a port is refused without asking anybody', async () => {
  const { client } = await signIn(await start())
  const before = askedForPorts
  const refusal = (port: number) =>
    new Promise(resolve => client.forwardOut('::1', 1, 'localhost', port, error => resolve(String(error))))
  for (const port of [0, 65_536, 2 ** 32 - 1]) expect(await refusal(port)).toContain('Nothing listens')
  expect(askedForPorts).toBe(before)
  await refusal(65_535)
  expect(askedForPorts).toBe(before + 1)
})

test('who opens ports without end waits for a turn, over all connections, and asks nothing after leaving', async () => {
  const port = await start({ asksAtOnce: 5, asksPerSecond: 0.001 })
  const [one, other] = [await signIn(port), await signIn(port)]
  const before = askedForPorts
  const refused: unknown[] = []
  for (const { client } of [one, other, one, other, one, other, one, other]) {
    client.forwardOut('::1', 1, 'localhost', 9, error => refused.push(error))
  }
  await eventually('five answers', () => refused.length === 5)
  expect(await isStill(() => askedForPorts)).toBe(true)
  expect(askedForPorts - before).toBe(5)
  one.client.destroy()
  await eventually('a connection that is over', () => server?.count().customers === 1)
  expect(askedForPorts - before).toBe(5)
})

test('[B1] one connection more than a customer may have says so in their language, and the others stay', async () => {
  const port = await start({ connectionsPerCustomerMax: 2, closeMs: 200 }, undefined, undefined, {
    languageOf: async () => 'ja',
  })
  for (let count = 0; count < 2; count++) await signIn(port)
  const { client } = await signIn(port)
  expect(await said(client)).toContain(sshSentence('ja', 'too_many_connections', 'i-abcdefg'))
  await eventually('two that are left', () => server?.count().customers === 2)
})

test('[B1] a key that goes while its owner signs in lets them in no further', async () => {
  const port = await start({ closeMs: 200 }, undefined, undefined, { fate: async () => 'removed' })
  const { client } = await signIn(port)
  expect(await said(client)).toContain(sshSentence('en', 'key_removed', 'i-abcdefg'))
  await eventually('nobody', () => server?.count().customers === 0)
})

test.each([
  ['because its machine stops, the words say so, though nobody told the connection', false],
  ['by itself, nothing is said of its machine', true],
])('[B1] where a program is killed %s', async (_, runs) => {
  const killed = () => {
    const machine = new Hole()
    machine.push(encodeJson(FRAME.exit, { code: null, signal: 'KILL' }))
    return machine
  }
  const { client } = await signIn(await start({}, killed, undefined, { isRunning: async () => runs }))
  const { signal, errors } = await new Promise<{ signal: string; errors: string }>(resolve => {
    client.exec('sleep', (_error, channel) => {
      let errors = ''
      channel.stderr.on('data', bytes => {
        errors += bytes
      })
      channel.on('exit', (_code: number | null, signal: string) => {
        channel.on('close', () => resolve({ signal, errors }))
      })
      channel.resume()
    })
  })
  expect(signal).toBe('SIGKILL')
  expect(errors).toBe(runs ? '' : `\r\n${sshSentence('en', 'stopped', 'i-abcdefg')}\r\n`)
})

test('[R2.23] who asks without end to be let in is cut off after so many bytes', async () => {
  const port = await start({ strangerBytesMax: 16 * 1024, signInMs: 600_000 })
  const client = new ssh2.Client().on('error', () => undefined)
  clients.push(client)
  const closed = new Promise<void>(resolve => client.once('close', () => resolve()))
  client.connect({
    host: '127.0.0.1',
    port,
    readyTimeout: 0,
    username: 'i-abcdefg',
    // What is no key is asked again and again, and is no try.
    authHandler: (_methods, _partial, next) => next({ type: 'none', username: 'i-abcdefg' }),
  })
  await closed
  await eventually('no stranger', () => server?.count().strangers === 0)
})

test('[R2.23] keys that are refused are so many on a connection, and so many of an address over all gateways', async () => {
  let refusals = 0
  const port = await start({ triesMax: 3, refusalsPerMinuteMax: 5 }, undefined, undefined, {
    countRefusal: async () => ({ current: ++refusals, ttlMs: 60_000 }),
  })
  const others = Array.from({ length: 6 }, () => makeKeyPair().private)
  /** How many keys were asked about before the connection was closed. */
  const tries = async () => {
    const before = refusals
    const client = new ssh2.Client().on('error', () => undefined)
    clients.push(client)
    const keysLeft = [...others]
    const closed = new Promise<void>(resolve => client.once('close', () => resolve()))
    client.connect({
      host: '127.0.0.1',
      port,
      username: 'i-abcdefg',
      authHandler: (_methods, _partial, next) => {
        const [key = keys.private] = keysLeft.splice(0, 1)
        next({ type: 'publickey', username: 'i-abcdefg', key })
      },
    })
    await closed
    return refusals - before
  }
  expect(await tries()).toBe(3)
  // The sixth within a minute is the last, whatever connection it comes by; so is each after it.
  expect(await tries()).toBe(3)
  expect(await tries()).toBe(1)
})

/** What is said on the terminal of a client that runs a command. */
async function said(client: Client): Promise<string> {
  const channel = await new Promise<ClientChannel>((resolve, reject) => {
    client.exec('true', (error, opened) => (error ? reject(error) : resolve(opened)))
  })
  channel.resume()
  const pieces: Buffer[] = []
  for await (const piece of channel.stderr) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}

/** Starts a server with a machine that has always more to say. */
async function startPouring(): Promise<{ port: number; poured(): number }> {
  let poured = 0
  const port = await start({}, () => {
    const piece = encodeFrame(FRAME.data, Buffer.alloc(32 * 1024))
    return new Endless({ highWaterMark: 1 }, () => {
      poured += piece.length
      return piece
    })
  })
  return { port, poured: () => poured }
}

/** Whether a count stays what it is for a moment. */
async function isStill(count: () => number): Promise<boolean> {
  const before = count()
  await new Promise(resolve => setTimeout(resolve, 200))
  return before === count()
}

/** Opens ways to a machine that takes nothing, and sends as much on each as it may. */
async function fill(port: number, count: number) {
  let sentBytes = 0
  const bytes = Buffer.alloc(2 * WINDOW_BYTES_MAX)
  const opened: Client[] = []
  for (let each = 0; each < count; each++) {
    if (each % SSH_LIMITS.forwardsPerConnectionMax === 0) {
      const { client } = await signIn(port)
      const { _protocol } = client as unknown as {
        _protocol: { channelData(id: number, data: Buffer): void }
      }
      const plain = _protocol.channelData.bind(_protocol)
      _protocol.channelData = (id, data) => {
        sentBytes += data.length
        plain(id, data)
      }
      opened.push(client)
    }
    const channel = await openPort(opened.at(-1) as Client, STUCK_PORT)
    channel.on('error', () => undefined).write(bytes)
  }
  return { clients: opened, sent: () => sentBytes }
}

function openPort(client: Client, port: number): Promise<ClientChannel> {
  return new Promise((resolve, reject) => {
    client.forwardOut('::1', 1, 'localhost', port, (error, channel) =>
      error ? reject(error) : resolve(channel),
    )
  })
}

/** What no client says by itself: that it takes two gigabytes more, while it reads nothing. */
function widen(client: Client, channel: ClientChannel): void {
  const { _protocol } = client as unknown as {
    _protocol: { channelWindowAdjust(id: number, bytes: number): void }
  }
  _protocol.channelWindowAdjust((channel as unknown as { outgoing: { id: number } }).outgoing.id, 2 ** 31 - 1)
  sockOf(client).pause()
}

function sockOf(client: Client): Socket {
  return (client as unknown as { _sock: Socket })._sock
}

/** A machine that takes so many bytes and no more, and says nothing. */
class Stuck extends Duplex {
  takenBytes = 0
  private readonly takesBytes: number
  constructor(takesBytes = 0) {
    super()
    this.takesBytes = takesBytes
  }
  override _read(): void {}
  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.takenBytes >= this.takesBytes) return
    this.takenBytes += chunk.length
    done()
  }
}

/** A machine that takes everything, and ends when that has ended. */
class Hole extends Duplex {
  override _read(): void {}
  override _write(_chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    done()
  }
  override _final(done: () => void): void {
    this.push(null)
    done()
  }
}

/** A stream out of a machine that has always more. */
class Endless extends Duplex {
  private readonly next: () => Buffer
  constructor(options: DuplexOptions, next: () => Buffer) {
    super(options)
    this.next = next
  }
  override _read(): void {
    setImmediate(() => this.push(this.next()))
  }
  override _write(_chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    done()
  }
}

async function start(
  limits: Partial<SshLimits> = {},
  run: () => Duplex = () => new Endless({}, () => Buffer.alloc(1)),
  connect: (port: number) => Promise<Duplex> = () => Promise.reject(new Error('no port')),
  side: Partial<GatewaySide> = {},
) {
  const turns = createMachineTurns({ ...PROCESS_CLOCKS, limits: { ...STREAM_LIMITS, ...SSH_TURNS } })
  const blob = Buffer.from(keys.public.split(' ')[1] ?? '', 'base64')
  server = createSshServer({
    hostKeys: createHostKeys(new Uint8Array(32).fill(5)).map(({ text }) => text),
    log: pino({ level: 'silent' }),
    gateway: {
      holder: async asked => ({
        fingerprint: fingerprintOf(asked),
        key: asked.equals(blob) ? { id: 'key', userId: 'anna', publicKey: keys.public } : null,
      }),
      fate: async () => 'stored',
      isSignedBySecurityKey: async () => false,
      accessOf: async () => ({ userId: 'anna', sshKeyIds: null, tcpPorts: [], udpPorts: [] }),
      languageOf: async () => 'en',
      countRefusal: async () => ({ current: 1, ttlMs: 1 }),
      note: async () => undefined,
      isRunning: async () => true,
      guestAccess: async () => null,
      hold: () => () => undefined,
      run: async ({ instanceId }) => turns.pace(instanceId, run()),
      connect: async ({ instanceId }, asked) => {
        askedForPorts++
        return turns.pace(instanceId, await connect(asked))
      },
      ...side,
    },
    turns,
    limits,
  })
  const { port } = await server.listen('127.0.0.1', 0)
  return port
}

function reach(port: number): Socket {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  clients.push(socket)
  return socket
}

async function signIn(port: number): Promise<{ client: Client; said: string }> {
  const client = new ssh2.Client()
  clients.push(client)
  const said = new Promise<string>(resolve => {
    client.on('ready', () => resolve('ready')).on('error', error => resolve(String(error)))
  })
  client.connect({ host: '127.0.0.1', port, username: 'i-abcdefg', privateKey: keys.private })
  return { client, said: await said }
}
