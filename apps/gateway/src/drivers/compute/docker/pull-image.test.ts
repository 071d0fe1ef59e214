import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { inspect } from 'node:util'
import { gzipSync } from 'node:zlib'
import Docker from 'dockerode'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeWhere, expectCode, never } from '../conformance/tools.ts'
import type { PullProgress } from '../port/images.ts'
import { diskRoom } from '../sandbox/disk-room.ts'
import { createDockerImages } from './docker-images.ts'
import { probeDocker } from './probe-docker.ts'
import { createLayerSum, pullFailure } from './pull-image.ts'

const LAYER_BYTES = 3_000_000
const asNobody = { reference: 'a', hasLogin: false }

test('layers add up, and the total is known once each layer has told its size', () => {
  const sum = createLayerSum()
  expect(sum.take({ status: 'Pulling from library/debian', id: 'latest' })).toBeNull()
  expect(sum.take({ status: 'Pulling fs layer', id: 'a' })).toEqual({ bytes_done: 0, bytes_total: null })
  sum.take({ status: 'Pulling fs layer', id: 'b' })
  const one = sum.take({ status: 'Downloading', id: 'a', progressDetail: { current: 10, total: 100 } })
  expect(one).toEqual({ bytes_done: 10, bytes_total: null })
  const two = sum.take({ status: 'Downloading', id: 'b', progressDetail: { current: 5, total: 50 } })
  expect(two).toEqual({ bytes_done: 15, bytes_total: 150 })
  expect(sum.take({ status: 'Pull complete', id: 'a' })).toEqual({ bytes_done: 105, bytes_total: 150 })
  expect(sum.take({ status: 'Already exists', id: 'c' })).toEqual({ bytes_done: 105, bytes_total: 150 })
})

describe('what a pull ended with', () => {
  const host = 'registry-1.docker.io'
  test.each([
    ['no name', `Get "https://${host}/v2/": dial tcp: lookup ${host} on 10.0.0.1:53: no such host`],
    ['names out of order', `Get "https://${host}/v2/": dial tcp: lookup ${host}: server misbehaving`],
    ['nothing there', 'Get "http://127.0.0.1:9/v2/": dial tcp 127.0.0.1:9: connect: connection refused'],
    ['no route', 'dial tcp 10.9.9.9:443: connect: no route to host'],
    ['no answer', `Get "https://${host}/v2/": dial tcp 1.2.3.4:443: i/o timeout`],
    ['a slow start', `Get "https://${host}/v2/": net/http: TLS handshake timeout`],
    ['gave up waiting', 'net/http: request canceled while waiting for connection (Client.Timeout exceeded)'],
    ['not who it says', `Get "https://${host}/v2/": x509: certificate signed by unknown authority`],
    ['no TLS', 'Get "https://reg:5000/v2/": http: server gave HTTP response to HTTPS client'],
    ['a broken proxy', 'proxyconnect tcp: dial tcp 10.0.0.1:3128: connect: connection refused'],
    ['hung up', `Get "https://${host}/v2/": EOF`],
    ['out of order', 'received unexpected HTTP status: 503 Service Unavailable'],
    [
      'a bad gateway',
      `unexpected status from HEAD request to https://${host}/v2/a/manifests/1: 502 Bad Gateway`,
    ],
  ])('%s: the registry is unreachable', (_, message) => {
    expect(pullFailure({ statusCode: 500, message }, asNobody).code).toBe('registry_unreachable')
    expect(pullFailure(new Error(message), asNobody).code).toBe('registry_unreachable')
  })

  const denied = `Head "https://${host}/v2/b/manifests/1": unauthorized: access to it is not allowed`
  test.each([
    ['image_not_found', 'manifest for debian:none not found: manifest unknown: manifest unknown'],
    ['image_not_found', 'name unknown: repository name not known to registry'],
    ['image_not_found', 'error parsing HTTP 404 response body: no error details found: "{}"'],
    ['image_needs_login', 'pull access denied for b, repository does not exist or may require login'],
    ['image_needs_login', denied],
    ['image_unfit', 'no matching manifest for linux/amd64 in the manifest list entries'],
    ['image_damaged', 'filesystem layer verification failed for digest sha256:00'],
    ['image_damaged', 'failed to register layer: archive/tar: invalid tar header'],
    ['no_room', 'write /var/lib/docker/tmp/GetImageBlob1: no space left on device'],
    ['registry_busy', 'toomanyrequests: You have reached your pull rate limit.'],
    ['failed', 'something else'],
  ])('it is %s: %s', (code, message) => {
    expect(pullFailure(new Error(message), asNobody).code).toBe(code)
  })

  test('with a login, it is the login that is refused; what an image is called says nothing', () => {
    expect(pullFailure(new Error(denied), { reference: 'b:1', hasLogin: true }).code).toBe(
      'image_login_refused',
    )
    const reference = 'localhost:5000/access-denied/toomanyrequests:1'
    const message = `manifest for ${reference} not found: manifest unknown`
    expect(pullFailure(new Error(message), { reference, hasLogin: false }).code).toBe('image_not_found')
  })

  test('an engine that is gone is not the registry', () => {
    const gone = Object.assign(new Error('connect ECONNREFUSED /run/docker.sock'), { code: 'ECONNREFUSED' })
    expect(pullFailure(gone, asNobody).code).toBe('engine_unavailable')
  })
})

const probe = await probeDocker()

describeWhere('pulling from a registry', probe, () => {
  describe('pulling from a registry', () => {
    const docker = new Docker({ socketPath: probe.ok ? probe.socket_path : '' })
    const name = `berth-pull-${randomBytes(4).toString('hex')}`
    let registry: Server
    let host = ''

    beforeAll(async () => {
      registry = startRegistry(name)
      host = await hostOf(registry)
    })
    afterAll(async () => {
      registry.close()
      await docker
        .getImage(`${host}/${name}:1`)
        .remove({ force: true })
        .catch(() => undefined)
    })

    let isShort = false
    const deps: Parameters<typeof createDockerImages>[0] = {
      docker,
      cloudId: 'pulls',
      soon: ask => ask({ abortSignal: never }),
      room: () => diskRoom('/', isShort ? Number.MAX_SAFE_INTEGER : 0),
    }
    const images = createDockerImages(deps)
    const pull = async (reference: string, signal = never) => {
      const seen: PullProgress[] = []
      const recipe = { id: 'a', parts: { docker: reference } }
      await images.pull(recipe, progress => seen.push(progress), signal)
      return seen
    }

    test('an image that is not here is pulled, with progress in bytes, and only once', async () => {
      const seen = await pull(`${host}/${name}:1`)
      expect(seen.length).toBeGreaterThan(0)
      expect(seen.at(-1)).toEqual({
        bytes_done: seen.at(-1)?.bytes_total,
        bytes_total: seen.at(-1)?.bytes_total,
      })
      for (const [at, { bytes_done }] of seen.entries()) {
        expect(bytes_done).toBeGreaterThanOrEqual(seen[at - 1]?.bytes_done ?? 0)
      }
      expect(await pull(`${host}/${name}:1`)).toEqual([])
    })

    test.each([
      ['other', 'is not there', 'image_not_found'],
      ['busy', 'is asked for too often', 'registry_busy'],
      ['spoilt', 'has a layer of other bytes than it names', 'image_damaged'],
      ['inside', 'has another thing in a layer than it says', 'image_damaged'],
    ] as const)('an image (%s) that %s is told as such', async (tag, _what, code) => {
      await expectCode(pull(`${host}/${name}:${tag}`), code)
    })

    test('what breaks off half way is gone on with, and not begun again', async () => {
      ranges.length = 0
      await pull(`${host}/${name}:cut`)
      expect(ranges).toEqual([undefined, expect.stringMatching(/^bytes=[1-9]\d*-/)])
      await docker.getImage(`${host}/${name}:cut`).remove({ force: true })
    })

    test('a login is shown to the registry; what it was needed for is given to nobody else', async () => {
      const { host: at, close } = await startPrivate(name)
      try {
        const own = (owner: string) => ({ id: 'a', parts: { docker: `${at}/${name}:1` }, owner })
        const pullAs = (owner: string, password: string | null) => {
          const login = password === null ? null : { username: 'me', password }
          const access = async (asked: string) => ({ login: asked === at ? login : null, ca: null, also: [] })
          return images.pull(own(owner), () => undefined, never, access)
        }
        await expectCode(pullAs('one', null), 'image_needs_login')
        const refused = await pullAs('one', 'wrong').catch(error => error)
        expect(refused).toMatchObject({ code: 'image_login_refused' })
        expect(inspect(refused, { depth: 9 })).not.toContain('wrong')
        await pullAs('one', PASSWORD)
        await docker.getImage(`${at}/${name}:1`).inspect()
        await pullAs('one', PASSWORD)
        // It is here by now, which is nobody else's business.
        expect(await images.has(own('two'))).toBe(false)
        await expectCode(pullAs('two', null), 'image_needs_login')
        await expectCode(pullAs('two', 'wrong'), 'image_login_refused')
      } finally {
        close()
        await docker.getImage(`${at}/${name}:1`).remove({ force: true })
      }
    })

    test('a registry that is not there is told, and may be tried again', async () => {
      await expectCode(pull('127.0.0.1:9/nothing:1'), 'registry_unreachable')
    })

    test('[R4.6] a pull that leaves too little of the disk is ended before machines are, and what is here needs none', async () => {
      isShort = true
      try {
        await expectCode(pull(`${host}/${name}:slow`), 'no_room')
        await pull(`${host}/${name}:1`)
      } finally {
        isShort = false
      }
    })

    test('[R4.6] a registry that begins a layer and says no more is given up, and told as slow', async () => {
      const hasty = createDockerImages({ ...deps, silentMsMax: 1_500 })
      const recipe = { id: 'a', parts: { docker: `${host}/${name}:slow` } }
      const seen: PullProgress[] = []
      await expectCode(
        hasty.pull(recipe, progress => seen.push(progress), never),
        'registry_slow',
      )
      expect(seen.length).toBeGreaterThan(0)
    })

    test('a pull that is given up ends at once', async () => {
      await expectCode(pull(`${host}/${name}:hangs`, AbortSignal.timeout(300)), 'failed')
    })
  })
})

async function hostOf(server: Server): Promise<string> {
  await new Promise(resolve => server.once('listening', resolve))
  const address = server.address()
  return `127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
}

const PASSWORD = 'open sesame'

/** The same registry behind a login. */
async function startPrivate(name: string) {
  const inner = startRegistry(name)
  const wanted = `Basic ${Buffer.from(`me:${PASSWORD}`).toString('base64')}`
  const [answer] = inner.listeners('request')
  inner.removeAllListeners('request').on('request', (request, response) => {
    if (request.headers.authorization === wanted) return answer?.call(inner, request, response)
    response.writeHead(401, { 'www-authenticate': 'Basic realm="here"', 'content-type': 'application/json' })
    response.end('{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}')
  })
  return { host: await hostOf(inner), close: () => inner.close() }
}

/** What was asked of the layer that breaks off, in turn. */
const ranges: (string | undefined)[] = []

const IMAGE_TYPE = 'application/vnd.docker.distribution.manifest.v2+json'

/** What an image says of itself, whose one layer holds that. */
function configOf(inside: Buffer): Buffer {
  return Buffer.from(
    JSON.stringify({
      architecture: process.arch === 'x64' ? 'amd64' : process.arch,
      os: 'linux',
      config: {},
      rootfs: { type: 'layers', diff_ids: [digestOf(inside)] },
    }),
  )
}

function manifestOf(config: Buffer, layer: { digest: string; size: number }): Buffer {
  return Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: IMAGE_TYPE,
      config: {
        mediaType: 'application/vnd.docker.container.image.v1+json',
        size: config.length,
        digest: digestOf(config),
      },
      layers: [{ mediaType: 'application/vnd.docker.image.rootfs.diff.tar.gzip', ...layer }],
    }),
  )
}

/**
 * A registry with one image of one layer, under the tag 1; one that never answers, under hangs; one that it has no time
 * for, under busy; those that are not what they say, under spoilt and inside; and one whose layer breaks off half way
 * when it is asked for from its front, under cut; and one whose layer never ends, under slow.
 */
function startRegistry(name: string): Server {
  const [tar, broken, endless] = [1, 2, 3].map(() => tarOf('file', randomBytes(LAYER_BYTES))) as [
    Buffer,
    Buffer,
    Buffer,
  ]
  const [layer, cut, slow] = [gzipSync(tar), gzipSync(broken), gzipSync(endless)]
  // What the engine has by what is inside, it does not fetch.
  const configs = {
    1: configOf(tar),
    spoilt: configOf(layer),
    inside: configOf(cut),
    cut: configOf(broken),
    slow: configOf(endless),
  }
  const of = (bytes: Buffer, digest = digestOf(bytes)) => ({ size: bytes.length, digest })
  const manifests = new Map([
    ['1', manifestOf(configs[1], of(layer))],
    ['spoilt', manifestOf(configs.spoilt, of(layer, digestOf(tar)))],
    ['inside', manifestOf(configs.inside, of(layer))],
    ['cut', manifestOf(configs.cut, of(cut))],
    ['slow', manifestOf(configs.slow, of(slow))],
  ])
  for (const manifest of [...manifests.values()]) manifests.set(digestOf(manifest), manifest)
  const blobs = new Map([layer, cut, slow, ...Object.values(configs)].map(blob => [digestOf(blob), blob]))
  blobs.set(digestOf(tar), layer)
  return createServer((request, response) => {
    const url = request.url ?? ''
    const wanted = url.split('/').at(-1) ?? ''
    const send = (body: Buffer, type: string) => {
      response.writeHead(200, {
        'content-type': type,
        'content-length': body.length,
        'docker-content-digest': digestOf(body),
      })
      response.end(request.method === 'HEAD' ? undefined : body)
    }
    const blob = blobs.get(wanted)
    const manifest = url.startsWith(`/v2/${name}/manifests/`) ? manifests.get(wanted) : undefined
    if (url === '/v2/') send(Buffer.from('{}'), 'application/json')
    else if (url === `/v2/${name}/manifests/hangs`) return
    else if (url === `/v2/${name}/manifests/busy`) {
      response.writeHead(429, { 'content-type': 'application/json' })
      response.end('{"errors":[{"code":"TOOMANYREQUESTS","message":"too many requests"}]}')
    } else if (manifest) send(manifest, IMAGE_TYPE)
    else if (blob === slow) {
      response.writeHead(200, { 'content-length': slow.length }).write(slow.subarray(0, slow.length / 2))
    } else if (blob === cut) sendHalf(cut, request, response)
    else if (blob) send(blob, 'application/octet-stream')
    else {
      response.writeHead(404, { 'content-type': 'application/json' })
      response.end('{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}')
    }
  }).listen(0, '127.0.0.1')
}

/** Sends a blob to its end where it is asked for from some way on, else its first half. */
function sendHalf(blob: Buffer, { headers }: IncomingMessage, response: ServerResponse): void {
  ranges.push(headers.range)
  const from = Number(/^bytes=(\d+)-/.exec(headers.range ?? '')?.[1] ?? 0)
  const range = { 'content-range': `bytes ${from}-${blob.length - 1}/${blob.length}` }
  response.writeHead(from > 0 ? 206 : 200, { ...(from > 0 && range), 'content-length': blob.length - from })
  if (from > 0) response.end(blob.subarray(from))
  else response.write(blob.subarray(0, blob.length / 2), () => response.destroy())
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}

/** The smallest archive that holds one file. */
function tarOf(name: string, content: Buffer): Buffer {
  const header = Buffer.alloc(512)
  header.write(name, 0)
  header.write('0000644\0', 100)
  header.write('0000000\0', 108)
  header.write('0000000\0', 116)
  header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124)
  header.write('00000000000\0', 136)
  header.write('        0', 148)
  header.write('ustar\x0000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  const padding = Buffer.alloc((512 - (content.length % 512)) % 512)
  return Buffer.concat([header, content, padding, Buffer.alloc(1024)])
}
