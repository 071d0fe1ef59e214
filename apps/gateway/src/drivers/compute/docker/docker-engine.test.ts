import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, createServer, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type Server } from 'node:https'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { release, tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import Docker from 'dockerode'
import pino from 'pino'
import { afterAll, expect, test, vi } from 'vitest'
import { describeConformance } from '../conformance/conformance.ts'
import { smallMachine } from '../conformance/small-machine.ts'
import { describeWhere, expectCode, never, text } from '../conformance/tools.ts'
import { removeCloud } from './docker-cloud-fixture.ts'
import { createDockerEngine } from './docker-engine.ts'
import { toComputeError } from './docker-errors.ts'
import { listensOn } from './docker-ports.ts'
import { makeCertificates } from './dockerd-fixture.ts'
import { probeDocker } from './probe-docker.ts'
import { importTestImage } from './test-image.ts'
import { failBrokenAnswers } from './whole-answers.ts'

const log = pino({ level: 'silent' })
const probe = await probeDocker()

test.each([
  ['is not there', null, 'engine_unavailable'],
  ['hangs', () => undefined, 'engine_unavailable'],
  ['breaks', (_request: unknown, response: ServerResponse) => response.writeHead(500).end('{}'), 'failed'],
])('an engine that %s is told by its code', async (_name, answer, code) => {
  const socketPath = join(tmpdir(), `berth-engine-${randomBytes(4).toString('hex')}.sock`)
  const engine = answer ? createServer(answer).listen(socketPath) : null
  try {
    if (engine) await once(engine, 'listening')
    const making = createDockerEngine({
      place: { kind: 'unix', socket_path: socketPath },
      cloudId: 'x',
      egress: null,
      log,
      answerTimeoutMs: 200,
    })
    await expect(making).rejects.toMatchObject({ name: 'ComputeError', code })
  } finally {
    engine?.closeAllConnections()
    engine?.close()
  }
})

test('an engine that stops answering is told when an image is looked for', async () => {
  const socketPath = join(tmpdir(), `berth-engine-${randomBytes(4).toString('hex')}.sock`)
  const daemon = createServer((request, response) => {
    if (request.url?.startsWith('/info')) response.end('{"ID":"x","NCPU":1,"MemTotal":1,"MemoryLimit":true}')
  }).listen(socketPath)
  try {
    await once(daemon, 'listening')
    // A slow computer may meet the limit with what is answered, too: it is asked again.
    const engine = await vi.waitFor(() =>
      createDockerEngine({
        place: { kind: 'unix', socket_path: socketPath },
        cloudId: 'x',
        egress: null,
        log,
        answerTimeoutMs: 200,
      }),
    )
    const image = { id: 'debian', parts: { docker: 'debian:12' } }
    await expectCode(engine.images.has(image), 'engine_unavailable')
  } finally {
    daemon.closeAllConnections()
    daemon.close()
  }
})

test('a machine does not start while the disk of its engine’s computer is nearly full', async () => {
  const socketPath = join(tmpdir(), `berth-engine-${randomBytes(4).toString('hex')}.sock`)
  const info = { ID: 'x', NCPU: 1, MemTotal: 1, KernelVersion: release(), DockerRootDir: tmpdir() }
  const daemon = createServer((_request, response) => response.end(JSON.stringify(info))).listen(socketPath)
  try {
    await once(daemon, 'listening')
    const place = { kind: 'unix' as const, socket_path: socketPath }
    const open = (keptFreeMb: number) =>
      createDockerEngine({ place, cloudId: 'x', egress: null, log, keptFreeMb })
    const [short, wide] = [await open(Number.MAX_SAFE_INTEGER), await open(0)]
    await expectCode(short.machines.start('one', never), 'no_room')
    await wide.machines.start('one', never)
    for (const engine of [short, wide]) await engine.shutdown()
  } finally {
    daemon.closeAllConnections()
    daemon.close()
  }
})

test('an engine that comes back with another’s certificate, or breaks off in an answer, is told, and used again when it is right', async () => {
  const dirs = [0, 1].map(() => mkdtempSync(join(tmpdir(), 'berth-tls-')))
  const [own = '', foreign = ''] = dirs
  await Promise.all(dirs.map(makeCertificates))
  const read = (dir: string, name: string) => readFileSync(join(dir, name), 'utf8')
  let half = false
  const serve = async (dir: string, port: number) => {
    const files = { cert: read(dir, 'server.pem'), key: read(dir, 'server-key.pem') }
    const server = createTlsServer(files, (request, response) => {
      if (request.url?.startsWith('/info'))
        response.end('{"ID":"x","NCPU":1,"MemTotal":1,"MemoryLimit":true}')
      else if (!half) response.writeHead(404).end('{"message":"No such container"}')
      else {
        response.writeHead(200, { 'content-length': 99 }).write('{"State":')
        setImmediate(() => response.destroy())
      }
    }).listen(port, '127.0.0.1')
    await once(server, 'listening')
    return server
  }
  const end = async (server: Server) => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  let server: Server = await serve(own, 0)
  try {
    const { port } = server.address() as AddressInfo
    const tls = { ca: read(own, 'ca.pem'), cert: read(own, 'client.pem'), key: read(own, 'client-key.pem') }
    const engine = await createDockerEngine({
      place: { kind: 'tcp', host: '127.0.0.1', port, ...tls, publish_address: '127.0.0.1' },
      cloudId: 'x',
      egress: null,
      log,
    })
    expect(await engine.observation.status('one')).toEqual({ state: 'absent' })
    half = true
    // At once, and also where nobody counts the time.
    await expectCode(
      engine.machines.create(smallMachine('one', { id: 'x', parts: { docker: 'x' } }), never),
      'engine_unavailable',
    )
    await expectCode(engine.machines.remove('one', never), 'engine_unavailable')
    half = false
    await end(server)
    server = await serve(foreign, port)
    await expect(engine.observation.status('one')).rejects.toMatchObject({
      code: 'engine_unavailable',
      message: expect.stringContaining('the engine’s certificate is not one that'),
    })
    await end(server)
    server = await serve(own, port)
    expect(await engine.observation.status('one')).toEqual({ state: 'absent' })
  } finally {
    await end(server)
    for (const dir of dirs) rmSync(dir, { recursive: true })
  }
})

test.each([
  [
    'driver failed programming external connectivity: Bind for 127.0.0.2:32768 failed: port is already allocated',
    500,
    'port_taken',
  ],
  [
    'could not find an available, non-overlapping IPv4 address pool among the defaults to assign to the network',
    404,
    'exhausted',
  ],
  ['write /var/lib/docker/tmp/x: no space left on device', 500, 'no_room'],
  ['unknown or invalid runtime name: runsc', 400, 'unsupported'],
  ['Unknown runtime specified runsc', 400, 'unsupported'],
])('what an engine says is told by its code: %s', (message, statusCode, code) => {
  const error = Object.assign(new Error(message), { statusCode, json: { message } })
  expect(toComputeError(error, 'starting')).toMatchObject({ code, message: `starting: ${message}` })
})

test('a client’s log holds none of what hangs on the sockets of an engine', () => {
  const agent = failBrokenAnswers(new Agent({ keepAlive: true }))
  expect(inspect({ agent }, { showHidden: true, depth: null })).toBe('{ agent: Agent }')
})

test('a listener is found in the kernel’s list by its port and its state, and on what it listens', () => {
  const list =
    '  sl  local_address rem_address   st tx_queue rx_queue\n' +
    '   0: 00000000:1F90 00000000:0000 0A 00000000:00000000\n' +
    '   1: 0100007F:0050 0100007F:A1B2 01 00000000:00000000\n'
  expect(listensOn(list, 8080)).toBe('beyond')
  expect(listensOn(list, 80)).toBeNull()
  expect(listensOn(list, 8081)).toBeNull()
  const on = (address: string) => listensOn(`   0: ${address}:0050 0:0 0A`, 80)
  for (const own of [
    '0100007F',
    '0900007F',
    `${'0'.repeat(16)}FFFF00000100007F`,
    `${'0'.repeat(24)}01000000`,
  ])
    expect(on(own)).toBe('loopback')
  for (const other of ['00000000', '7F000001', '0'.repeat(32), '020011AC']) expect(on(other)).toBe('beyond')
  expect(listensOn(list.replaceAll('A1B2 01', 'A1B2 0A').concat('   2: 020011AC:0050 0:0 0A\n'), 80)).toBe(
    'beyond',
  )
})

describeWhere('docker', probe, () => {
  const socketPath = probe.ok ? probe.socket_path : ''
  const cloudId = `test-${randomBytes(4).toString('hex')}`
  const image = { id: 'test', parts: { docker: 'berth-test:not-made-yet' } }

  describeConformance('docker', {
    makeEngine: async () => {
      image.parts.docker = await importTestImage(new Docker({ socketPath }))
      return createDockerEngine({
        place: { kind: 'unix', socket_path: socketPath },
        cloudId,
        egress: null,
        log,
      })
    },
    image,
    missingImage: { id: 'sandbox-only', parts: { sandbox: 'host' } },
    shutdownStops: false,
  })

  test('a machine of an engine on this kernel is measured without a question to it, and as it would answer', async () => {
    const docker = new Docker({ socketPath })
    const way = await overheard(socketPath)
    const place = { kind: 'unix' as const, socket_path: way.socketPath }
    const engine = await createDockerEngine({ place, cloudId, egress: null, log })
    try {
      image.parts.docker = await importTestImage(docker)
      await engine.machines.create(smallMachine('measured', image), never)
      await engine.machines.start('measured', never)
      // Files in the cache are not the machine's use.
      await text(engine, 'measured', 'head -c 40M /dev/zero > ~/file; cat ~/file > /dev/null')
      const { disk_used_mb } = await engine.observation.sample('measured')
      const before = way.heard()
      const sample = await engine.observation.sample('measured')
      expect(way.heard()).toBe(before)
      const options = { stream: false, 'one-shot': true } as const
      const told = await docker.getContainer(`berth-${cloudId}-measured`).stats(options)
      expect(sample).toMatchObject({ disk_used_mb, network_received_bytes: expect.any(Number) })
      expect(told.memory_stats.usage / 2 ** 20).toBeGreaterThan(40)
      expect(sample.memory_used_mb).toBeLessThan(30)
      await engine.machines.stop('measured', never, { at_once: true })
      await expectCode(engine.observation.sample('measured'), 'not_running')
    } finally {
      await engine.machines.remove('measured', never)
      await engine.shutdown()
      way.close()
    }
  })

  afterAll(() => removeCloud(new Docker({ socketPath }), cloudId))
})

/** A way to an engine's socket, with how many bytes went to the engine on it. */
async function overheard(socketPath: string) {
  const own = join(tmpdir(), `berth-engine-${randomBytes(4).toString('hex')}.sock`)
  let bytes = 0
  const sockets = new Set<Socket>()
  const server = createTcpServer(socket => {
    const engine = connect(socketPath)
    for (const one of [socket, engine]) {
      sockets.add(one)
      one.on('error', () => undefined).on('close', () => sockets.delete(one))
    }
    socket.on('data', chunk => {
      bytes += chunk.length
    })
    socket.pipe(engine).pipe(socket)
  }).listen(own)
  await once(server, 'listening')
  return {
    socketPath: own,
    heard: () => bytes,
    close: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
