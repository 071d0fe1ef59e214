import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Duplex, duplexPair } from 'node:stream'
import { pino } from 'pino'
import ssh2, { type Algorithms, type Client } from 'ssh2'
import { afterEach, expect, test } from 'vitest'
import { sshProcessOf } from '../../../../../test/ssh-process.ts'
import { asFailure, readAnswer } from '../../../../drivers/compute/port/answers.ts'
import { ComputeError } from '../../../../drivers/compute/port/compute-error.ts'
import { serveProgram } from '../../../../drivers/compute/sessions/serve-program.ts'
import { ApiError } from '../../../../platform/http/api-error.ts'
import { READ_AHEAD } from '../../../../platform/read-ahead.ts'
import { createGuestKeys } from '../../../ssh-keys/guest-keys.ts'
import { fingerprintOf } from '../../../ssh-keys/public-key.ts'
import { eventually } from '../../reach-fixture.ts'
import { createMachineTurns, PROCESS_CLOCKS } from '../../streams/machine-turns.ts'
import { STREAM_LIMITS } from '../../streams/stream-limits.ts'
import { makeKeyPair } from '../key-pair-fixture.ts'
import type { SshLimits } from '../ssh-limits.ts'
import { createSshBeside, type SshBeside } from './ssh-beside.ts'

// Goal: what customers send and fetch by SSH is no work of the gateway's own process. Method: the real process, asked by
// the library's own client, with a machine that gives back what it reads.

const BYTES = 3_000_000
/** Longer than anything takes that does not hang. */
const PATIENCE_MS = 60_000
const keys = makeKeyPair()
const blob = Buffer.from(keys.public.split(' ')[1] ?? '', 'base64')

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

test('[B19] a machine’s own socket is handed to the process, and no byte of a program passes through this one', async () => {
  const { port, lent, held } = await start(openSocket)
  const client = await signIn(port)
  const bytes = Buffer.alloc(BYTES, 'some bytes ')
  expect((await run(client, bytes)).equals(bytes)).toBe(true)
  expect(lent).toHaveLength(1)
  const [socket] = lent as Socket[]
  expect(socket?.destroyed).toBe(true)
  // The answer that the program runs, and what of its first words came with it.
  expect(socket?.bytesRead).toBeLessThan(BYTES / 10)
  client.end()
  await eventually('nothing that is held', () => held.size === 0)
})

test('what a machine said before its socket was handed over comes first, and nothing of it is lost', async () => {
  const { port } = await start(openSocket, 'hello ')
  const client = await signIn(port)
  for (let round = 0; round < 5; round++) {
    expect((await run(client, Buffer.from('bytes'))).toString()).toBe('hello bytes')
  }
})

test('a machine that is reached by no socket of the kernel is reached all the same', async () => {
  const { port, held } = await start(async machine => {
    const [near, far] = duplexPair()
    machine(far)
    return near
  })
  const client = await signIn(port)
  const bytes = Buffer.alloc(BYTES, 'some bytes ')
  expect((await run(client, bytes)).equals(bytes)).toBe(true)
  client.end()
  await eventually('nothing that is held', () => held.size === 0)
})

test('what the gateway refuses with is said on the terminal in its own words', async () => {
  for (const [error, words] of [
    [new ApiError('instance_not_running'), 'does not run'],
    [new ComputeError('exhausted', 'no more processes'), 'no room for another program'],
    [new ComputeError('no_shell', 'nothing to run'), 'has no shell'],
  ] as const) {
    const { port } = await start(() => Promise.reject(error))
    const client = await signIn(port)
    const said = await new Promise<string>(resolve => {
      client.exec('x', (_, channel) => channel.resume().stderr.once('data', piece => resolve(String(piece))))
    })
    expect(said).toContain(words)
  }
})

test('a client that has AES-GCM gets it whatever it likes better, and one that has none is served as well', async () => {
  const { port } = await start(openSocket, '', { firstWordsMs: PATIENCE_MS })
  for (const [has, gets] of [
    [['aes256-ctr', 'aes128-gcm@openssh.com'], 'aes128-gcm@openssh.com'],
    [['aes256-ctr'], 'aes256-ctr'],
  ] as const) {
    const client = new ssh2.Client()
    const agreed = once(client, 'handshake')
    await signIn(port, client, { cipher: [...has] })
    const [{ cs, sc }] = await agreed
    expect([cs.cipher, sc.cipher]).toEqual([gets, gets])
    expect((await run(client, Buffer.from('bytes'))).toString()).toBe('bytes')
  }
})

test('a process that dies gives back what it held, and is started again on the same port', async () => {
  const { port, ssh, held } = await start(openSocket)
  const client = await signIn(port)
  client.exec('x', () => undefined)
  await eventually('a program and a use', () => held.size === 2)
  const closed = once(client, 'close')
  process.kill(sshProcessOf(), 'SIGKILL')
  await closed
  await eventually('nothing that is held', () => held.size === 0)
  await eventually('the same port', () => ssh.address()?.port === port)
  expect((await run(await signIn(port), Buffer.from('again'))).toString()).toBe('again')
})

test('the process is told no settings and no secrets of the gateway', async () => {
  await start(openSocket)
  const environment = readFileSync(`/proc/${sshProcessOf()}/environ`, 'utf8').split('\0')
  const names = environment.map(line => line.split('=')[0] ?? '').filter(name => name !== '')
  // Node's own line between the two, and where what it has compiled is kept.
  expect(
    names.filter(name => !/^NODE_(CHANNEL_FD|CHANNEL_SERIALIZATION_MODE|COMPILE_CACHE)$/.test(name)),
  ).toEqual([])
})

/** Starts the server beside this process. @param reach Opens a way to a machine that was made. */
async function start(
  reach: (machine: (stream: Duplex) => void) => Promise<Duplex>,
  greeting = '',
  limits: Partial<SshLimits> = {},
) {
  const lent: Duplex[] = []
  const held = new Set<symbol>()
  const hold = () => {
    const one = Symbol()
    held.add(one)
    return () => void held.delete(one)
  }
  const ssh: SshBeside = createSshBeside({
    rootKey: new Uint8Array(32).fill(5),
    log: pino({ level: 'silent' }),
    listen: async () => () => undefined,
    uses: { hold },
    ways: {
      async lend() {
        const stream = await reach(far => serveEcho(far, greeting))
        lent.push(stream)
        await readAnswer(stream, 30_000)
        return { stream, giveBack: hold() }
      },
    },
    instances: {
      accessOf: async () => ({ userId: 'anna', sshKeyIds: null, tcpPorts: [], udpPorts: [] }),
      findRunning: async () => ({}) as never,
    },
    sshKeys: {
      holder: async asked => ({
        fingerprint: fingerprintOf(asked),
        key: asked.equals(blob) ? { id: 'key', userId: 'anna', publicKey: keys.public } : null,
      }),
      fate: async () => 'stored',
      guestKeys: createGuestKeys(Buffer.alloc(32)),
    },
    languageOf: async () => 'en',
    attempts: { note: async () => undefined },
    countRefusal: async () => ({ current: 1, ttlMs: 1 }),
    turns: createMachineTurns({ ...PROCESS_CLOCKS, limits: STREAM_LIMITS }),
    limits,
  })
  ends.push(ssh.shutdown)
  await ssh.listen('127.0.0.1', 0)
  return { ssh, port: ssh.address()?.port ?? 0, lent, held }
}

/** Opens a machine by a socket of the kernel, as engines on this computer are reached. */
async function openSocket(machine: (stream: Duplex) => void): Promise<Socket> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-machine-'))
  const server = createServer({ allowHalfOpen: true }, machine).listen(join(folder, 'socket'))
  await once(server, 'listening')
  ends.push(() => {
    server.close()
    rmSync(folder, { recursive: true })
  })
  return connect({ path: join(folder, 'socket'), allowHalfOpen: true, ...READ_AHEAD })
}

/** A program that gives back what it reads, and ends with its input. */
function serveEcho(stream: Duplex, greeting: string): void {
  void serveProgram(
    stream,
    events => {
      events.onData(Buffer.from(greeting))
      return {
        write: data => {
          events.onData(Buffer.from(data))
          return true
        },
        end: () => events.onEnd({ code: 0, signal: null }),
        resize: () => undefined,
        signal: () => undefined,
        pause: () => undefined,
        resume: () => undefined,
        hangUp: () => undefined,
      }
    },
    asFailure,
  )
}

async function signIn(
  port: number,
  client = new ssh2.Client(),
  algorithms: Algorithms = {},
): Promise<Client> {
  ends.push(() => client.destroy())
  client.on('error', () => undefined)
  client.connect({ host: '127.0.0.1', port, username: 'i-abcdefg', privateKey: keys.private, algorithms })
  await once(client, 'ready')
  return client
}

/** Gives a program its input, and takes its output to its end. */
function run(client: Client, input: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    client.exec('x', (error, channel) => {
      if (error) return reject(error)
      const pieces: Buffer[] = []
      channel.on('data', (piece: Buffer) => pieces.push(piece))
      channel.once('close', () => resolve(Buffer.concat(pieces)))
      channel.end(input)
    })
  })
}
