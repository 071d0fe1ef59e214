import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Docker from 'dockerode'
import pino from 'pino'
import { afterAll, expect, test } from 'vitest'
import { describeConformance } from '../conformance/conformance.ts'
import { describeWhere, expectCode } from '../conformance/tools.ts'
import { createDockerEngine } from './docker-engine.ts'
import { listensOn } from './docker-ports.ts'
import { probeDocker } from './probe-docker.ts'
import { importTestImage } from './test-image.ts'

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
    const engine = await createDockerEngine({
      place: { kind: 'unix', socket_path: socketPath },
      cloudId: 'x',
      egress: null,
      log,
      answerTimeoutMs: 200,
    })
    const image = { id: 'debian', parts: { docker: 'debian:12' } }
    await expectCode(engine.images.has(image), 'engine_unavailable')
  } finally {
    daemon.closeAllConnections()
    daemon.close()
  }
})

test('a listener is found in the kernel’s list by its port and its state', () => {
  const list =
    '  sl  local_address rem_address   st tx_queue rx_queue\n' +
    '   0: 00000000:1F90 00000000:0000 0A 00000000:00000000\n' +
    '   1: 0100007F:0050 0100007F:A1B2 01 00000000:00000000\n'
  expect(listensOn(list, 8080)).toBe(true)
  expect(listensOn(list, 80)).toBe(false)
  expect(listensOn(list, 8081)).toBe(false)
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

  afterAll(async () => {
    await new Docker({ socketPath })
      .getNetwork(`berth-${cloudId}`)
      .remove()
      .catch(() => undefined)
  })
})
