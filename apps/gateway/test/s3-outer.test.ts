import { randomBytes, randomUUID } from 'node:crypto'
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { deployInstance } from '@berth/contract/instances'
import { getVolumeS3, makeS3Key } from '@berth/contract/volume-s3'
import { listSnapshots, restoreSnapshot, takeSnapshot } from '@berth/contract/volume-snapshots'
import { createVolume, deleteVolume, getVolumePrice, listVolumes } from '@berth/contract/volumes'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { deployBody } from '../src/domains/instances/instances-fixture.ts'
import { createBucketEngine } from '../src/drivers/compute/bucket/bucket-engine.ts'
import { createFakeEngine } from '../src/drivers/compute/fake/fake-engine.ts'
import { systemClock } from '../src/platform/clock.ts'
import { createOuterS3, type OuterS3Place } from '../src/platform/outer-s3/outer-s3.ts'
import { clientOf, describeS3, refusalOf, type S3Target } from './s3-conformance.ts'
import { cutPut } from './s3-cut-put.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'
import { startVersitygw, VERSITYGW_DIFFERS, versitygwProbe } from './versitygw.ts'

const WAIT = { timeout: 60_000 }
const MIB = 1024 ** 2
const never = new AbortController().signal
if (!versitygwProbe.ok)
  process.stdout.write(`SKIP volumes of objects at an S3 server: ${versitygwProbe.why}\n`)

describe.skipIf(!versitygwProbe.ok)('volumes of objects at an S3 server', () => {
  let peer: Awaited<ReturnType<typeof startVersitygw>>
  let place: OuterS3Place & { bucket: string }
  let gateway: TestGateway
  let owner: { token: string; userId: string }
  let target: S3Target
  let s3: S3Client
  let Bucket: string

  beforeAll(async () => {
    peer = await startVersitygw()
    place = peer.target
    const [store, machines] = [await createBucketEngine(place), createFakeEngine({ clock: systemClock })]
    const engines = [machines, store].map(engine => ({
      description: engine.id,
      open: async () => engine,
      regionCodes: ['us-west'],
      formerId: () => null,
    }))
    gateway = await startGateway({ engines, s3Port: 0 })
    const { token, userId } = await gateway.signUp()
    owner = { token, userId }
    await gateway.grant(userId, 100_000)
    target = await keyTo(await made('objects'))
    s3 = clientOf(target)
    Bucket = target.bucket
  })
  afterAll(async () => {
    await gateway.stop()
  })

  const volumes = () => gateway.data(listVolumes, { query: {} }, owner)
  const ready = (id: string) =>
    vi.waitUntil(async () => (await volumes()).find(one => one.id === id && one.status === 'ready'), WAIT)
  async function made(kind: 'files' | 'objects') {
    const body = { name: `v-${randomUUID().slice(0, 8)}`, region_code: 'us-west', size_gb: 10, kind }
    const { id } = await gateway.data(createVolume, { body }, owner)
    return (await ready(id)) as NonNullable<Awaited<ReturnType<typeof ready>>>
  }
  async function keyTo({ id, region_code: region }: { id: string; region_code: string }): Promise<S3Target> {
    const key = await gateway.data(makeS3Key, { params: { id }, body: { access: 'read_write' } }, owner)
    return {
      endpoint: `http://127.0.0.1:${gateway.gateway.s3?.port}`,
      bucket: id,
      region,
      accessKeyId: key.access_key_id,
      secretAccessKey: key.secret_access_key,
    }
  }
  const outerKeys = async (id: string) => {
    const found: string[] = []
    for await (const { key } of createOuterS3(place).list(`bucket-${id}`, '')) found.push(key)
    return found
  }
  const read = async (Key: string) => {
    const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }))
    return Buffer.from((await Body?.transformToByteArray()) ?? [])
  }

  describe('the suite', () => {
    describeS3(() => target, VERSITYGW_DIFFERS)
  })

  test('[R2.25] are chosen where a region has them, lie in buckets of their own, and go with all that is in them', async () => {
    const { regions } = await gateway.data(getVolumePrice, { query: {} }, owner)
    expect(regions.find(one => one.region_code === 'us-west')?.kinds).toEqual(['files', 'objects'])
    expect(await made('files')).toMatchObject({ kind: 'files' })
    const volume = await made('objects')
    expect(volume).toMatchObject({ kind: 'objects', shared: false, size_enforced: false })
    const own = await keyTo(volume)
    await clientOf(own).send(new PutObjectCommand({ Bucket: own.bucket, Key: 'a/b', Body: 'kept' }))
    expect(await outerKeys(volume.id)).toEqual(['a/b'])
    expect(await gateway.data(getVolumeS3, { params: { id: volume.id } }, owner)).toMatchObject({
      state: 'served',
    })
    await gateway.gateway.volumes.measure(never)
    expect((await volumes()).find(({ id }) => id === volume.id)).toMatchObject({ used_bytes: 4 })
    await gateway.data(deleteVolume, { params: { id: volume.id }, query: { name: volume.name } }, owner)
    await vi.waitUntil(async () => (await volumes()).every(({ id }) => id !== volume.id), WAIT)
    expect(await createOuterS3(place).buckets()).not.toContain(`bucket-${volume.id}`)
  })

  test('[R2.25] no instance has one, and that is said at its field', async () => {
    const volume = await made('objects')
    const body = deployBody({ network_volume: { id: volume.id, path: '/data' } })
    const { envelope } = await gateway.call(deployInstance, { body }, owner)
    expect(envelope).toMatchObject({
      status: 'error',
      code: 'volume_of_objects',
      fields: [{ path: 'network_volume.id' }],
    })
  })

  test('[R6.4] nothing of the operator’s server or key is told, and a key reaches its own volume', async () => {
    const put = await s3.send(new PutObjectCommand({ Bucket, Key: 'mine', Body: 'mine' }))
    expect(put.ETag).toBeTruthy()
    const url = await getSignedUrl(s3, new ListObjectsV2Command({ Bucket, FetchOwner: true }))
    const text = await (await fetch(url)).text()
    expect(text).toContain(`<Name>${Bucket}</Name>`)
    for (const secret of [place.accessKeyId, place.secretAccessKey, `bucket-${Bucket}`, place.endpoint])
      expect(text).not.toContain(secret)
    const other = await made('objects')
    expect(await refusalOf(s3.send(new ListObjectsV2Command({ Bucket: other.id })))).toBe('404 NoSuchBucket')
    for (const Key of ['../engine-id', 'a/../../bucket/engine-id', 'a//b'])
      expect(await refusalOf(s3.send(new PutObjectCommand({ Bucket, Key, Body: 'x' }))), Key).toBe(
        '400 InvalidObjectName',
      )
    const { UploadId = '' } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key: 'up' }))
    expect(UploadId).not.toBe('')
    const part = { Bucket, Key: 'up', PartNumber: 1, UploadId: '../../bucket', Body: 'x' }
    expect(await refusalOf(s3.send(new UploadPartCommand(part)))).toBe('404 NoSuchUpload')
  })

  test('[R2.25] a large body goes on as it comes, and what is cut or wrong leaves what was there before', async () => {
    const body = randomBytes(20 * MIB)
    await s3.send(new PutObjectCommand({ Bucket, Key: 'large', Body: body }))
    expect((await read('large')).equals(body)).toBe(true)
    const other = randomBytes(20 * MIB)
    const url = new URL(await getSignedUrl(s3, new PutObjectCommand({ Bucket, Key: 'large' })))
    for (let tenth = 0; tenth < 10; tenth++) {
      await cutPut(url, other, { bytes: Math.floor((other.length * tenth) / 10) })
    }
    const wrong = { Bucket, Key: 'large', Body: other, ContentMD5: Buffer.alloc(16, 1).toString('base64') }
    expect(await refusalOf(s3.send(new PutObjectCommand(wrong)))).toBe('400 BadDigest')
    expect((await read('large')).equals(body)).toBe(true)
    const { UploadId } = await s3.send(
      new CreateMultipartUploadCommand({ Bucket, Key: 'large-by-parts', ChecksumAlgorithm: 'CRC32' }),
    )
    const Parts = await Promise.all(
      [1, 2].map(async PartNumber => {
        const part = { Bucket, Key: 'large-by-parts', UploadId, PartNumber, Body: body }
        const { ETag, ChecksumCRC32 } = await s3.send(new UploadPartCommand(part))
        return { PartNumber, ETag, ChecksumCRC32 }
      }),
    )
    const done = { Bucket, Key: 'large-by-parts', UploadId, MultipartUpload: { Parts } }
    await s3.send(new CompleteMultipartUploadCommand(done))
    const { ContentLength } = await s3.send(new HeadObjectCommand({ Bucket, Key: 'large-by-parts' }))
    expect(ContentLength).toBe(40 * MIB)
  })

  test('[R2.25] a snapshot is a bucket as well, and a volume is made of it', async () => {
    const volume = await made('objects')
    const own = await keyTo(volume)
    const keys = Array.from({ length: 30 }, (_, at) => `folder ${at % 3}/ö${at}`)
    for (const Key of keys)
      await clientOf(own).send(new PutObjectCommand({ Bucket: own.bucket, Key, Body: Key }))
    const { id } = await gateway.data(takeSnapshot, { params: { id: volume.id } }, owner)
    await vi.waitUntil(async () => {
      const { snapshots } = await gateway.data(listSnapshots, { params: { id: volume.id } }, owner)
      return snapshots[0]?.status === 'ready'
    }, WAIT)
    const body = { name: 'restored', size_gb: 10 }
    const restored = await gateway.data(
      restoreSnapshot,
      { params: { id: volume.id, snapshot_id: id }, body },
      owner,
    )
    await ready(restored.id)
    expect(await outerKeys(restored.id)).toEqual([...keys].toSorted())
    const to = await keyTo(restored)
    const { Body } = await clientOf(to).send(new GetObjectCommand({ Bucket: to.bucket, Key: keys[4] }))
    expect(await Body?.transformToString()).toBe(keys[4])
  })

  test('[R2.25] a server that is gone is said, and nothing is told of it', async () => {
    await peer.stop()
    const refused = await refusalOf(s3.send(new GetObjectCommand({ Bucket, Key: 'mine' })))
    expect(refused).toBe('503 ServiceUnavailable')
  })
})
