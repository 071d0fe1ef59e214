import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { systemIds } from '../../../platform/ids.ts'
import { createLocalModel, type LocalModelOptions } from './local-model.ts'
import { modelFile } from './model-file.ts'

const BYTES = Buffer.alloc(300_000, 'a model')
const SHA256 = createHash('sha256').update(BYTES).digest('hex')

let folder: string
let said: string[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-local-'))
  said = []
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const log = () => pino({ level: 'info' }, { write: (line: string) => void said.push(line) })
const files = () => readdirSync(join(folder, 'file')).sort()

/** A server of a file that breaks off after so many bytes, once, when some of them are kept. */
async function serve({ breaksAt = 0, answers = 200 } = {}) {
  const ranges: (string | undefined)[] = []
  const server = createServer((request, response) => {
    const { range } = request.headers
    ranges.push(range)
    const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0)
    const rest = BYTES.subarray(from)
    if (answers !== 200) return void response.writeHead(answers).end()
    response.writeHead(from > 0 ? 206 : 200, { 'content-length': rest.length })
    if (breaksAt === 0 || ranges.length > 1) return void response.end(rest)
    response.write(rest.subarray(0, breaksAt))
    const part = join(folder, 'file', `${SHA256}.gguf.part`)
    void vi.waitFor(() => expect(statSync(part).size).toBeGreaterThan(0)).finally(() => response.destroy())
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return { ranges, place: `http://127.0.0.1:${port}/small.gguf`, close: () => server.close() }
}

const fetchFrom = (place: string, sha256 = SHA256) =>
  modelFile(
    { place, isAddress: true, sha256 },
    { log: log(), signal: AbortSignal.timeout(20_000), folder: join(folder, 'file') },
  )

test('a file is downloaded with its progress in the log, kept by its checksum, and not asked for again', async () => {
  const { place, ranges, close } = await serve()
  const path = join(folder, 'file', `${SHA256}.gguf`)
  expect(await fetchFrom(place)).toBe(path)
  expect(await fetchFrom(place)).toBe(path)
  expect(ranges).toEqual([undefined])
  expect(said.join('')).toContain('the local model is being downloaded')
  expect(said.join('')).toContain('"percent":100')
  close()
})

test('a download that was cut goes on where it stopped', async () => {
  const { place, ranges, close } = await serve({ breaksAt: 100_000 })
  await expect(fetchFrom(place)).rejects.toThrow()
  expect(files()).toEqual([`${SHA256}.gguf.part`])
  await fetchFrom(place)
  expect(ranges[1]).toMatch(/^bytes=[1-9]\d*-$/)
  expect(files()).toEqual([`${SHA256}.gguf`])
  close()
})

test('another file than was meant is not kept, and none that is not there is asked for again and again', async () => {
  const { place, close } = await serve()
  await expect(fetchFrom(place, '0'.repeat(64))).rejects.toMatchObject({ name: 'Unfit' })
  expect(files()).toEqual([])
  close()
  const gone = await serve({ answers: 404 })
  await expect(fetchFrom(gone.place)).rejects.toMatchObject({ name: 'Unfit' })
  gone.close()
})

/** Starts a model and waits until it has given up. */
async function whyOf(more: Partial<LocalModelOptions>): Promise<string | null> {
  const model = createLocalModel({
    source: { place: join(folder, 'small.gguf'), isAddress: false, sha256: null },
    ...{ engine: join(folder, 'no-engine'), folder, contextTokens: 512, ids: systemIds, log: log() },
    ...more,
  })
  model.start()
  await expect.poll(() => said.join('')).toContain('The local model does not run')
  const asked = model.server.ask({
    path: 'chat/completions',
    body: {},
    texts: new Map(),
    signal: AbortSignal.timeout(1_000),
  })
  await expect(asked).rejects.toThrow('gave no answer')
  await model.stop()
  return model.why()
}

test('a computer that is too small for it says so, and so does one without its file or its engine', async () => {
  expect(await whyOf({})).toContain('small.gguf is no file')
  writeFileSync(join(folder, 'small.gguf'), BYTES)
  said = []
  expect(await whyOf({ availableBytes: () => 100_000_000 })).toMatch(
    /this computer is too small for the local model: it wants about 0\.4 GB of memory, and 0\.1 GB are free/,
  )
  said = []
  expect(await whyOf({})).toContain('BERTH_LOCAL_MODEL_ENGINE has no node-llama-cpp')
})
