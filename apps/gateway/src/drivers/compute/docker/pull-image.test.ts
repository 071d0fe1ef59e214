import { createHash, randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import { gzipSync } from 'node:zlib'
import Docker from 'dockerode'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeWhere, expectCode, never } from '../conformance/tools.ts'
import type { PullProgress } from '../port/images.ts'
import type { DockerImage } from './docker-recipe.ts'
import { probeDocker } from './probe-docker.ts'
import { createLayerSum, pullFailure, pullImage } from './pull-image.ts'

const LAYER_BYTES = 3_000_000

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
    expect(pullFailure({ statusCode: 500, message }, 'pulling a').code).toBe('registry_unreachable')
    expect(pullFailure(new Error(message), 'pulling a').code).toBe('registry_unreachable')
  })

  test.each([
    ['image_unavailable', 'manifest for debian:none not found: manifest unknown: manifest unknown'],
    ['image_unavailable', 'pull access denied for nothing, repository does not exist or may require login'],
    [
      'image_unavailable',
      `Head "https://${host}/v2/a/manifests/1": unauthorized: access to it is not allowed`,
    ],
    ['exhausted', 'write /var/lib/docker/tmp/GetImageBlob1: no space left on device'],
    ['failed', 'toomanyrequests: You have reached your pull rate limit.'],
  ])('it stays %s: %s', (code, message) => {
    expect(pullFailure(new Error(message), 'pulling a').code).toBe(code)
  })

  test('an engine that is gone is not the registry', () => {
    const gone = Object.assign(new Error('connect ECONNREFUSED /run/docker.sock'), { code: 'ECONNREFUSED' })
    expect(pullFailure(gone, 'pulling a').code).toBe('engine_unavailable')
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
      await new Promise(resolve => registry.once('listening', resolve))
      const address = registry.address()
      host = `127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
    })
    afterAll(async () => {
      registry.close()
      await docker
        .getImage(`${host}/${name}:1`)
        .remove({ force: true })
        .catch(() => undefined)
    })

    const recipe = (reference: string): DockerImage => ({ reference, is_own: false })
    const pull = async (reference: string, signal = never) => {
      const seen: PullProgress[] = []
      await pullImage(docker, recipe(reference), progress => seen.push(progress), signal)
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

    test('an image that the registry does not have is unavailable for good', async () => {
      await expectCode(pull(`${host}/${name}:other`), 'image_unavailable')
    })

    test('a registry that is not there is told, and may be tried again', async () => {
      await expectCode(pull('127.0.0.1:9/nothing:1'), 'registry_unreachable')
    })

    test('a pull that is given up ends at once', async () => {
      await expectCode(pull(`${host}/${name}:hangs`, AbortSignal.timeout(300)), 'failed')
    })
  })
})

/** A registry with one image of one layer, under the tag 1, and one that never answers, under the tag hangs. */
function startRegistry(name: string): Server {
  const tar = tarOf('file', randomBytes(LAYER_BYTES))
  const layer = gzipSync(tar)
  const config = Buffer.from(
    JSON.stringify({
      architecture: process.arch === 'x64' ? 'amd64' : process.arch,
      os: 'linux',
      config: {},
      rootfs: { type: 'layers', diff_ids: [digestOf(tar)] },
    }),
  )
  const mediaType = 'application/vnd.docker.distribution.manifest.v2+json'
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType,
      config: {
        mediaType: 'application/vnd.docker.container.image.v1+json',
        size: config.length,
        digest: digestOf(config),
      },
      layers: [
        {
          mediaType: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
          size: layer.length,
          digest: digestOf(layer),
        },
      ],
    }),
  )
  const blobs = new Map([layer, config].map(blob => [digestOf(blob), blob]))
  return createServer((request, response) => {
    const url = request.url ?? ''
    const send = (body: Buffer, type: string) => {
      response.writeHead(200, {
        'content-type': type,
        'content-length': body.length,
        'docker-content-digest': digestOf(body),
      })
      response.end(request.method === 'HEAD' ? undefined : body)
    }
    const blob = blobs.get(url.split('/').at(-1) ?? '')
    if (url === '/v2/') send(Buffer.from('{}'), 'application/json')
    else if (url === `/v2/${name}/manifests/hangs`) return
    else if (url === `/v2/${name}/manifests/1` || url.endsWith(digestOf(manifest))) send(manifest, mediaType)
    else if (blob) send(blob, 'application/octet-stream')
    else {
      response.writeHead(404, { 'content-type': 'application/json' })
      response.end('{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}')
    }
  }).listen(0, '127.0.0.1')
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
