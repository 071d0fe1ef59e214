import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { clientOf, refusalOf } from '../../../../test/s3-conformance.ts'
import type { KnownVolume } from '../gateway-side.ts'
import { createS3Server, type S3Server } from './s3-server.ts'
import { signingKey } from './signature.ts'

// Goal: whoever can merely name a key makes the gateway ask no engine, and one volume's engine holds up no other volume.
// Method: a server whose gateway counts what it is asked, and answers of one volume when the test lets it.
const REGION = 'us-west'
const SECRET = 'a secret of this test alone'
const KEYS = {
  quick: { accessKeyId: 'BKIAQUICKQUICKQUICK2', bucket: 'v-quick', userId: 'anna' },
  slow: { accessKeyId: 'BKIASLOWSLOWSLOWSLOW', bucket: 'v-slow', userId: 'berta' },
}
const REQUESTS_PER_USER_MAX = 8

const path = mkdtempSync(join(tmpdir(), 'berth-s3-lookups-'))
let server: S3Server
let endpoint: string
let now = Date.now()
let askedKeys = 0
let askedVolumes: string[] = []
let slow = Promise.withResolvers<void>()
const clients: S3Client[] = []

/** When keys end that were rotated; null: none was. */
let endsMs: number | null = null

let volume: KnownVolume = {
  ...{ bucketMadeMs: 0, place: { path }, isReadOnly: false, isOnlyOverSize: false },
  ...{ counted: null, bytesMax: 1024 ** 3 },
}

beforeAll(async () => {
  server = createS3Server({
    gateway: {
      async findKey(asked) {
        askedKeys += 1
        const key = Object.values(KEYS).find(({ accessKeyId }) => accessKeyId === asked.accessKeyId)
        if (!key) return null
        const known = { ...key, region: REGION, access: 'read_write' as const, endsMs }
        return { ...known, signingKey: signingKey(SECRET, asked) }
      },
      async findVolume({ volumeId }) {
        askedVolumes.push(volumeId)
        if (volumeId === KEYS.slow.bucket) await slow.promise
        return volume
      },
      noteUse: () => undefined,
    },
    ...{ hostName: null, trustedProxies: [], now: () => now, log: () => undefined },
    openHop: () => {
      throw new Error('there is no other gateway')
    },
    limits: { requestsPerUserMax: REQUESTS_PER_USER_MAX, knownMax: 4 },
  })
  const { port } = await server.listen('127.0.0.1', 0)
  endpoint = `http://127.0.0.1:${port}`
})
afterAll(async () => {
  for (const client of clients) client.destroy()
  await server.close()
  rmSync(path, { recursive: true, force: true })
})
const sound = volume
beforeEach(() => {
  now = Date.now()
  endsMs = null
  volume = sound
  server.forgetKeys()
  server.forgetVolumes(null)
  askedKeys = 0
  askedVolumes = []
})

function client(
  { accessKeyId, bucket }: { accessKeyId: string; bucket: string },
  other: { region?: string; secretAccessKey?: string } = {},
) {
  const made = clientOf({
    ...{ endpoint, bucket, accessKeyId, region: REGION, secretAccessKey: SECRET },
    ...other,
  })
  clients.push(made)
  return {
    list: () => made.send(new ListObjectsV2Command({ Bucket: bucket })),
    put: (Key: string) => made.send(new PutObjectCommand({ Bucket: bucket, Key, Body: Key })),
    get: (Key: string) => made.send(new GetObjectCommand({ Bucket: bucket, Key })),
    remove: (Key: string) => made.send(new DeleteObjectCommand({ Bucket: bucket, Key })),
    of: (Bucket: string) => made.send(new ListObjectsV2Command({ Bucket })),
  }
}

test('[R2.25] [R6.4] a signature or a region that is not right, and another bucket, ask nothing of a volume', async () => {
  const { quick } = KEYS
  const wrong = client(quick, { secretAccessKey: 'x'.repeat(40) })
  for (const ask of [wrong.list, () => wrong.put('a'), () => wrong.get('a')])
    expect(await refusalOf(ask())).toBe('403 SignatureDoesNotMatch')
  expect(await refusalOf(client(quick, { region: 'eu-north' }).list())).toBe(
    '400 AuthorizationHeaderMalformed',
  )
  expect(await refusalOf(client(quick).of(KEYS.slow.bucket))).toBe('404 NoSuchBucket')
  expect(await refusalOf(client({ ...quick, accessKeyId: 'BKIANOBODYNOBODYNOBO' }).list())).toBe(
    '403 InvalidAccessKeyId',
  )
  expect(askedVolumes).toEqual([])
  expect((await client(quick).list()).KeyCount).toBe(0)
  expect(askedVolumes).toEqual([quick.bucket])
})

test('[R2.25] a volume is asked for once in five seconds, and again at once after it has changed', async () => {
  const { list } = client(KEYS.quick)
  await Promise.all([list(), list(), list()])
  now += 4_999
  await list()
  expect([askedKeys, askedVolumes]).toEqual([1, [KEYS.quick.bucket]])
  server.forgetVolumes(KEYS.slow.bucket)
  await list()
  expect(askedVolumes).toHaveLength(1)
  server.forgetVolumes(KEYS.quick.bucket)
  await list()
  expect([askedKeys, askedVolumes.length]).toEqual([1, 2])
  now += 5_000
  await list()
  expect([askedKeys, askedVolumes.length]).toEqual([2, 3])
})

test('[R2.25] regions that somebody makes up with a key of another’s push nobody’s key out', async () => {
  const { list } = client(KEYS.quick)
  await list()
  for (let at = 0; at < 8; at += 1) {
    const strange = client(KEYS.slow, { region: `made-up-${at}`, secretAccessKey: 'x'.repeat(40) })
    await refusalOf(strange.list())
  }
  expect(askedKeys).toBe(9)
  await list()
  expect(askedKeys).toBe(9)
})

test('[R2.25] a volume that its engine says nothing of holds up its own customer alone, and takes no more than a customer may', async () => {
  slow = Promise.withResolvers()
  const stuck = client(KEYS.slow)
  const waits = Array.from({ length: REQUESTS_PER_USER_MAX }, () => stuck.list())
  await expect.poll(() => server.count()).toBe(REQUESTS_PER_USER_MAX)
  expect(await refusalOf(stuck.list())).toBe('503 SlowDown')
  expect((await client(KEYS.quick).list()).KeyCount).toBe(0)
  // However many wait for it, it was asked for once.
  expect(askedVolumes).toEqual([KEYS.slow.bucket, KEYS.quick.bucket])
  slow.resolve()
  expect((await Promise.all(waits)).map(({ KeyCount }) => KeyCount)).toEqual(waits.map(() => 0))
})

test('[R2.25] a key that was rotated ends on its moment, though it was known a second before', async () => {
  endsMs = now + 1_000
  const { list } = client(KEYS.quick)
  await list()
  now += 999
  await list()
  now += 1
  expect(await refusalOf(list())).toBe('403 InvalidAccessKeyId')
  expect(askedKeys).toBe(1)
})

test('[R2.25] [B4] of a volume that is over its size objects are deleted and none is put; of one that nobody pays for neither', async () => {
  const { put, remove, get } = client(KEYS.quick)
  await put('kept')
  for (const [isOnlyOverSize, removed] of [
    [false, '403 VolumeReadOnly'],
    [true, 'it was not refused'],
  ] as const) {
    volume = { ...sound, isReadOnly: true, isOnlyOverSize }
    server.forgetVolumes(null)
    expect(await refusalOf(put('more'))).toBe('403 VolumeReadOnly')
    expect(await refusalOf(remove('kept'))).toBe(removed)
  }
  expect(await refusalOf(get('kept'))).toBe('404 NoSuchKey')
})
