import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { diagnoseConnection } from '@berth/contract/connection-doctor'
import ssh2, { type AuthContext, type Connection, type ServerChannel, type Session } from 'ssh2'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createSshClient, hasProgram, resultOf, type SshClient } from '../../../../../test/ssh-client.ts'
import { createTestDatabase, type TestDatabase } from '../../../../../test/test-database.ts'
import { createTestEvents } from '../../../../../test/test-events.ts'
import { ComputeError } from '../../../../drivers/compute/port/compute-error.ts'
import { systemClock } from '../../../../platform/clock.ts'
import { systemIds } from '../../../../platform/ids.ts'
import { READ_AHEAD } from '../../../../platform/read-ahead.ts'
import { createSshKeys, type SshKeys } from '../../../ssh-keys/ssh-keys.ts'
import type { ReachedEngine } from '../../machine-ways.ts'
import { CALLERS, type ConnectFixture, eventually, startConnectFixture } from '../../reach-fixture.ts'

const SETUP_MS = 60_000
/** A guest that does not answer is waited for no longer here. */
const LIMITS = { guestAnswerMs: 3_000, guestHelloBytesMax: 64 * 1024 }
const MB = 1024 * 1024
const WINDOW_BYTES = 2 * MB
/** No window is a multiple of it. */
const PIECE_BYTES = 30_000

const missing = hasProgram('ssh') ? null : 'OpenSSH’s client is not installed'
if (missing !== null) process.stdout.write(`SKIP virtual machines’ own SSH servers: ${missing}\n`)

// Goal: whatever a virtual machine's SSH server does, its customer is told what to do, and nothing grows. Method: OpenSSH's
// client, the real server in its own process, and servers of the test behind port 22.
describe.skipIf(missing !== null)('virtual machines’ own SSH servers', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-guests-'))
  let database: TestDatabase
  let keys: SshKeys
  let fixture: ConnectFixture
  let ssh: SshClient
  let key: string
  let id: string
  /** What is opened for port 22 of a machine. */
  const ports = new Map<string, number>()
  const ends: (() => void)[] = []

  const engine = {
    network: {
      async connect(instanceId: string, asked: number) {
        const port = ports.get(instanceId)
        if (port === undefined || asked !== 22) throw new ComputeError('port_closed', 'nothing listens')
        const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true, ...READ_AHEAD })
        await once(socket, 'connect')
        return socket
      },
    },
  } as unknown as ReachedEngine

  beforeAll(async () => {
    database = await createTestDatabase()
    const { db } = database
    const base = { db, clock: systemClock, ids: systemIds, events: createTestEvents(db) }
    keys = createSshKeys({ ...base, rootKey: Buffer.alloc(32, 7) })
    fixture = await startConnectFixture(
      engine,
      { ssh: LIMITS },
      {
        database,
        ssh: {
          rootKey: Buffer.alloc(32, 7),
          sshKeys: keys,
          languageOf: async () => 'en',
          countRefusal: async () => ({ current: 1, ttlMs: 1 }),
          place: null,
        },
      },
    )
    await fixture.connect.ssh?.listen('127.0.0.1', 0)
    ssh = createSshClient({ folder, port: fixture.connect.ssh?.address()?.port ?? 0 })
    await ssh.learnHost()
    const made = ssh.makeKey('laptop')
    key = made.file
    await keys.add(CALLERS.anna.userId, { name: '', public_key: made.line })
    ;({ id } = await fixture.addInstance({ kind: 'VM' }))
  }, SETUP_MS)
  afterEach(() => {
    ports.clear()
    for (const end of ends.splice(0)) end()
  })
  afterAll(async () => {
    await fixture?.close()
    await database?.drop()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Has a server of the test be port 22. */
  async function listen(onSocket: (socket: Socket) => void, at = id): Promise<void> {
    const server = createServer(socket => {
      socket.on('error', () => socket.destroy())
      ends.push(() => socket.destroy())
      onSocket(socket)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    ends.push(() => server.close())
    ports.set(at, (server.address() as AddressInfo).port)
  }

  interface GuestPart {
    hostKey?: string
    onAuth?(context: AuthContext): void
    onSession?(accept: () => Session, reject: () => void, client: Connection): void
    onPort?(accept: () => ServerChannel, reject: () => void, host: string, port: number): void
    onRequest?(name: string): void
  }
  /** Has a server of SSH be port 22 that is what the machine was given, but for these parts. */
  async function serve({ hostKey, onAuth, onSession, onPort, onRequest }: GuestPart, at = id): Promise<void> {
    const { host, signIn } = keys.guestKeys(at)
    const own = signIn.public.split(' ')[1]
    const isOurs = (context: AuthContext) =>
      context.method === 'publickey' &&
      context.username === 'root' &&
      context.key.data.toString('base64') === own
    await listen(socket => {
      const server = new ssh2.Server({ hostKeys: [hostKey ?? host.private] }, client => {
        client.on('error', () => undefined)
        client.on(
          'authentication',
          onAuth ?? (context => (isOurs(context) ? context.accept() : context.reject())),
        )
        hearRequests(client, name => onRequest?.(name))
        client.on('session', (accept, reject) => onSession?.(accept, reject, client))
        client.on('tcpip', (accept, reject, { destIP, destPort }) =>
          onPort?.(accept, reject, destIP, destPort),
        )
      })
      server.injectSocket(socket)
    }, at)
  }
  /** A session that has one program, of whatever name. */
  const program = (run: (channel: ServerChannel, command: string) => void): GuestPart => ({
    onSession: accept => {
      accept().on('exec', (acceptExec, _, { command }) => run(acceptExec(), command))
    },
  })

  const command = (line: string, input?: Buffer, at = id) =>
    ssh.run('ssh', key, [`${at}@127.0.0.1`, line], input)
  const told = async (part: RegExp, at = id) => {
    const { code, err } = await command('true', undefined, at)
    expect([code, err.trim()]).toEqual([255, expect.stringMatching(part)])
  }
  const findings = async () =>
    (await fixture.call(diagnoseConnection, { params: { id } })).data.findings.map(({ code }) => code)

  test('[B1] the gateway signs in as root with the key of that machine alone; a program has its streams, code and signal', async () => {
    await serve(
      program((channel, line) => {
        const pieces: Buffer[] = []
        channel.on('data', (piece: Buffer) => pieces.push(piece))
        channel.once('end', () => {
          channel.write(`${line}: ${Buffer.concat(pieces).length}`)
          channel.stderr.write('beside')
          if (line === 'killed') channel.exit('TERM')
          else channel.exit(7)
          channel.end()
        })
      }),
    )
    const input = Buffer.alloc(3 * WINDOW_BYTES, 'x')
    expect(await command('count', input)).toEqual({ code: 7, out: `count: ${input.length}`, err: 'beside' })
    expect((await command('killed')).code).toBe(255)
  })

  test('[B1] a program whose customer does not read waits', async () => {
    let written = 0
    await serve(
      program(channel => {
        const pour = () =>
          void channel.write(Buffer.alloc(MB / 4), () => {
            written += MB / 4
            pour()
          })
        channel.on('error', () => undefined)
        pour()
      }),
    )
    const child = ssh.start('ssh', key, [`${id}@127.0.0.1`, 'pour'])
    child.stdout.pause()
    let before = -1
    // What waits on the way is some windows and sockets: when a second passes without more, it waits.
    await eventually('the flood to wait', async () => {
      const isSame = written > 0 && written === before
      before = written
      if (!isSame) await new Promise(resolve => setTimeout(resolve, 1_000))
      return isSame
    })
    expect(written).toBeLessThan(32 * MB)
    child.kill()
    await resultOf(child)
  })

  test('[B1] [B8] where nothing listens on port 22, it is said what to look at', async () => {
    await told(/^Nothing answers on port 22 of the virtual machine i-\w+\. If it was started a moment ago/)
    expect(await findings()).toContain('guest_closed')
  })

  test('[B1] [B8] a server with another key than the machine was given is not talked to', async () => {
    let asked = 0
    const other = keys.guestKeys('i-other').host.private
    await serve({ hostKey: other, onAuth: () => asked++ })
    await told(/has another key than it was given\. Run “cloud-init clean”/)
    expect(await findings()).toContain('guest_host_key')
    expect(asked).toBe(0)
  })

  test('[B1] [B8] a server that does not know the key is said to, and is tried no other way', async () => {
    const methods = new Set<string>()
    await serve({
      onAuth: context => {
        methods.add(context.method)
        context.reject(['publickey', 'password', 'keyboard-interactive'])
      },
    })
    await told(/does not let us in as root/)
    expect(await findings()).toContain('guest_key_refused')
    expect([...methods]).toEqual(['publickey'])
  })

  test('[B1] a server that says nothing, nothing of use or no end of it is given up, and so is one that begins nothing', async () => {
    const behaviours: ((socket: Socket) => void)[] = [
      socket => void socket.resume(),
      socket => void socket.destroy(),
      socket => void socket.resume().end('HTTP/1.1 400 Bad Request\r\n\r\n'),
      socket => void socket.resume().write('SSH-2.0-OpenSSH_9.2\r\n'),
      socket => {
        const more = () => {
          while (!socket.destroyed && socket.write(`${'hello '.repeat(1_000)}\r\n`));
        }
        socket.on('drain', more).resume()
        more()
      },
    ]
    let closed = 0
    const added = await Promise.all(behaviours.map(() => fixture.addInstance({ kind: 'VM' })))
    for (const [at, behave] of behaviours.entries()) {
      await listen(socket => {
        socket.once('close', () => closed++)
        behave(socket)
      }, added[at]?.id)
    }
    const idle = await fixture.addInstance({ kind: 'VM' })
    await serve({ onSession: () => undefined }, idle.id)
    await Promise.all([...added, idle].map(one => told(/does not answer as an SSH server should/, one.id)))
    await eventually('their connections to be closed', () => closed === behaviours.length)
  })

  test('[B1] a port that is closed at the machine’s address is looked for on its loopback, by its own server', async () => {
    const asked: string[] = []
    await serve({
      onPort(accept, reject, host, port) {
        asked.push(`${host}:${port}`)
        if (port !== 9_000) return reject()
        const channel = accept()
        channel.pipe(channel)
      },
    })
    const input = randomBytes(3 * WINDOW_BYTES)
    const child = ssh.start('ssh', key, ['-W', 'localhost:9000', `${id}@127.0.0.1`])
    const back: Buffer[] = []
    child.stdout.on('data', piece => back.push(piece))
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    await once(child, 'close')
    expect(Buffer.concat(back).equals(input)).toBe(true)
    const closed = await ssh.run('ssh', key, ['-W', 'localhost:9001', `${id}@127.0.0.1`])
    expect(closed.err).toContain('Nothing listens on that port')
    const silent = await fixture.addInstance({ kind: 'VM' })
    const none = await ssh.run('ssh', key, ['-W', 'localhost:9000', `${silent.id}@127.0.0.1`])
    expect(none.err).toContain('Nothing listens on that port')
    expect(asked).toEqual(['localhost:9000', 'localhost:9001'])
  })

  test('[B1] a server that takes next to nothing, or nothing, at once is lost, and what it says of its keys is not heard', async () => {
    const asked: string[] = []
    for (const packetBytes of [1, 0]) {
      await serve({
        onSession(accept, _, client) {
          const { _protocol } = client as unknown as {
            _protocol: { channelOpenConfirm(...of: [number, number, number, number]): void }
          }
          const plain = _protocol.channelOpenConfirm.bind(_protocol)
          _protocol.channelOpenConfirm = (remote, local, windowBytes) =>
            plain(remote, local, windowBytes, packetBytes)
          accept().on('exec', acceptExec => void acceptExec())
        },
      })
      await told(/does not answer as an SSH server should/)
    }
    await serve({
      onSession(accept, _, client) {
        sayKeys(client, Buffer.from('no key'))
        accept().on('exec', acceptExec => void acceptExec().end('done'))
      },
      onRequest: name => asked.push(name),
    })
    expect((await command('true')).out).toBe('done')
    expect(asked).not.toContain('hostkeys-prove-00@openssh.com')
  })

  test('[B1] what a server refuses is said', async () => {
    await serve({ onSession: (_, reject) => reject() })
    await told(/no room for another program/)
    await serve({ onSession: accept => void accept().on('exec', (_, reject) => reject()) })
    await told(/does not answer as an SSH server should/)
    const sftp = await ssh.run('sftp', key, ['-q', '-b', '-', `${id}@127.0.0.1`], 'ls\n')
    expect(sftp.err).toContain('This subsystem is not offered')
  })

  test('[B1] a server that sends past the window, or hangs up, is lost, and the customer is told', async () => {
    let isCut = false
    await serve(
      program(channel => {
        const { _client, outgoing } = channel as unknown as {
          _client: Connection & { _protocol: { channelData(id: number, bytes: Buffer): void } }
          outgoing: { id: number }
        }
        const pour = () => {
          if (isCut) return
          _client._protocol.channelData(outgoing.id, Buffer.alloc(PIECE_BYTES))
          setImmediate(pour)
        }
        _client.once('close', () => {
          isCut = true
        })
        pour()
      }),
    )
    const child = ssh.start('ssh', key, [`${id}@127.0.0.1`, 'pour'])
    const result = resultOf(child)
    child.stdout.pause()
    await eventually('the machine to be cut', () => isCut)
    child.stdout.resume()
    expect(await result).toMatchObject({ code: 255, err: expect.stringContaining('cannot be reached') })
    await serve(program(() => ends.splice(0).forEach(end => void end())))
    await told(/cannot be reached at the moment/)
  })

  test('[B1] sessions of one connection share one to the machine, and a broken one is made anew', async () => {
    let signIns = 0
    const sockets: Connection[] = []
    await serve({
      onSession: (accept, _, client) => {
        if (!sockets.includes(client)) {
          sockets.push(client)
          signIns++
        }
        accept().on('exec', acceptExec => {
          const channel = acceptExec()
          channel.exit(0)
          channel.end('done')
        })
      },
    })
    const client = new ssh2.Client()
    client.connect({
      host: '127.0.0.1',
      port: fixture.connect.ssh?.address()?.port ?? 0,
      username: id,
      privateKey: readFileSync(key),
    })
    await once(client, 'ready')
    const run = () =>
      new Promise<string>((resolve, reject) => {
        client.exec('true', (error, channel) => {
          if (error) return reject(error)
          const pieces: Buffer[] = []
          channel
            .on('data', (piece: Buffer) => pieces.push(piece))
            .stderr.on('data', piece => pieces.push(piece))
          channel.on('close', () => resolve(Buffer.concat(pieces).toString()))
        })
      })
    expect(await Promise.all([run(), run(), run()])).toEqual(['done', 'done', 'done'])
    expect(signIns).toBe(1)
    sockets[0]?.end()
    await eventually('another connection to be made', async () => (await run()) === 'done' && signIns === 2)
    client.end()
  })
})

/** Has a server say that it has another key, which its client is to have it prove. */
function sayKeys(client: Connection, key: Buffer): void {
  const { _protocol } = client as unknown as {
    _protocol: {
      _packetRW: {
        write: { allocStart: number; alloc(bytes: number): Buffer; finalize(packet: Buffer): Buffer }
      }
      _cipher: { encrypt(packet: Buffer): void }
    }
  }
  const { write } = _protocol._packetRW
  const name = 'hostkeys-00@openssh.com'
  const text = Buffer.concat([Buffer.from([80, 0, 0, 0, name.length]), Buffer.from(name), Buffer.from([0])])
  const packet = write.alloc(text.length + 4 + key.length)
  const at = packet.writeUInt32BE(key.length, text.copy(packet, write.allocStart) + write.allocStart)
  key.copy(packet, at)
  _protocol._cipher.encrypt(write.finalize(packet))
}

/** Tells of each thing that a client asks of a connection, also of what the library keeps to itself. */
function hearRequests(client: Connection, onRequest: (name: string) => void): void {
  type Handle = (protocol: unknown, name: string, ...rest: unknown[]) => void
  const { _handlers } = (client as unknown as { _protocol: { _handlers: { GLOBAL_REQUEST: Handle } } })
    ._protocol
  const plain = _handlers.GLOBAL_REQUEST
  _handlers.GLOBAL_REQUEST = (protocol, name, ...rest) => {
    onRequest(name)
    plain(protocol, name, ...rest)
  }
}
