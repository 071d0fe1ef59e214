import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Docker from 'dockerode'
import pino from 'pino'
import { type Connection, Server, utils } from 'ssh2'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openScreen } from '../conformance/screen.ts'
import { smallMachine } from '../conformance/small-machine.ts'
import { describeWhere, eventually, expectCode, never, text } from '../conformance/tools.ts'
import { createEngineSource } from '../engine-source.ts'
import type { Engine } from '../port/engine.ts'
import { removeCloud } from './docker-cloud-fixture.ts'
import { probeDocker } from './probe-docker.ts'
import { importTestImage } from './test-image.ts'

const probe = await probeDocker()
const SOCKET = '/run/elsewhere/docker.sock'

// Goal: an engine by SSH. Method: the engine is real, and so is the protocol; the server is this process, which does
// what sshd does of it: one user with one key, and streams to a socket or a port.
describeWhere('an engine by SSH', probe, () => {
  describe('an engine by SSH', () => {
    const cloudId = `test-${randomBytes(4).toString('hex')}`
    const folder = mkdtempSync(join(tmpdir(), 'berth-ssh-'))
    const socketPath = probe.ok ? probe.socket_path : ''
    const docker = new Docker({ socketPath })
    const connections = new Set<Connection>()
    let server: Server
    let hostKey = ''
    let engine: Engine
    let image = ''

    const source = (part: { host_key?: string; key_file?: string } = {}) =>
      createEngineSource(
        {
          driver: 'docker',
          url: `ssh://berth@127.0.0.1:${(server.address() as AddressInfo).port}${SOCKET}`,
          key_file: 'user',
          host_key: hostKey,
          ...part,
        },
        { cloudId, sandboxDir: folder, baseDir: folder, egress: null, log: pino({ level: 'silent' }) },
      )

    beforeAll(async () => {
      image = await importTestImage(docker)
      const [host, user, other] = [makeKey(), makeKey(), makeKey()]
      writeFileSync(join(folder, 'user'), user)
      writeFileSync(join(folder, 'other'), other)
      const parsed = utils.parseKey(host)
      if (parsed instanceof Error) throw parsed
      hostKey = `SHA256:${createHash('sha256').update(parsed.getPublicSSH()).digest('base64').replace('=', '')}`
      server = startServer({ host, user, socketPath, connections })
      await once(server, 'listening')
      engine = await source().open()
    })
    afterAll(async () => {
      await engine.machines.remove('by-ssh', never)
      await engine.shutdown()
      await removeCloud(docker, cloudId)
      for (const connection of connections) connection.end()
      server.close()
      rmSync(folder, { recursive: true })
    })

    test('is the one that its socket leads to, over one connection', async () => {
      const info = await docker.info()
      expect(engine.id).toBe(`docker:${info.ID}`)
      expect(engine.capabilities.ports_exposed).toBeNull()
      expect(await engine.size()).toMatchObject({ cpu_count: info.NCPU, disk_gb: null, gpus: [] })
      expect(connections.size).toBe(1)
    })

    test('makes machines, talks to them, and reaches ports that nobody else does', async () => {
      await engine.machines.create(smallMachine('by-ssh', { id: 'test', parts: { docker: image } }), never)
      await engine.machines.start('by-ssh', never)
      expect(await text(engine, 'by-ssh', 'hostname')).toBe('by-ssh\n')
      await expectCode(engine.network.connect('by-ssh', 9090), 'port_closed')
      const answer =
        'socket(S,2,1,0);bind(S,pack("Sna4x8",2,9090,"\\0\\0\\0\\0"))or die;listen(S,9);' +
        'while(accept(C,S)){while(sysread(C,$b,65536)){syswrite(C,$b)}close C}'
      await text(engine, 'by-ssh', `setsid perl -e '${answer}' > /dev/null 2>&1 &`)
      const stream = await eventually(() => engine.network.connect('by-ssh', 9090))
      const sent = randomBytes(500_000)
      const received: Buffer[] = []
      stream.on('data', chunk => received.push(chunk))
      const ended = once(stream, 'end')
      stream.end(sent)
      await ended
      expect(Buffer.concat(received).equals(sent)).toBe(true)
      const inside = answer.replace('9090', '9091').replace('\\0\\0\\0\\0', '\\177\\0\\0\\1')
      await text(engine, 'by-ssh', `setsid perl -e '${inside}' > /dev/null 2>&1 &`)
      const within = await eventually(() => engine.network.connect('by-ssh', 9091))
      const heard = once(within, 'data')
      within.write('on its loopback')
      expect(String(await heard)).toBe('on its loopback')
      within.destroy()
    })

    test('opens terminals', async () => {
      const screen = await openScreen(engine, 'by-ssh')
      await screen.shows('# ')
      screen.type('echo $((6 * 7))\n')
      await screen.shows('42\r\n')
      screen.type('exit 3\n')
      expect(await screen.end).toEqual({ reason: 'exited', code: 3 })
    })

    test('is spoken to again after the connection broke', async () => {
      for (const connection of connections) connection.end()
      await eventually(() => expect(connections.size).toBe(0))
      await eventually(async () => {
        expect((await engine.observation.status('by-ssh')).state).toBe('running')
      })
    })

    test('is not spoken to where the server has another key, or lets the user in by none', async () => {
      const another = `SHA256:${createHash('sha256').update('another').digest('base64').replace('=', '')}`
      await expectCode(source({ host_key: another }).open(), 'engine_unavailable')
      await expectCode(source({ key_file: 'other' }).open(), 'engine_unavailable')
    })
  })
})

function makeKey(): string {
  return generateKeyPairSync('rsa', { modulusLength: 2048 })
    .privateKey.export({ type: 'pkcs1', format: 'pem' })
    .toString()
}

function startServer(options: {
  host: string
  user: string
  socketPath: string
  connections: Set<Connection>
}): Server {
  const user = utils.parseKey(options.user)
  if (user instanceof Error) throw user
  const server = new Server({ hostKeys: [options.host] }, connection => {
    connection.on('error', () => undefined)
    connection.on('authentication', context => {
      if (context.method !== 'publickey' || context.username !== 'berth') return context.reject(['publickey'])
      if (!context.key.data.equals(user.getPublicSSH())) return context.reject(['publickey'])
      if (context.signature && context.blob) {
        const isSigned = user.verify(context.blob, context.signature, context.hashAlgo)
        if (isSigned !== true) return context.reject()
      }
      context.accept()
    })
    connection.on('ready', () => {
      options.connections.add(connection)
      connection.on('openssh.streamlocal', (accept, reject, { socketPath }) => {
        if (socketPath !== SOCKET) return reject()
        joinStreams(connect({ path: options.socketPath, allowHalfOpen: true }), accept, reject)
      })
      connection.on('tcpip', (accept, reject, { destIP, destPort }) => {
        joinStreams(connect({ host: destIP, port: destPort, allowHalfOpen: true }), accept, reject)
      })
    })
    connection.on('close', () => options.connections.delete(connection))
  })
  server.listen(0, '127.0.0.1')
  return server
}

function joinStreams(
  socket: ReturnType<typeof connect>,
  accept: () => NodeJS.ReadWriteStream,
  reject: () => unknown,
): void {
  socket.once('error', reject)
  socket.once('connect', () => {
    socket.off('error', reject)
    const channel = accept()
    socket.on('error', () => undefined)
    channel.on('error', () => undefined)
    socket.pipe(channel).pipe(socket)
    channel.on('close', () => socket.destroy())
  })
}
