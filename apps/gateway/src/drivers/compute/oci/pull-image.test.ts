import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { takeLock } from '../../../platform/host-lock.ts'
import { eventually, expectCode, never } from '../conformance/tools.ts'
import type { PullProgress } from '../port/images.ts'
import { imageFiles, readRecord, removeUnused } from './image-files.ts'
import { removePieces } from './image-pieces.ts'
import { createImageStore, type LayImage } from './image-store.ts'
import type { Patience } from './outgoing.ts'
import { type PullOptions, pullImage } from './pull-image.ts'
import type { PullOrders } from './pull-orders.ts'
import { digestOf, makeImage, makeIndex, startRegistry } from './registry-fixture.ts'

const LAYER_BYTES = 300_000
const HALF = LAYER_BYTES / 2
const layer = randomBytes(LAYER_BYTES)
const image = makeImage(
  [
    { bytes: layer, packing: '' },
    { bytes: Buffer.from('packed ten'), packing: '+gzip', holds: Buffer.from('ten') },
  ],
  { Entrypoint: ['/go'], Cmd: ['now'], Env: ['A=1', 'B=2=3', 'odd'], WorkingDir: '/srv', User: 'me' },
)
const patience: Patience = { silenceMs: 10_000, stretchMs: 100_000, stretchBytesMin: 1, pauseMs: 1 }
const asNobody = { login: null, ca: null, also: [] }
const roomOf = (freeBytes: number, kept = 0) => ({ freeBytes, kept: { bytes: kept } })
const anyRoom = async () => roomOf(Number.MAX_SAFE_INTEGER)
const folder = mkdtempSync(join(tmpdir(), 'berth-oci-'))
let registry: Awaited<ReturnType<typeof startRegistry>>
let dir = ''
let count = 0

beforeAll(async () => {
  registry = await startRegistry(image)
})
afterAll(() => {
  registry.close()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(() => {
  dir = join(folder, `${++count}`)
  registry.does(() => false)
})

function pull(reference = registry.reference, part: Partial<PullOptions> = {}) {
  const seen: PullProgress[] = []
  const done = pullImage(dir, reference, {
    onProgress: progress => seen.push(progress),
    patience,
    ...part,
  })
  return done.then(record => ({ record, seen }))
}

const faultOf = (pulling: Promise<unknown>) =>
  pulling.then(
    () => 'none',
    error => error.fault,
  )

test('an image is fetched with progress, and kept with what it says of itself', async () => {
  const { record, seen } = await pull()
  expect(record).toMatchObject({
    entrypoint: ['/go'],
    command: ['now'],
    env: { A: '1', B: '2=3' },
    working_dir: '/srv',
    user: 'me',
  })
  expect(record.layers.map(({ packing }) => packing)).toEqual(['plain', 'gzip'])
  expect(seen.at(-1)).toEqual({ bytes_done: LAYER_BYTES + 10, bytes_total: LAYER_BYTES + 10 })
  expect(readFileSync(imageFiles(dir).blob(digestOf(layer)))).toEqual(layer)
  registry.asked.length = 0
  expect((await pull()).record).toEqual(record)
  expect(registry.asked).toEqual([])
})

test('a blob that another image brought is not fetched again', async () => {
  await pull()
  registry.asked.length = 0
  await pull(`${registry.host}/t/other:1`)
  expect(registry.asked.filter(({ url }) => image.layers.some(digest => url.endsWith(digest)))).toEqual([])
})

test('of a list of images the one for this kind of computer is taken', async () => {
  const answerWith = (body: Buffer) =>
    registry.does(({ url }, response) => {
      if (!url?.endsWith('/manifests/1')) return false
      response.end(body)
      return true
    })
  answerWith(makeIndex(image))
  expect((await pull()).record.manifest).toBe(digestOf(image.manifest))
  dir = `${dir}-other`
  answerWith(makeIndex(image, 'pdp11'))
  expect(await faultOf(pull())).toBe('no_such_platform')
})

test('what broke off is gone on with, not begun again, and also by the next pull', async () => {
  let cuts = 0
  const cut = (atMost: number) =>
    registry.does((request, response) => {
      if (!request.url?.endsWith(digestOf(layer)) || cuts >= atMost) return false
      const from = Number(/\d+/.exec(request.headers.range ?? '')?.[0] ?? 0)
      cuts++
      const range = { 'content-range': `bytes ${from}-${LAYER_BYTES - 1}/${LAYER_BYTES}` }
      response.writeHead(from > 0 ? 206 : 200, { ...range, 'content-length': LAYER_BYTES - from })
      response.write(layer.subarray(from, from + HALF / 2), () => response.destroy())
      return true
    })
  cut(2)
  await pull()
  const ranges = registry.asked.filter(({ url }) => url.endsWith(digestOf(layer))).map(({ range }) => range)
  expect(ranges[0]).toBeUndefined()
  expect(ranges.slice(1).every(range => /^bytes=[1-9]\d*-$/.test(range ?? ''))).toBe(true)

  dir = `${dir}-next`
  registry.does((request, response) => {
    if (!request.url?.endsWith(digestOf(layer))) return false
    if (request.headers.range) response.writeHead(503).end()
    else {
      response.writeHead(200, { 'content-length': LAYER_BYTES })
      response.write(layer.subarray(0, HALF), () => response.destroy())
    }
    return true
  })
  expect(await faultOf(pull())).toBe('unreachable')
  registry.does(() => false)
  await pull()
  const [again] = registry.asked.filter(({ url }) => url.endsWith(digestOf(layer)))
  expect(again?.range).toMatch(/^bytes=[1-9]\d*-$/)
})

test('bytes that are not those of the digest are told, kept nowhere, and may come right another time', async () => {
  const answerWith = (body: Buffer) =>
    registry.does(({ url }, response) => {
      if (!url?.endsWith(digestOf(layer))) return false
      response.end(body)
      return true
    })
  for (const wrong of [randomBytes(LAYER_BYTES), randomBytes(LAYER_BYTES + 1)]) {
    answerWith(wrong)
    expect(await faultOf(pull())).toBe('digest_wrong')
    expect(existsSync(imageFiles(dir).blob(digestOf(layer)))).toBe(false)
    expect(await readRecord(dir, registry.reference)).toBeNull()
  }
  registry.does(() => false)
  await pull()
})

test.each([
  [401, 'needs_login'],
  [403, 'needs_login'],
  [404, 'not_found'],
  [429, 'rate_limited'],
  [500, 'unreachable'],
])('an answer of %d is %s', async (status, fault) => {
  registry.does((_request, response) => {
    response.writeHead(status).end('{}')
    return true
  })
  expect(await faultOf(pull())).toBe(fault)
})

test.each([
  ['nothing that is JSON', Buffer.from('<html>')],
  ['another kind of thing', Buffer.from('{"schemaVersion":1}')],
  ['more layers than an image may have', Buffer.from(manyLayers(129))],
])('%s is no image', async (_name, body) => {
  registry.does((_request, response) => {
    response.end(body)
    return true
  })
  expect(await faultOf(pull())).toBe('not_an_image')
})

test('a registry that says nothing, or without end, is left', async () => {
  registry.does(() => true)
  const hasty = { ...patience, silenceMs: 150 }
  expect(await faultOf(pull(registry.reference, { patience: hasty }))).toBe('unreachable')
  registry.does((_request, response) => {
    const more = () => response.write(Buffer.alloc(512 * 1024), error => error || more())
    more()
    return true
  })
  expect(await faultOf(pull())).toBe('too_large')
  registry.does(({ url }, response) => {
    if (!url?.endsWith(digestOf(layer))) return false
    const drop = setInterval(() => response.write('x'), 20)
    response.on('close', () => clearInterval(drop))
    return true
  })
  const impatient = { ...patience, stretchMs: 100, stretchBytesMin: 1_000 }
  expect(await faultOf(pull(registry.reference, { patience: impatient }))).toBe('too_slow')
})

test('a registry that gives a drop at a time, as fast as each connection must, is left over all', async () => {
  const open = new Set<string>()
  registry.does(({ url = '' }, response) => {
    if (!url.endsWith(digestOf(layer))) return false
    open.add(url)
    response.on('close', () => open.delete(url))
    response.writeHead(200, { 'content-length': LAYER_BYTES })
    const drop = setInterval(() => response.write('x'), 20)
    response.on('close', () => clearInterval(drop))
    return true
  })
  const anyTime = { graceMs: 1e9, bytesPerSecondMin: 0, wholeMsMax: 1e9 }
  const late = await pull(registry.reference, { pace: { ...anyTime, wholeMsMax: 200 } }).catch(error => error)
  expect(late).toMatchObject({ fault: 'too_slow', code: 'registry_slow' })
  expect(late.message).toContain('it takes too long')
  const onAverage = pull(registry.reference, { pace: { ...anyTime, graceMs: 200, bytesPerSecondMin: 1e6 } })
  expect(await faultOf(onAverage)).toBe('too_slow')
  await eventually(async () => expect([...open]).toEqual([]))
  // Within the grace nobody asks.
  registry.does(() => false)
  await pull(registry.reference, { pace: { ...anyTime, graceMs: 1e9, bytesPerSecondMin: 1e12 } })
})

test('a piece that was spoilt when it broke off is begun anew, and what the registry has is believed', async () => {
  const files = imageFiles(dir)
  const piece = files.partial(registry.reference, digestOf(layer))
  for (const bytes of [HALF, LAYER_BYTES]) {
    mkdirSync(files.partials(registry.reference), { recursive: true })
    writeFileSync(piece, randomBytes(bytes))
    registry.asked.length = 0
    await pull()
    const ranges = registry.asked.filter(({ url }) => url.endsWith(digestOf(layer))).map(({ range }) => range)
    expect(ranges).toEqual(bytes === HALF ? [`bytes=${HALF}-`, undefined] : [undefined])
    rmSync(dir, { recursive: true })
  }
})

test('what the disk has no room for is not begun, and what fills it all the same is kept nowhere', async ctx => {
  expect(await faultOf(pull(registry.reference, { room: roomOf(LAYER_BYTES) }))).toBe('no_room')
  expect(registry.asked.filter(({ url }) => url.endsWith(digestOf(layer)))).toEqual([])
  // Others take of the disk while it is fetched.
  const taken = roomOf(LAYER_BYTES + 10, Number.MAX_SAFE_INTEGER)
  expect(await faultOf(pull(registry.reference, { room: taken }))).toBe('no_room')
  expect(existsSync(join(dir, 'partial')) && readdirSync(join(dir, 'partial'))).toEqual([])
  await pull(registry.reference, { room: roomOf(LAYER_BYTES + 10) })

  const told = await pullOnSmallDisk(registry.reference)
  if (told === null) return ctx.skip('no user namespaces here')
  expect(told).toContain('"code":"no_room"')
  expect(told).toContain('the host has no room for the image')
  expect(told.trim().split('\n').at(-1)).toBe('left 0')
})

/** Fetches an image by the process for that, onto a disk smaller than its layer; null where there can be none. */
async function pullOnSmallDisk(reference: string): Promise<string | null> {
  const script = join(import.meta.dirname, 'pull-process.ts')
  const shell = `mount -t tmpfs -o size=${HALF} none "$1" || exit 9
    "$2" --disable-warning=ExperimentalWarning "$3" "$1" "$1" "$4"; echo "left $(find "$1/partial" -type f | wc -l)"`
  mkdirSync(dir, { recursive: true })
  const argv = ['-rm', 'sh', '-c', shell, 'sh', dir, process.execPath, script, reference]
  const child = spawn('unshare', argv, { stdio: ['pipe', 'pipe', 'ignore'] })
  const orders: PullOrders = { terms: asNobody, room: roomOf(LAYER_BYTES * 2) }
  child.stdin.write(`${JSON.stringify(orders)}\n`)
  const [told] = await Promise.all([text(child.stdout), once(child, 'close')])
  return child.exitCode === 0 ? told : null
}

test('two pulls of one image at one time are one, also of two gateways, and end when nobody waits', async () => {
  const laid: string[] = []
  const lay: LayImage = async ({ record }) => void laid.push(record.reference)
  const open = () => createImageStore(dir, { room: anyRoom, lay })
  const [one, two] = [open(), open()]
  const wanted = { reference: registry.reference }
  const givesUp = AbortSignal.timeout(50)
  const ignore = () => undefined
  registry.does(() => true)
  await expectCode(one.pull(wanted, asNobody, ignore, givesUp), 'failed')
  const gaveUp = new AbortController()
  const atOnce = one.pull(wanted, asNobody, ignore, gaveUp.signal)
  gaveUp.abort()
  await expectCode(atOnce, 'failed')
  registry.does(() => false)
  const seen: PullProgress[] = []
  await Promise.all([
    one.pull(wanted, asNobody, progress => seen.push(progress), never),
    one.pull(wanted, asNobody, () => undefined, never),
    two.pull(wanted, asNobody, progress => seen.push(progress), never),
  ])
  expect(registry.asked.filter(({ url }) => url.endsWith(digestOf(layer)))).toHaveLength(1)
  expect(seen.at(-1)?.bytes_done).toBe(LAYER_BYTES + 10)
  expect(laid).toEqual([registry.reference, registry.reference])
  expect((await two.find(wanted))?.record.manifest).toBe(digestOf(image.manifest))
  registry.does((_request, response) => {
    response.writeHead(404).end()
    return true
  })
  const missing = { reference: `${registry.host}/t/none:1` }
  await expectCode(one.pull(missing, asNobody, ignore, never), 'image_not_found')
  const nowhere = { reference: '127.0.0.1:9/t/none:1' }
  await expectCode(one.pull(nowhere, asNobody, ignore, never), 'registry_unreachable')
})

test.each([
  ['what is in too few layers', { rootfs: { diff_ids: [digestOf(layer)] } }],
  ['what is in too many layers', { rootfs: { diff_ids: Array.from({ length: 3 }, () => digestOf(layer)) } }],
  ['a variable with a NUL', { config: { Env: ['A=1\0B=2'] } }],
  ['a folder with a NUL', { config: { WorkingDir: '/srv\0/etc' } }],
])('an image that says %s is none', async (_name, said) => {
  const manifest = JSON.parse(String(image.manifest))
  const config = { ...JSON.parse(String(image.blobs.get(manifest.config.digest))), ...said }
  const bytes = Buffer.from(JSON.stringify(config))
  manifest.config = { digest: digestOf(bytes), size: bytes.length }
  registry.does(({ url }, response) => {
    if (url?.endsWith('/manifests/1')) response.end(JSON.stringify(manifest))
    else if (url?.endsWith(digestOf(bytes))) response.end(bytes)
    else return false
    return true
  })
  expect(await faultOf(pull())).toBe('not_an_image')
})

test('what nobody used for long is removed, with the blobs that no other image has', async () => {
  await pull()
  const kept = `${registry.host}/t/other:1`
  await pull(kept)
  const files = imageFiles(dir)
  const DAY_MS = 86_400_000
  const old = new Date(Date.now() - 31 * DAY_MS)
  for (const path of [registry.reference, kept].map(files.record)) utimesSync(path, old, old)
  for (const path of image.layers.map(files.blob)) utimesSync(path, old, old)
  utimesSync(files.record(kept), new Date(), new Date())
  await removeUnused(dir, { now: Date.now(), needed: null, used: new Set() })
  expect(existsSync(files.record(registry.reference))).toBe(false)
  expect(existsSync(files.blob(digestOf(layer)))).toBe(true)
  utimesSync(files.record(kept), old, old)
  await removeUnused(dir, { now: Date.now(), needed: null, used: new Set() })
  expect(existsSync(files.blob(digestOf(layer)))).toBe(false)
})

test('pieces of what a registry changed meanwhile are cleared by age and by size, and never while it is fetched', async () => {
  const files = imageFiles(dir)
  const plant = (reference: string, name: string, daysAgo: number) => {
    const path = files.partial(reference, digestOf(Buffer.from(name)))
    mkdirSync(files.partials(reference), { recursive: true })
    writeFileSync(path, randomBytes(100))
    const at = new Date(Date.now() - daysAgo * 86_400_000)
    utimesSync(path, at, at)
    return path
  }
  await pull()
  const [older, newer, kept] = [plant('a', 'one', 2), plant('b', 'two', 1), plant('b', 'three', 0)]
  const limits = { ageMsMax: 10 * 86_400_000, bytesMax: 200 }
  const held = await takeLock(files.lock('a'), { kind: 'exclusive', wait: false, signal: never })
  await removePieces([files], Date.now(), limits)
  expect([older, newer, kept].map(existsSync)).toEqual([true, true, true])
  held?.release()
  await removePieces([files], Date.now(), limits)
  expect([older, newer, kept].map(existsSync)).toEqual([false, true, true])
  expect(existsSync(files.partials('a'))).toBe(false)

  // The store's own clearing goes by age as well, and leaves what is whole.
  const old = plant('b', 'four', 4)
  await removeUnused(dir, { now: Date.now(), needed: null, used: new Set() })
  expect([old, newer, kept].map(existsSync)).toEqual([false, true, true])
  expect(await readRecord(dir, registry.reference)).not.toBeNull()

  // A pull that came to its end leaves none of its name.
  const former = plant(`${registry.host}/t/next:1`, 'former', 0)
  await pull(`${registry.host}/t/next:1`)
  expect(existsSync(former)).toBe(false)
})

function manyLayers(layers: number): string {
  const one = { digest: digestOf(layer), size: 1, mediaType: 'application/vnd.oci.image.layer.v1.tar' }
  return JSON.stringify({ schemaVersion: 2, config: one, layers: Array.from({ length: layers }, () => one) })
}
