import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { clientOf, refusalOf } from '../../../../test/s3-conformance.ts'
import { createS3Server, type S3Server } from '../protocol/s3-server.ts'
import { signingKey } from '../protocol/signature.ts'

// Goal: what reaches a server behind ours, and what of its answers reaches a client, whatever that server is. Method: ours in this
// process, in front of one that writes down what it is asked and answers as it is told.
const SECRET = 'a secret of the customer alone'
const KEY = 'BKIAAAAAAAAAAAAAAAAA'
const Bucket = 'v-outer1'
let outer: Server
let server: S3Server
let s3: S3Client
let asked: string[] = []
let sent = ''
let isReadOnly = false
let room = 1e9
let answer: (request: IncomingMessage, response: ServerResponse) => void

beforeAll(async () => {
  outer = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    sent = ''
    request.on('data', piece => {
      sent += piece
    })
    request.once('end', () => answer(request, response))
  }).listen(0, '127.0.0.1')
  await once(outer, 'listening')
  const { port } = outer.address() as AddressInfo
  const days = [0, 1].map(day =>
    new Date(Date.now() + day * 86_400_000).toISOString().slice(0, 10).replaceAll('-', ''),
  )
  const signingKeys = Object.fromEntries(
    days.map(date => [date, signingKey('operator', { date, region: 'us-east-1' })]),
  )
  server = createS3Server({
    gateway: {
      findKey: async ({ date, region }) => ({
        ...{ userId: 'u', bucket: Bucket, region: 'us-west', access: 'read_write' as const },
        ...{ endsMs: null, signingKey: signingKey(SECRET, { date, region }) },
      }),
      findVolume: async () => ({
        ...{ bucketMadeMs: 0, isReadOnly, isOnlyOverSize: isReadOnly, bytesMax: 1e9 },
        counted: { bytes: 1e9 - room, atMs: 1 },
        place: {
          outer: {
            endpoint: `http://127.0.0.1:${port}`,
            ...{ region: 'us-east-1', bucket: `berth-${Bucket}`, accessKeyId: 'OPERATOR', signingKeys },
          },
        },
      }),
      noteUse: () => undefined,
    },
    ...{ log: () => undefined, hostName: null, trustedProxies: [], now: Date.now },
    openHop: () => {
      throw new Error('there is no other gateway')
    },
  })
  const { port: own } = await server.listen('127.0.0.1', 0)
  const target = { bucket: Bucket, region: 'us-west', accessKeyId: KEY, secretAccessKey: SECRET }
  s3 = clientOf({ ...target, endpoint: `http://127.0.0.1:${own}` })
})
afterAll(async () => {
  s3.destroy()
  outer.closeAllConnections()
  outer.close()
  await server.close()
})
beforeEach(() => {
  asked = []
})

const refuses = (status: number, code: string) => (_: IncomingMessage, response: ServerResponse) =>
  void response.writeHead(status).end(`<Error><Code>${code}</Code><Message>of OPERATOR</Message></Error>`)

test('[R6.4] names and uploads that could be paths behind a server are not asked of it', async () => {
  answer = (_, response) => void response.writeHead(200).end()
  for (const UploadId of ['../../other', 'a/b', '..', '.']) {
    const upload = { Bucket, Key: 'a', UploadId }
    expect(await refusalOf(s3.send(new ListPartsCommand(upload))), UploadId).toBe('404 NoSuchUpload')
    const done = { ...upload, MultipartUpload: { Parts: [{ PartNumber: 1, ETag: 'x' }] } }
    expect(await refusalOf(s3.send(new CompleteMultipartUploadCommand(done)))).toBe('404 NoSuchUpload')
  }
  const copy = { Bucket, Key: 'a', Body: 'x' }
  for (const Key of ['../a', 'a/../b', 'a//b'])
    expect(await refusalOf(s3.send(new PutObjectCommand({ ...copy, Key })))).toBe('400 InvalidObjectName')
  // Nor is another volume, by its name here or there.
  for (const other of ['v-outer2', `berth-${Bucket}`]) {
    const from = { Bucket, Key: 'a', CopySource: `${other}/a` }
    expect(await refusalOf(s3.send(new CopyObjectCommand(from)))).toBe('404 NoSuchBucket')
  }
  expect(asked).toEqual([])
})

test('[R6.4] what is between the operator and the server is told nobody', async () => {
  for (const code of ['AccessDenied', 'InvalidAccessKeyId', 'SignatureDoesNotMatch', 'NoSuchBucket']) {
    answer = refuses(code === 'NoSuchBucket' ? 404 : 403, code)
    const sent = s3.send(new GetObjectCommand({ Bucket, Key: 'a' }))
    const error = await sent.catch((thrown: Error) => thrown)
    expect(error).toMatchObject({ name: 'ServiceUnavailable' })
    expect(String(error)).not.toContain('OPERATOR')
  }
  answer = refuses(404, 'NoSuchKey')
  expect(await refusalOf(s3.send(new GetObjectCommand({ Bucket, Key: 'a' })))).toBe('404 NoSuchKey')
  answer = refuses(507, 'QuotaExceeded')
  expect(await refusalOf(s3.send(new PutObjectCommand({ Bucket, Key: 'a', Body: 'x' })))).toBe(
    '507 InsufficientStorage',
  )
})

test('[R2.25] a body that is not what was said of it never reaches the server', async () => {
  answer = (_, response) => void response.writeHead(200, { etag: '"x"' }).end()
  const put = { Bucket, Key: 'a', Body: 'bytes', ContentMD5: Buffer.alloc(16, 1).toString('base64') }
  expect(await refusalOf(s3.send(new PutObjectCommand(put)))).toBe('400 BadDigest')
  expect(asked).toEqual([])
})

test('[R2.25] where it went wrong there and may not the next time, it is asked again', async () => {
  let times = 0
  answer = (request, response) => {
    times += 1
    if (times < 3) refuses(503, 'ServiceUnavailable')(request, response)
    else response.writeHead(200, { etag: '"kept"', 'x-amz-id-2': 'inner' }).end()
  }
  const { ETag, $metadata } = await s3.send(new PutObjectCommand({ Bucket, Key: 'a', Body: 'x' }))
  expect(ETag).toBe('"kept"')
  expect($metadata.extendedRequestId).toBeUndefined()
  expect(asked).toEqual(Array(3).fill(`PUT /berth-${Bucket}/a`))
})

test('owners without an end are left out of a document, in a time that grows with it', async () => {
  answer = (_, response) =>
    void response.writeHead(200).end(`<ListBucketResult><Owner>secret</Owner>${'<Owner>'.repeat(800_000)}`)
  const began = performance.now()
  const failed = await s3.send(new ListObjectsV2Command({ Bucket })).catch((error: Error) => error)
  expect(performance.now() - began).toBeLessThan(10_000)
  expect(String(failed)).not.toContain('secret')
}, 20_000)

test('of documents the server is asked what was read of them, and nothing else', async () => {
  answer = (_, response) =>
    void response
      .writeHead(200)
      .end('<CompleteMultipartUploadResult><ETag>"x"</ETag></CompleteMultipartUploadResult>')
  const Parts = [{ PartNumber: 1, ETag: '"x"', ChecksumMD5: 'not passed on' }]
  const upload = { Bucket, Key: 'a', UploadId: 'u', MultipartUpload: { Parts } }
  await s3.send(new CompleteMultipartUploadCommand(upload))
  expect(sent).toContain('<PartNumber>1</PartNumber>')
  expect(sent).not.toContain('not passed on')
  answer = (_, response) => void response.writeHead(200).end('<DeleteResult></DeleteResult>')
  const Objects = [{ Key: 'a&b', Size: 5 }]
  await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }))
  expect(sent).toContain('<Key>a&amp;b</Key>')
  expect(sent).not.toContain('Size')
})

test('between two counts a volume takes what it has room for, and one over its size lets go of what it holds', async () => {
  answer = (_, response) => void response.writeHead(200, { etag: '"x"' }).end()
  room = 100
  server.forgetVolumes(null)
  const put = (bytes: number) => s3.send(new PutObjectCommand({ Bucket, Key: 'a', Body: 'x'.repeat(bytes) }))
  const other = answer
  answer = refuses(412, 'PreconditionFailed')
  expect(await refusalOf(put(90))).toBe('412 PreconditionFailed')
  answer = other
  await put(60)
  expect(await refusalOf(put(60))).toBe('507 InsufficientStorage')
  await put(30)
  // A copy takes as much as what is copied.
  answer = (request, response) =>
    void response.writeHead(200, request.method === 'HEAD' ? { 'content-length': '50' } : {}).end()
  const copy = { Bucket, Key: 'b', CopySource: `${Bucket}/a` }
  expect(await refusalOf(s3.send(new CopyObjectCommand(copy)))).toBe('507 InsufficientStorage')
  isReadOnly = true
  room = 1e9
  server.forgetVolumes(null)
  answer = (_, response) => void response.writeHead(204).end()
  expect(await refusalOf(put(1))).toBe('403 VolumeReadOnly')
  await s3.send(new DeleteObjectCommand({ Bucket, Key: 'a' }))
  isReadOnly = false
  server.forgetVolumes(null)
})

test('a volume has so many open uploads, and no more are begun', async () => {
  answer = (_, response) =>
    void response.writeHead(200).end('<Upload><UploadId>u</UploadId></Upload>'.repeat(1_000))
  const begin = new CreateMultipartUploadCommand({ Bucket, Key: 'a' })
  expect(await refusalOf(s3.send(begin))).toBe('507 InsufficientStorage')
})
