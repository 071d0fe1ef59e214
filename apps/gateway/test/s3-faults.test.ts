import { execFileSync } from 'node:child_process'
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { afterEach, describe, expect, test } from 'vitest'
import { eventually } from '../src/drivers/compute/conformance/tools.ts'
import { clientOf, refusalOf } from './s3-conformance.ts'
import { cutPut } from './s3-cut-put.ts'
import { type S3Folder, startS3Folder } from './s3-folder.ts'
import { type SignedHead, signedPut } from './s3-signed-put.ts'

// Goal: whatever becomes of the disk or of an upload, what was acknowledged is whole, and nobody sees a half of anything.
// Method: the server over a folder, with the SDK's client, and requests written by hand where that would not send them.

const MIB = 1024 * 1024
const DISK_BYTES = 4 * MIB
const HOURS_PER_DAY = 24

let folder: S3Folder
let s3: S3Client
let Bucket: string
afterEach(() => folder.stop())

async function start(options: Parameters<typeof startS3Folder>[0] = {}): Promise<void> {
  folder = await startS3Folder(options)
  s3 = clientOf(folder)
  Bucket = folder.bucket
}
const put = (Key: string, Body: string | Uint8Array = Key) =>
  s3.send(new PutObjectCommand({ Bucket, Key, Body }))
const read = async (Key: string) => {
  const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }))
  return (await Body?.transformToString()) ?? ''
}
const remove = (Key: string) => s3.send(new DeleteObjectCommand({ Bucket, Key }))
const keys = async () => {
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket }))
  return Contents.map(({ Key }) => Key ?? '')
}
const own = (...names: string[]) => join(folder.path, '.berth-s3', ...names)
const begin = async (Key: string) =>
  (await s3.send(new CreateMultipartUploadCommand({ Bucket, Key }))).UploadId ?? ''
const part = (of: { Key: string; UploadId: string }, PartNumber: number, Body: string | Uint8Array) =>
  s3.send(new UploadPartCommand({ Bucket, ...of, PartNumber, Body }))

const mountWhy = whyNoMount()
if (mountWhy !== null) process.stdout.write(`SKIP S3 of a volume whose disk is full: ${mountWhy}\n`)
describe.skipIf(mountWhy !== null)('a volume whose disk is full', () => {
  /** A disk of its own for the volume, of 4 MiB. */
  async function startOnDisk(): Promise<void> {
    await start()
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'none', folder.path])
  }
  // What the server closes in a moment does not hold it up.
  afterEach(() => execFileSync('umount', ['-l', folder.path]))

  test('[R2.25] a put that has no room is refused, what was there stays, and deleting makes room', async () => {
    await startOnDisk()
    const [one, large] = [randomBytes(MIB), randomBytes(DISK_BYTES)]
    await put('kept', one)
    expect(await refusalOf(put('large', large))).toBe('507 InsufficientStorage')
    expect(await refusalOf(put('kept', large))).toBe('507 InsufficientStorage')
    expect(readdirSync(own('tmp'))).toEqual([])
    const acknowledged = ['kept']
    for (let number = 0; ; number += 1) {
      const refused = await put(`small/${number}`, randomBytes(100_000)).then(
        () => null,
        error => error.name,
      )
      if (refused === 'InsufficientStorage') break
      expect(refused).toBeNull()
      acknowledged.push(`small/${number}`)
    }
    expect((await keys()).sort()).toEqual(acknowledged.sort())
    expect(readFileSync(join(folder.path, 'kept')).equals(one)).toBe(true)
    await remove('kept')
    await put('again', 'there is room')
    expect(await read('again')).toBe('there is room')
  })

  test('[R2.25] an upload by parts that has no room keeps its parts, and is completed when there is', async () => {
    await startOnDisk()
    await put('in the way', randomBytes(MIB))
    const of = { Key: 'parts', UploadId: await begin('parts') }
    const bytes = randomBytes(1.4 * MIB)
    const { ETag } = await part(of, 1, bytes)
    expect(await refusalOf(part(of, 2, randomBytes(DISK_BYTES)))).toBe('507 InsufficientStorage')
    const complete = () =>
      s3.send(
        new CompleteMultipartUploadCommand({
          Bucket,
          ...of,
          MultipartUpload: { Parts: [{ PartNumber: 1, ETag }] },
        }),
      )
    // The object needs as much again as its parts.
    await put('in the way too', randomBytes(MIB))
    expect(await refusalOf(complete())).toBe('507 InsufficientStorage')
    expect(await keys()).toEqual(['in the way', 'in the way too'])
    for (const key of await keys()) await remove(key)
    await complete()
    expect(readFileSync(join(folder.path, 'parts')).equals(bytes)).toBe(true)
  })

  test('[R2.25] a disk that became read-only is said, and read on', async () => {
    await startOnDisk()
    await put('kept', 'kept')
    execFileSync('mount', ['-o', 'remount,ro', folder.path])
    expect(await refusalOf(put('new'))).toBe('503 ServiceUnavailable')
    expect(await refusalOf(remove('kept'))).toBe('503 ServiceUnavailable')
    expect(await read('kept')).toBe('kept')
  })
})

test('[R2.25] a volume whose disk vanished is said, nothing is made in its place, and it comes back', async () => {
  await start()
  await put('kept', 'kept')
  renameSync(folder.path, `${folder.path}-gone`)
  for (const ask of [() => read('kept'), () => put('new'), () => remove('kept'), keys]) {
    expect(await refusalOf(ask())).toBe('503 ServiceUnavailable')
  }
  expect(existsSync(folder.path)).toBe(false)
  renameSync(`${folder.path}-gone`, folder.path)
  expect(await read('kept')).toBe('kept')
})

describe('uploads by parts', () => {
  test('[R2.25] a part that is cut at every tenth of its way is none, and can be sent again', async () => {
    await start()
    const of = { Key: 'cut', UploadId: await begin('cut') }
    const body = randomBytes(200_000)
    const command = new UploadPartCommand({ Bucket, ...of, PartNumber: 1 })
    const url = new URL(await getSignedUrl(s3, command))
    for (let tenth = 0; tenth < 10; tenth += 1) {
      await cutPut(url, body, { bytes: (body.length / 10) * tenth })
      const { Parts = [] } = await s3.send(new ListPartsCommand({ Bucket, ...of }))
      expect(Parts).toEqual([])
    }
    await eventually(async () => expect(readdirSync(own('uploads', of.UploadId))).toEqual(['about.json']))
    await part(of, 1, body)
    const { Parts = [] } = await s3.send(new ListPartsCommand({ Bucket, ...of }))
    expect(Parts.map(({ PartNumber, Size }) => [PartNumber, Size])).toEqual([[1, body.length]])
    expect(await keys()).toEqual([])
  })

  test('[R2.25] hold as much as their volume is to hold, and not more', async () => {
    await start({ bytesMax: MIB })
    const [one, other] = [
      { Key: 'one', UploadId: await begin('one') },
      { Key: 'other', UploadId: await begin('other') },
    ]
    await part(one, 1, randomBytes(600_000))
    expect(await refusalOf(part(other, 1, randomBytes(600_000)))).toBe('507 InsufficientStorage')
    await part(other, 1, randomBytes(300_000))
    await s3.send(new AbortMultipartUploadCommand({ Bucket, ...one }))
    await part(other, 2, randomBytes(600_000))
    expect(await refusalOf(part(other, 3, randomBytes(600_000)))).toBe('507 InsufficientStorage')
  })

  test('[R2.25] go seven days after their last part, and halves of puts after a day', async () => {
    await start()
    const of = { Key: 'old', UploadId: await begin('old') }
    await part(of, 1, 'a part')
    await put('kept', 'kept')
    execFileSync('sh', ['-c', `echo half > ${own('tmp', 'a'.repeat(24))}`])
    const left = async () => {
      const { Uploads = [] } = await s3.send(new ListMultipartUploadsCommand({ Bucket }))
      return [Uploads.length, readdirSync(own('tmp')).length]
    }
    await folder.sweepAfter(HOURS_PER_DAY - 1)
    expect(await left()).toEqual([1, 1])
    await folder.sweepAfter(7 * HOURS_PER_DAY - 1)
    expect(await left()).toEqual([1, 0])
    await folder.sweepAfter(7 * HOURS_PER_DAY + 1)
    expect(await left()).toEqual([0, 0])
    expect(readdirSync(own('uploads'))).toEqual([])
    expect(await keys()).toEqual(['kept'])
    expect(await read('kept')).toBe('kept')
  })

  test('[R2.25] two that are completed at once for one object: it is one of the two, whole', async () => {
    await start()
    const bodies = ['a', 'b'].map(letter => letter.repeat(300_000))
    const done = await Promise.all(
      bodies.map(async body => {
        const of = { Key: 'both', UploadId: await begin('both') }
        const { ETag } = await part(of, 1, body)
        const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] }
        return () => s3.send(new CompleteMultipartUploadCommand({ Bucket, ...of, MultipartUpload }))
      }),
    )
    const etags = (await Promise.all(done.map(complete => complete()))).map(({ ETag }) => ETag)
    const { Body, ETag } = await s3.send(new GetObjectCommand({ Bucket, Key: 'both' }))
    const text = (await Body?.transformToString()) ?? ''
    expect(bodies).toContain(text)
    expect(ETag).toBe(etags[bodies.indexOf(text)])
  })
})

test('[R2.25] signed chunks and trailers: a wrong one of either leaves what was there before', async () => {
  await start()
  await put('chunked', 'before')
  const path = `/${Bucket}/chunked`
  const content = 'chunked '.repeat(2_000)
  const send = (wrong: (body: string) => string) =>
    signedPut(folder, {
      path,
      body: head => wrong(inSignedChunks(content, head)),
      payload: 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER',
      headers: { 'x-amz-decoded-content-length': String(content.length), 'x-amz-trailer': TRAILER },
    })
  const wrongs: [string, (body: string) => string][] = [
    ['SignatureDoesNotMatch', body => body.replace('chunked chunked', 'chunked chunkeb')],
    ['SignatureDoesNotMatch', body => body.replace(/(trailer-signature:)(\w)/, flipped)],
    ['SignatureDoesNotMatch', body => body.replace(`${TRAILER}:`, `${TRAILER}:A`)],
    ['IncompleteBody', body => body.slice(0, body.indexOf('\r\n0;') + 2)],
  ]
  for (const [code, wrong] of wrongs) {
    expect(await send(wrong)).toContain(`<Code>${code}</Code>`)
    expect(await read('chunked')).toBe('before')
  }
  expect(await send(body => body)).toMatch(/^HTTP\/1\.1 200 /)
  expect(await read('chunked')).toBe(content)
})

test('[R2.25] a bucket has a name of its own below the server’s, where that has one', async () => {
  await start({ hostName: 's3.example.com' })
  const host = `${Bucket}.s3.example.com`
  expect(await signedPut(folder, { path: '/by/host', body: 'named', host })).toMatch(/^HTTP\/1\.1 200 /)
  expect(await read('by/host')).toBe('named')
  const other = { path: '/by/host', body: 'other', host: 'v-other.s3.example.com' }
  expect(await signedPut(folder, other)).toContain('<Code>NoSuchBucket</Code>')
  const foreign = { path: '/by/host', body: 'other', host: `${Bucket}.s3.example.org` }
  expect(await signedPut(folder, foreign)).toContain('<Code>NoSuchBucket</Code>')
})

/** Why this test may not give a folder a disk of its own; null where it may. */
function whyNoMount(): string | null {
  const at = mkdtempSync(join(tmpdir(), 'berth-mount-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', 'none', at], { stdio: 'ignore' })
    execFileSync('umount', [at])
    return null
  } catch {
    return 'nothing may be mounted here'
  } finally {
    rmSync(at, { recursive: true })
  }
}

const TRAILER = 'x-amz-checksum-sha256'
const flipped = (_: string, before: string, digit: string) => before + (digit === '0' ? '1' : '0')
const sha256 = (text: string) => createHash('sha256').update(text)

/** A body in two chunks and an end, each signed after the one before, with its checksum as a signed trailer. */
function inSignedChunks(content: string, { claim, key }: SignedHead): string {
  let before = claim.signature
  const scope = `${claim.date}/${claim.region}/s3/aws4_request`
  const sign = (kind: string, hashes: string[]) => {
    const toSign = [`AWS4-HMAC-SHA256-${kind}`, claim.timestamp, scope, before, ...hashes].join('\n')
    before = createHmac('sha256', key).update(toSign).digest('hex')
    return before
  }
  const middle = content.length / 2
  const chunks = [content.slice(0, middle), content.slice(middle), ''].map(
    chunk =>
      `${chunk.length.toString(16)};chunk-signature=${sign('PAYLOAD', [sha256('').digest('hex'), sha256(chunk).digest('hex')])}\r\n${chunk}`,
  )
  const trailer = `${TRAILER}:${sha256(content).digest('base64')}`
  const signature = sign('TRAILER', [sha256(`${trailer}\n`).digest('hex')])
  return `${chunks.join('\r\n')}${trailer}\r\nx-amz-trailer-signature:${signature}\r\n\r\n`
}
