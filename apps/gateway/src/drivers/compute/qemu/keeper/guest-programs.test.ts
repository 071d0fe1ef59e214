import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { duplexPair } from 'node:stream'
import ssh2, { type ServerChannel } from 'ssh2'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { ed25519Pair } from '../../../../platform/openssh-key.ts'
import { eventually } from '../../conformance/tools.ts'
import type { GuestAccess } from '../../port/guest-access.ts'
import { FRAME, FrameReader } from '../../sessions/frames.ts'
import { createGuestPrograms, guestFailureOf } from './guest-programs.ts'
import { runInGuest } from './run-in-guest.ts'

// Goal: what a keeper asks of its guest's SSH server is no more than such servers give, and what it takes from it is bounded.
// Method: a server of SSH of the test in the guest's place.

/** Of one connection: OpenSSH's server has ten, and one is left for who signs in by hand. */
const PER_CONNECTION_MAX = 9
const SILENT = { command: 'silent' }

const [signIn, host] = [ed25519Pair(Buffer.alloc(32, 1)), ed25519Pair(Buffer.alloc(32, 2))]
const folder = mkdtempSync(join(tmpdir(), 'berth-keeper-'))
const accessFile = join(folder, 'access')
const access: GuestAccess = { privateKey: signIn.private, hostKey: host.public }
writeFileSync(accessFile, JSON.stringify(access))
const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A guest whose server runs whatever it is asked to, as a test says. */
async function guest(run: (channel: ServerChannel, command: string) => void = () => undefined) {
  const connections: Socket[] = []
  let mostAtOnce = 0
  const listener = createServer({ noDelay: true }, socket => {
    connections.push(socket)
    let open = 0
    const server = new ssh2.Server({ hostKeys: [host.private] }, client => {
      client.on('error', () => undefined)
      client.on('authentication', context => context.accept())
      client.on('session', accept => {
        mostAtOnce = Math.max(mostAtOnce, ++open)
        const session = accept()
        session.on('exec', (acceptExec, _, { command }) => run(acceptExec(), command))
        session.once('close', () => open--)
      })
    })
    server.injectSocket(socket)
  }).listen(0, '127.0.0.1')
  servers.push(listener)
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  const programs = createGuestPrograms({
    accessFile,
    async connect() {
      const socket = connect({ host: '127.0.0.1', port, noDelay: true })
      await once(socket, 'connect')
      return socket
    },
  })
  const hangUp = () => {
    for (const connection of connections) connection.destroy()
  }
  return { programs, connections, hangUp, mostAtOnce: () => mostAtOnce }
}

const asked = (what = SILENT) => ({ what, env: {}, pty: null })

describe('programs in a guest', () => {
  test('share connections that carry no more than servers let them, and are so many and no more', async () => {
    const { programs, connections, hangUp, mostAtOnce } = await guest()
    const started = await Promise.all(Array.from({ length: 64 }, () => programs.start(asked())))
    expect(mostAtOnce()).toBeLessThanOrEqual(PER_CONNECTION_MAX)
    expect(connections).toHaveLength(8)
    const refused = await programs.start(asked()).catch(guestFailureOf)
    expect(refused).toMatchObject({ code: 'exhausted' })
    // One that is over makes room, over the connection that it had.
    started[0]?.program.drop()
    started[0]?.over()
    await programs.start(asked())
    expect(connections).toHaveLength(8)
    hangUp()
  })

  test('go over another connection once one has broken', async () => {
    const { programs, connections, hangUp } = await guest()
    await programs.start(asked())
    connections[0]?.destroy()
    await eventually(async () => expect(await programs.start(asked())).toBeDefined())
    expect(connections).toHaveLength(2)
    hangUp()
  })
})

describe('a command in a guest', () => {
  /** Runs one. @returns What is told of it, by kind of frame; `leave` hangs up. */
  async function command(bytesMax: number, run: (channel: ServerChannel, command: string) => void) {
    const { programs, hangUp } = await guest(run)
    const [near, far] = duplexPair()
    near.once('close', () => far.destroy())
    const frames: [number, Buffer][] = []
    const reader = new FrameReader((type, payload) => frames.push([type, Buffer.from(payload)]))
    near.on('data', (bytes: Buffer) => reader.push(bytes))
    const bounds = { output_bytes_max: bytesMax, timeout_ms: 600_000 }
    const request = { op: 'exec' as const, argv: ['program'], ...bounds }
    void runInGuest(far as Socket, request, programs, () => ({ code: 'failed', message: 'it was not run' }))
    const of = (kind: number) =>
      Buffer.concat(frames.flatMap(([type, bytes]) => (type === kind ? [bytes] : []))).toString()
    return {
      of,
      ended: () => eventually(() => expect(of(FRAME.exit)).not.toBe('')),
      leave: () => near.destroy(),
      hangUp,
    }
  }

  test('says what it writes and not what root’s shell said before it, both outputs within one bound', async () => {
    const { of, ended, hangUp } = await command(1_000, channel => {
      channel.write('Welcome, root\nberth-program 7\nits own')
      channel.stderr.write('x'.repeat(5_000))
      channel.exit(3)
      channel.end()
    })
    await ended()
    expect(of(FRAME.data)).toBe('its own')
    expect(of(FRAME.data).length + of(FRAME.stderr).length).toBe(1_000)
    expect(JSON.parse(of(FRAME.exit))).toEqual({ code: 3, timed_out: false })
    hangUp()
  })

  test('is killed with all that it has begun once nobody waits for it', async () => {
    const killed: string[] = []
    const { of, leave, hangUp } = await command(1_000, (channel, line) => {
      if (line.startsWith('kill ')) killed.push(line)
      else channel.write('berth-program 42\nup')
    })
    await eventually(() => expect(of(FRAME.data)).toBe('up'))
    leave()
    await eventually(() => expect(killed).toEqual(['kill -KILL -42']))
    hangUp()
  })
})
