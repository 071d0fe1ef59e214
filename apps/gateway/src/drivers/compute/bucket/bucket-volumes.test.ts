import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startVersitygw, versitygwProbe } from '../../../../test/versitygw.ts'
import { createOuterS3 } from '../../../platform/outer-s3/outer-s3.ts'
import { offered } from '../port/part.ts'
import { createBucketVolumes } from './bucket-volumes.ts'

if (!versitygwProbe.ok) process.stdout.write(`SKIP volumes that are buckets: ${versitygwProbe.why}\n`)

describe.skipIf(!versitygwProbe.ok)('volumes that are buckets', () => {
  let peer: Awaited<ReturnType<typeof startVersitygw>>
  beforeAll(async () => {
    peer = await startVersitygw()
  })
  afterAll(() => peer.stop())
  const open = () => createBucketVolumes(createOuterS3(peer.target), peer.target, Date.now)
  const spec = (id: string) => ({ id, tenant: 'u', size_gb: 1 })

  test('no bucket is listed, emptied or removed that was not made as a volume, whatever its name', async () => {
    const s3 = createOuterS3(peer.target)
    const volumes = open()
    const others = ['eu', 'backups', 'images', 'v-2222222', 's-abcdefg']
    for (const name of others) {
      await s3.makeBucket(`bucket-${name}`)
      await s3.write(`bucket-${name}`, 'precious', 'kept')
    }
    await volumes.make(spec('v-abcdefg'))
    expect(await volumes.list()).toEqual(['v-abcdefg'])
    for (const name of others) {
      await volumes.delete(name)
      expect((await s3.read(`bucket-${name}`, 'precious'))?.toString(), name).toBe('kept')
    }
    // Nor does one become a volume by being asked for.
    await expect(volumes.make(spec('v-2222222'))).rejects.toMatchObject({ code: 'failed' })
    await expect(volumes.make(spec('backups'))).rejects.toMatchObject({ code: 'failed' })
    expect(await volumes.list()).toEqual(['v-abcdefg'])
    await volumes.make(spec('v-abcdefg'))
    await volumes.delete('v-abcdefg')
    expect(await volumes.list()).toEqual([])
    expect(await s3.buckets()).not.toContain('bucket-v-abcdefg')
    expect(await s3.size('bucket', 'volumes/v-abcdefg')).toBeNull()
  })

  test('a volume of before there were marks is refused and left alone, whatever is asked, until its operator marks it', async () => {
    const s3 = createOuterS3(peer.target)
    const volumes = open()
    const id = 'v-2345678'
    await s3.makeBucket(`bucket-${id}`)
    await s3.write(`bucket-${id}`, 'precious', 'kept')
    const never = new AbortController().signal
    const objects = volumes.objects ?? expect.unreachable('it has no objects')
    const copies = offered(volumes.copies)
    for (const refused of [
      () => volumes.measure(id),
      () => volumes.grow(spec(id)),
      () => objects.at(id),
      () => copies.copy({ from: id, id: 's-2345678', bytes_max: 1e9 }, never),
    ])
      await expect(refused()).rejects.toMatchObject({ code: 'not_found' })
    await expect(volumes.make(spec(id))).rejects.toMatchObject({ code: 'failed' })
    await volumes.delete(id)
    expect(await volumes.list()).toEqual([])
    expect((await s3.read(`bucket-${id}`, 'precious'))?.toString()).toBe('kept')
    // What `docs/operating.md` says to do.
    await s3.write('bucket', `volumes/${id}`, id)
    expect(await volumes.list()).toEqual([id])
    expect(await volumes.measure(id)).toEqual({ used_bytes: 'kept'.length })
    expect(await objects.at(id)).toMatchObject({ bucket: `bucket-${id}` })
    await volumes.delete(id)
    expect(await s3.buckets()).not.toContain(`bucket-${id}`)
  })
})

test('buckets are listed to the last page, and an answer without an end is not read', async () => {
  let endless = false
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://x')
    response.on('error', () => undefined)
    if (endless) {
      response.writeHead(200, { 'content-type': 'application/xml' })
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536, ' ')));
        if (!response.destroyed) response.once('drain', more)
      }
      more()
      return
    }
    const isLast = url.searchParams.get('continuation-token') === 'two'
    const bucket = `<Bucket><Name>${isLast ? 'b' : 'a'}</Name></Bucket>`
    const token = isLast ? '' : '<ContinuationToken>two</ContinuationToken>'
    response.end(`<ListAllMyBucketsResult><Buckets>${bucket}</Buckets>${token}</ListAllMyBucketsResult>`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const s3 = createOuterS3({
    ...{ endpoint: `http://127.0.0.1:${port}`, region: 'us-east-1' },
    ...{ accessKeyId: 'a', secretAccessKey: 'b' },
  })
  expect(await s3.buckets()).toEqual(['a', 'b'])
  endless = true
  await expect(s3.read('bucket', 'key')).rejects.toMatchObject({ code: 'unavailable' })
  await expect(s3.buckets()).rejects.toMatchObject({ code: 'unavailable' })
  server.closeAllConnections()
  server.close()
}, 30_000)

test('uploads behind a page of empty ones are counted and given up, whether or not a server knows its own markers', async () => {
  for (const knowsMarkers of [true, false]) {
    const uploads = ['a1', 'a2', 'a3', 'b1', 'z1'].map(id => ({ id, key: id.slice(0, 1) }))
    const given: string[] = []
    const server = createServer((request, response) => {
      const { searchParams } = new URL(request.url ?? '/', 'http://x')
      const id = searchParams.get('uploadId')
      if (request.method === 'DELETE') given.push(id ?? '')
      if (id !== null) {
        const part = '<Part><PartNumber>1</PartNumber><Size>6</Size></Part>'
        return void response.end(
          `<ListPartsResult>${id === 'z1' || id === 'a3' ? part : ''}</ListPartsResult>`,
        )
      }
      const [marker, key] = [searchParams.get('upload-id-marker'), searchParams.get('key-marker')]
      if (marker !== null && !knowsMarkers)
        return void response.writeHead(400).end('<Error><Code>InvalidArgument</Code></Error>')
      const prefix = searchParams.get('prefix') ?? ''
      const from =
        marker !== null
          ? uploads.findIndex(one => one.id === marker) + 1
          : uploads.findIndex(one => key === null || one.key > key)
      // Two are a page, but where one key is asked for.
      const all = uploads.slice(from).filter(one => one.key.startsWith(prefix))
      const page = all.slice(0, prefix === '' ? 2 : 4)
      const items = page.map(
        one =>
          `<Upload><Key>${one.key}</Key><UploadId>${one.id}</UploadId><Initiated>2026-01-01T00:00:00.000Z</Initiated></Upload>`,
      )
      const last = page.at(-1)
      response.end(
        `<ListMultipartUploadsResult><IsTruncated>${page.length < all.length}</IsTruncated><NextKeyMarker>${last?.key}</NextKeyMarker><NextUploadIdMarker>${last?.id}</NextUploadIdMarker>${items.join('')}</ListMultipartUploadsResult>`,
      )
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const s3 = createOuterS3({
      ...{ endpoint: `http://127.0.0.1:${port}`, region: 'us-east-1' },
      ...{ accessKeyId: 'a', secretAccessKey: 'b' },
    })
    expect(await s3.openBytes('bucket', new AbortController().signal)).toBe(12)
    await s3.abortUploads('bucket', '', Date.parse('2026-01-01') + 1)
    expect(given.toSorted()).toEqual(['a1', 'a2', 'a3', 'b1', 'z1'])
    server.closeAllConnections()
    server.close()
  }
}, 30_000)
