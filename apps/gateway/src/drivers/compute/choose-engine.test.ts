import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { afterAll, expect, test } from 'vitest'
import { chooseEngine } from './choose-engine.ts'
import { probeSandbox } from './sandbox/probe-sandbox.ts'

const folder = mkdtempSync(join(tmpdir(), 'berth-choose-'))
const settings = {
  dataDir: join(folder, 'sandbox'),
  cloudId: 'choose',
  egress: null,
  log: pino({ level: 'silent' }),
}
afterAll(() => rmSync(folder, { recursive: true }))

test('none is no engine, with a sentence that says what to do', async () => {
  const choice = await chooseEngine({ ...settings, kind: 'none' })
  expect(choice.engine).toBeNull()
  expect(choice).toMatchObject({
    why: expect.stringMatching(/\w/),
    how_to_get_it: expect.stringMatching(/\w/),
  })
})

test('docker without an engine is no engine, and never the sandbox instead', async () => {
  const choice = await chooseEngine({
    ...settings,
    kind: 'docker',
    dockerSocketPath: join(folder, 'nothing.sock'),
  })
  expect(choice).toMatchObject({ engine: null, why: expect.stringContaining('no Docker socket') })
})

test('auto takes an engine whose socket answers', async () => {
  const socketPath = join(folder, 'engine.sock')
  const engine = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ ID: 'x', NCPU: 1, MemTotal: 1, MemoryLimit: false, CpuCfsQuota: true }))
  }).listen(socketPath)
  try {
    await new Promise(resolve => engine.once('listening', resolve))
    const choice = await chooseEngine({ ...settings, kind: 'auto', dockerSocketPath: socketPath })
    expect(choice.engine?.driver).toBe('docker')
    expect(choice.engine?.capabilities.memory_limit.enforced).toBe(false)
    expect(choice.engine?.capabilities.cpu_limit.enforced).toBe(true)
  } finally {
    engine.close()
  }
})

test('auto falls back to the sandbox, or says what is missing for both', async () => {
  const choice = await chooseEngine({
    ...settings,
    kind: 'auto',
    dockerSocketPath: join(folder, 'nothing.sock'),
  })
  const probe = await probeSandbox()
  if (probe.ok) expect(choice.engine?.driver).toBe('sandbox')
  else expect(choice).toMatchObject({ engine: null, why: expect.stringContaining(probe.why) })
  await choice.engine?.shutdown()
})

test('an engine that goes silent is reported, not thrown', async () => {
  const socketPath = join(folder, 'broken.sock')
  const engine = createServer((request, response) => {
    if (request.url === '/_ping') response.end('OK')
    else response.writeHead(500).end('{"message":"broken"}')
  }).listen(socketPath)
  try {
    await new Promise(resolve => engine.once('listening', resolve))
    const choice = await chooseEngine({ ...settings, kind: 'docker', dockerSocketPath: socketPath })
    expect(choice).toMatchObject({ engine: null, why: expect.stringContaining('broken') })
  } finally {
    engine.close()
  }
})
