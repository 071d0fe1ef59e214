import { randomBytes } from 'node:crypto'
import { promises as dns } from 'node:dns'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { never } from '../conformance/tools.ts'
import { imageFiles } from './image-files.ts'
import { IMAGE_BYTES_MAX } from './image-record.ts'
import { bodyOf, get, mayVisitNamed, mayVisitStranger, type Patience } from './outgoing.ts'
import { pullImage } from './pull-image.ts'
import { digestOf, makeImage, makeIndex, startRegistry } from './registry-fixture.ts'

// Goal: no rule of a pull may go without a test that notices. Method: a registry that breaks one rule at a time.

const LAYER_BYTES = 100
const layer = randomBytes(LAYER_BYTES)
const image = makeImage([{ bytes: layer, packing: '' }], { User: 'mine' })
const other = makeImage([{ bytes: layer, packing: '' }], { User: 'evil' })
const twice = makeImage([1, 2].map(() => ({ bytes: layer, packing: '' as const })))
const manifest = JSON.parse(String(image.manifest))
const patience: Patience = { silenceMs: 10_000, stretchMs: 100_000, stretchBytesMin: 1, pauseMs: 1 }
const folder = mkdtempSync(join(tmpdir(), 'berth-hostile-'))
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

/** What a pull ends with; `none` where it comes to its end. */
const faultOf = (reference = registry.reference) =>
  pullImage(dir, reference, { onProgress: () => undefined, patience }).then(
    () => 'none',
    error => error.fault ?? error,
  )

/** Answers what ends so in another way. */
function answer(end: string, how: (request: IncomingMessage, response: ServerResponse) => void): void {
  registry.does((request, response) => {
    if (!request.url?.split('?')[0]?.endsWith(end)) return false
    how(request, response)
    return true
  })
}

const give = (end: string, body: Buffer) => answer(end, (_request, response) => response.end(body))
const asJson = (value: unknown) => Buffer.from(JSON.stringify(value))

describe('another thing than was asked for is told', () => {
  test('in place of a manifest that was named by its digest', async () => {
    const name = `${registry.host}/t/image@${digestOf(image.manifest)}`
    give(digestOf(image.manifest), other.manifest)
    expect(await faultOf(name)).toBe('digest_wrong')
    registry.does(({ url = '' }, response) => {
      if (!url.includes('/manifests/')) return false
      response.end(url.endsWith('/1') ? makeIndex(image) : other.manifest)
      return true
    })
    expect(await faultOf()).toBe('digest_wrong')
  })

  test('in place of what an image says of itself', async () => {
    const [wrong = Buffer.alloc(0)] = other.blobs.values()
    expect(wrong).toHaveLength(manifest.config.size)
    give(manifest.config.digest, wrong)
    expect(await faultOf()).toBe('digest_wrong')
  })

  test('in place of an image for this kind of processor', async () => {
    const [said] = image.blobs.values()
    const config = asJson({ ...JSON.parse(String(said)), architecture: 'pdp11' })
    const body = asJson({ ...manifest, config: { digest: digestOf(config), size: config.length } })
    registry.does(({ url = '' }, response) => {
      if (url.endsWith('/manifests/1')) response.end(body)
      else if (url.endsWith(digestOf(config))) response.end(config)
      else return false
      return true
    })
    expect(await faultOf()).toBe('no_such_platform')
  })

  test('in place of the part that is missing: it is not added to what is there', async () => {
    const half = LAYER_BYTES / 2
    answer(digestOf(layer), ({ headers }, response) => {
      if (headers.range === undefined) response.writeHead(200, { 'content-length': LAYER_BYTES })
      else response.writeHead(206, { 'content-range': `bytes 0-${half - 1}/${LAYER_BYTES}` })
      response.write(layer.subarray(0, half), () => response.destroy())
    })
    expect(await faultOf()).toBe('unreachable')
    const asked = registry.asked.filter(({ url }) => url.endsWith(digestOf(layer)))
    expect(asked.length).toBeGreaterThan(1)
    expect(asked.filter(({ range }) => range === undefined)).toHaveLength(1)
    expect(statSync(imageFiles(dir).partial(registry.reference, digestOf(layer))).size).toBe(half)
  })
})

test.each([
  ['what it says of itself', { config: { ...manifest.config, size: 5 * 1024 * 1024 } }],
  [
    'all its layers together',
    { layers: twice.layers.map(digest => ({ ...manifest.layers[0], digest, size: IMAGE_BYTES_MAX - 1 })) },
  ],
])('an image with %s larger than may be is not begun', async (_what, part) => {
  const said = JSON.parse(String(twice.manifest))
  const body = asJson({ ...said, ...part })
  registry.does(({ url = '' }, response) => {
    if (url.endsWith('/manifests/1')) response.end(body)
    else if (url.endsWith(said.config.digest)) response.end(twice.blobs.get(said.config.digest))
    else return false
    return true
  })
  expect(await faultOf()).toBe('too_large')
  expect(registry.asked.filter(({ url }) => url.endsWith(digestOf(layer)))).toEqual([])
})

test('a layer that an image has twice is fetched once', async () => {
  const [config = Buffer.alloc(0)] = twice.blobs.values()
  registry.does(({ url = '' }, response) => {
    if (url.endsWith('/manifests/1')) response.end(twice.manifest)
    else if (url.endsWith(digestOf(config))) response.end(config)
    else return false
    return true
  })
  expect(await faultOf()).toBe('none')
  expect(registry.asked.filter(({ url }) => url.endsWith(digestOf(layer)))).toHaveLength(1)
})

describe('a registry that never comes to an end is left', () => {
  test('when it sends from one place to the next', async () => {
    answer('', ({ url = '' }, response) => response.writeHead(307, { location: url }).end())
    expect(await faultOf()).toBe('unreachable')
  })

  test('when it gives a byte at a time, and ends each time', async () => {
    answer(digestOf(layer), ({ headers }, response) => {
      const from = Number(/\d+/.exec(headers.range ?? '')?.[0] ?? 0)
      const range = { 'content-range': `bytes ${from}-${LAYER_BYTES - 1}/${LAYER_BYTES}` }
      response.writeHead(from > 0 ? 206 : 200, range)
      response.end(layer.subarray(from, from + 1))
    })
    expect(await faultOf()).toBe('unreachable')
    const tries = registry.asked.filter(({ url }) => url.endsWith(digestOf(layer))).length
    expect(tries).toBeGreaterThan(4)
    expect(tries).toBeLessThan(LAYER_BYTES)
  })

  test('when the head of its answer comes in drops', async () => {
    const server = createServer(socket => {
      socket.on('error', () => undefined)
      const drops = setInterval(() => socket.write('X'), 20)
      socket.on('close', () => clearInterval(drops))
      socket.write('HTTP/1.1 200 OK\r\nX: ')
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const address = server.address()
    const url = new URL(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`)
    const asked = get(url, {
      headers: {},
      may: mayVisitNamed,
      patience: { ...patience, silenceMs: 200 },
      signal: never,
    })
    await expect(asked).rejects.toMatchObject({ fault: 'unreachable' })
  })
})

describe('a registry does not choose what is shown to whom', () => {
  test('by an address with a login in it', async () => {
    const withLogin = `http://you:your@${registry.host}/v2/t/image/manifests/2`
    answer('/manifests/1', (_request, response) => response.writeHead(307, { location: withLogin }).end())
    expect(await faultOf()).toBe('unreachable')
    answer('/manifests/1', (_request, response) => {
      response.writeHead(401, { 'www-authenticate': `Bearer realm="${withLogin}"` }).end()
    })
    expect(await faultOf()).toBe('unreachable')
    expect(registry.asked.map(({ url }) => url)).toEqual(['/v2/t/image/manifests/1'])
  })

  test('by a token that is none', async () => {
    registry.does(({ url = '' }, response) => {
      if (url.startsWith('/token')) response.end(JSON.stringify({ token: 'a\r\nb: c' }))
      else {
        const realm = `http://${registry.host}/token`
        response.writeHead(401, { 'www-authenticate': `Bearer realm="${realm}"` }).end()
      }
      return true
    })
    expect(await faultOf()).toBe('unreachable')
  })
})

test('a stranger is asked by TLS on the public internet alone, whatever else its name leads to', () => {
  const asked = (url: string, ...addresses: string[]) => mayVisitStranger(new URL(url), addresses)
  expect(asked('https://blobs.example', '93.184.215.14')).toBe(true)
  expect(asked('http://blobs.example', '93.184.215.14')).toBe(false)
  expect(asked('https://blobs.example', '10.0.0.1')).toBe(false)
  expect(asked('https://blobs.example', '93.184.215.14', '169.254.169.254')).toBe(false)
  expect(mayVisitNamed(new URL('http://registry.internal'), ['10.0.0.1'])).toBe(false)
})

test('the addresses that were looked at are those that are connected to', async () => {
  const lookup = vi.spyOn(dns, 'lookup')
  onTestFinished(() => lookup.mockRestore())
  lookup.mockImplementation((async () => [{ address: '127.0.0.1', family: 4 }]) as never)
  const port = registry.host.split(':')[1]
  // A name that leads nowhere, and would have led elsewhere a moment later.
  const url = new URL(`http://registry.invalid:${port}/v2/t/image/manifests/1`)
  const response = await get(url, { headers: {}, may: mayVisitNamed, patience, signal: never })
  expect(await bodyOf(response, 1e6, patience)).toEqual(image.manifest)
})
