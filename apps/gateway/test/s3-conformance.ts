import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetBucketLocationCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListBucketsCommand,
  ListMultipartUploadsCommand,
  ListObjectsCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
  type S3ServiceException,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { beforeAll, describe, expect, test } from 'vitest'

/** A server that speaks S3, and a bucket of it that is empty. */
export interface S3Target {
  endpoint: string
  region: string
  bucket: string
  accessKeyId: string
  secretAccessKey: string
}

const MIB = 1024 * 1024
const md5 = (bytes: Uint8Array | string) => createHash('md5').update(bytes).digest('hex')

/** A client of the JavaScript SDK, as customers have it. @param more Further settings of it. */
export function clientOf(
  { endpoint, region, accessKeyId, secretAccessKey }: S3Target,
  more: S3ClientConfig = {},
): S3Client {
  return new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
    maxAttempts: 1,
    ...more,
  })
}

/** The code and status of a refusal. */
export async function refusalOf(sent: Promise<unknown>): Promise<string> {
  const error = await sent.then(
    () => null,
    (thrown: S3ServiceException) => thrown,
  )
  return error ? `${error.$metadata?.httpStatusCode} ${error.name}` : 'it was not refused'
}

/**
 * What clients of S3 rely on, asked of any server that speaks it.
 * @param target Known when the tests run.
 * @param differs Names of tests that the server fails, and why: they are not run.
 */
export function describeS3(target: () => S3Target, differs: Readonly<Record<string, string>> = {}): void {
  let s3: S3Client
  let Bucket: string
  beforeAll(() => {
    s3 = clientOf(target())
    Bucket = target().bucket
  })
  const check = (name: string, work: () => Promise<void>) =>
    test(`[R2.25] [R3.11] ${name}`, async context => {
      const why = Object.entries(differs).find(([start]) => name.startsWith(start))?.[1]
      if (why !== undefined) context.skip(why)
      await work()
    })
  const put = (Key: string, Body: string | Uint8Array = Key, more: object = {}) =>
    s3.send(new PutObjectCommand({ Bucket, Key, Body, ...more }))
  const read = async (Key: string, more: object = {}) => {
    const { Body, ...rest } = await s3.send(new GetObjectCommand({ Bucket, Key, ...more }))
    return { ...rest, bytes: Buffer.from((await Body?.transformToByteArray()) ?? []) }
  }
  const keysOf = async (more: object = {}) => {
    const { Contents = [], CommonPrefixes = [] } = await s3.send(
      new ListObjectsV2Command({ Bucket, ...more }),
    )
    return [...Contents.map(({ Key }) => Key), ...CommonPrefixes.map(({ Prefix }) => Prefix)]
  }

  describe('buckets', () => {
    check('the bucket of a key is listed, is there, and says its region', async () => {
      const { Buckets = [] } = await s3.send(new ListBucketsCommand({}))
      expect(Buckets.map(({ Name }) => Name)).toContain(Bucket)
      await s3.send(new HeadBucketCommand({ Bucket }))
      const { LocationConstraint } = await s3.send(new GetBucketLocationCommand({ Bucket }))
      expect([target().region, undefined]).toContain(LocationConstraint)
    })

    check('a bucket that is not there is none', async () => {
      const other = 'no-such-bucket-here'
      expect(await refusalOf(s3.send(new ListObjectsV2Command({ Bucket: other })))).toBe('404 NoSuchBucket')
      expect(await refusalOf(s3.send(new PutObjectCommand({ Bucket: other, Key: 'a', Body: 'a' })))).toBe(
        '404 NoSuchBucket',
      )
    })
  })

  describe('objects', () => {
    check('what is put is read, with its ETag, its type and its metadata', async () => {
      const { ETag } = await put('first/object.txt', 'hello', {
        ContentType: 'text/plain; charset=utf-8',
        CacheControl: 'no-cache',
        ContentDisposition: 'attachment',
        Metadata: { colour: 'green', 'two-words': 'a b' },
      })
      expect(ETag).toBe(`"${md5('hello')}"`)
      const got = await read('first/object.txt')
      expect(got.bytes.toString()).toBe('hello')
      expect(got).toMatchObject({
        ETag,
        ContentLength: 5,
        ContentType: 'text/plain; charset=utf-8',
        CacheControl: 'no-cache',
        ContentDisposition: 'attachment',
        Metadata: { colour: 'green', 'two-words': 'a b' },
      })
      const head = await s3.send(new HeadObjectCommand({ Bucket, Key: 'first/object.txt' }))
      expect(head).toMatchObject({ ETag, ContentLength: 5, Metadata: { colour: 'green' } })
      expect(Math.abs(Date.now() - Number(head.LastModified))).toBeLessThan(60_000)
      await put('first/object.txt', 'other')
      const other = await read('first/object.txt')
      expect(other.bytes.toString()).toBe('other')
      expect(other.Metadata).toEqual({})
    })

    check('an empty object, and keys with all kinds of characters', async () => {
      const keys = [
        'chars/ space +plus',
        'chars/ünïcödé 日本',
        "chars/!'()*~-_.",
        'chars/a%2Fb&c=d?e#f',
        'chars/q"<>&',
      ]
      for (const key of keys) await put(key, key)
      for (const key of keys) expect((await read(key)).bytes.toString()).toBe(key)
      expect(await keysOf({ Prefix: 'chars/' })).toEqual(
        [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
      )
      const { ETag } = await put('chars/empty', '')
      expect([ETag, (await read('chars/empty')).bytes.length]).toEqual([`"${md5('')}"`, 0])
    })

    check('parts of an object are read by range', async () => {
      await put('range', '0123456789')
      const ranged = async (Range: string) => {
        const { bytes, ContentRange } = await read('range', { Range })
        return [bytes.toString(), ContentRange]
      }
      expect(await ranged('bytes=0-0')).toEqual(['0', 'bytes 0-0/10'])
      expect(await ranged('bytes=3-5')).toEqual(['345', 'bytes 3-5/10'])
      expect(await ranged('bytes=7-')).toEqual(['789', 'bytes 7-9/10'])
      expect(await ranged('bytes=-2')).toEqual(['89', 'bytes 8-9/10'])
      expect(await ranged('bytes=8-99')).toEqual(['89', 'bytes 8-9/10'])
      expect(await refusalOf(read('range', { Range: 'bytes=10-' }))).toBe('416 InvalidRange')
    })

    check('conditions of reads', async () => {
      const { ETag } = await put('conditional', 'x')
      expect((await read('conditional', { IfMatch: ETag })).bytes.toString()).toBe('x')
      expect(await refusalOf(read('conditional', { IfMatch: '"other"' }))).toBe('412 PreconditionFailed')
      expect(await refusalOf(read('conditional', { IfNoneMatch: ETag }))).toMatch(/^304 /)
      expect((await read('conditional', { IfNoneMatch: '"other"' })).bytes.toString()).toBe('x')
      const ago = new Date(Date.now() - 3_600_000)
      expect((await read('conditional', { IfModifiedSince: ago })).bytes.toString()).toBe('x')
      expect(await refusalOf(read('conditional', { IfUnmodifiedSince: ago }))).toBe('412 PreconditionFailed')
    })

    check('conditions of puts', async () => {
      await put('once', 'first', { IfNoneMatch: '*' })
      expect(await refusalOf(put('once', 'second', { IfNoneMatch: '*' }))).toBe('412 PreconditionFailed')
      const { ETag } = await put('once', 'second', { IfMatch: `"${md5('first')}"` })
      expect(await refusalOf(put('once', 'third', { IfMatch: `"${md5('first')}"` }))).toBe(
        '412 PreconditionFailed',
      )
      expect((await read('once')).ETag).toBe(ETag)
    })

    check('checksums that the client names are held to, and told', async () => {
      for (const algorithm of ['CRC32', 'CRC32C', 'CRC64NVME', 'SHA1', 'SHA256'] as const) {
        const name = `Checksum${algorithm}` as 'ChecksumCRC32'
        const { [name]: sum } = await put(`sums/${algorithm}`, 'checked', { ChecksumAlgorithm: algorithm })
        const head = await s3.send(
          new HeadObjectCommand({ Bucket, Key: `sums/${algorithm}`, ChecksumMode: 'ENABLED' }),
        )
        expect([algorithm, sum, head[name]]).toEqual([algorithm, expect.any(String), sum])
      }
      expect(await refusalOf(put('sums/bad', 'checked', { ChecksumCRC32: 'AAAAAA==' }))).toMatch(/^400 /)
      expect(await refusalOf(put('sums/bad', 'checked', { ContentMD5: 'AAAAAAAAAAAAAAAAAAAAAA==' }))).toBe(
        '400 BadDigest',
      )
      expect(await refusalOf(read('sums/bad'))).toBe('404 NoSuchKey')
    })

    check('a stream is taken in chunks, with its checksum behind them', async () => {
      const bytes = randomBytes(300_000)
      const Body = Readable.from([bytes.subarray(0, 100_000), bytes.subarray(100_000)])
      const sent = { Bucket, Key: 'streamed', Body, ContentLength: bytes.length }
      const { ETag } = await s3.send(new PutObjectCommand(sent))
      const got = await read('streamed', { ChecksumMode: 'ENABLED' })
      expect([got.ETag, ETag]).toEqual([`"${md5(bytes)}"`, `"${md5(bytes)}"`])
      expect(got.bytes.equals(bytes)).toBe(true)
      expect(got.ContentEncoding ?? '').not.toContain('aws-chunked')
      expect(got.ChecksumCRC32).toBeDefined()
    })

    check('copies, with the same metadata or with other', async () => {
      const CopySource = `${Bucket}/copy/from`
      const { ETag } = await put('copy/from', 'copied', { Metadata: { a: '1' }, ContentType: 'text/plain' })
      const { CopyObjectResult } = await s3.send(
        new CopyObjectCommand({ Bucket, Key: 'copy/to', CopySource }),
      )
      expect(CopyObjectResult?.ETag).toBe(ETag)
      expect(await read('copy/to')).toMatchObject({ ETag, Metadata: { a: '1' }, ContentType: 'text/plain' })
      const replaced = {
        Bucket,
        Key: 'copy/from',
        CopySource,
        MetadataDirective: 'REPLACE' as const,
        Metadata: { b: '2' },
      }
      await s3.send(new CopyObjectCommand(replaced))
      expect((await read('copy/from')).Metadata).toEqual({ b: '2' })
      const missing = new CopyObjectCommand({ Bucket, Key: 'copy/x', CopySource: `${Bucket}/copy/none` })
      expect(await refusalOf(s3.send(missing))).toBe('404 NoSuchKey')
    })

    check('copies by conditions, and of no other bucket', async () => {
      const { ETag } = await put('copy/if', 'as it was')
      const copy = (more: object) =>
        s3.send(new CopyObjectCommand({ Bucket, Key: 'copy/then', CopySource: `${Bucket}/copy/if`, ...more }))
      expect(await refusalOf(copy({ CopySourceIfMatch: `"${md5('other')}"` }))).toBe('412 PreconditionFailed')
      expect(await refusalOf(copy({ CopySourceIfNoneMatch: ETag }))).toBe('412 PreconditionFailed')
      const elsewhere = copy({ CopySource: 'not-ours-at-all/copy/if' })
      expect(await refusalOf(elsewhere)).toBe('404 NoSuchBucket')
      expect(await refusalOf(read('copy/then'))).toBe('404 NoSuchKey')
      await copy({ CopySourceIfMatch: ETag })
      expect((await read('copy/then')).ETag).toBe(ETag)
    })

    check('deleting is done once or twice, one or many', async () => {
      const keys = ['del/a', 'del/b', 'del/c/d']
      for (const key of keys) await put(key)
      await s3.send(new DeleteObjectCommand({ Bucket, Key: 'del/a' }))
      await s3.send(new DeleteObjectCommand({ Bucket, Key: 'del/a' }))
      expect(await refusalOf(read('del/a'))).toBe('404 NoSuchKey')
      const many = { Objects: [...keys, 'del/never'].map(Key => ({ Key })) }
      const { Deleted = [], Errors = [] } = await s3.send(new DeleteObjectsCommand({ Bucket, Delete: many }))
      expect([Deleted.length, Errors]).toEqual([4, []])
      expect(await keysOf({ Prefix: 'del/' })).toEqual([])
    })

    check('deleting many says only what failed where that is asked for', async () => {
      await put('quiet/a')
      const Delete = { Objects: [{ Key: 'quiet/a' }], Quiet: true }
      const { Deleted = [], Errors = [] } = await s3.send(new DeleteObjectsCommand({ Bucket, Delete }))
      expect([Deleted, Errors]).toEqual([[], []])
      expect(await keysOf({ Prefix: 'quiet/' })).toEqual([])
    })

    check('deleting many by ETags leaves what has another', async () => {
      const { ETag } = await put('etags/a', 'as it was')
      await put('etags/b', 'other by now')
      const Delete = { Objects: ['etags/a', 'etags/b'].map(Key => ({ Key, ETag })) }
      const { Deleted = [], Errors = [] } = await s3.send(new DeleteObjectsCommand({ Bucket, Delete }))
      expect(Deleted.map(({ Key }) => Key)).toEqual(['etags/a'])
      expect(Errors.map(({ Key, Code }) => [Key, Code])).toEqual([['etags/b', 'PreconditionFailed']])
      expect(await keysOf({ Prefix: 'etags/' })).toEqual(['etags/b'])
    })

    check('an object whose folder was emptied leaves no folder behind', async () => {
      await put('deep/er/file')
      await s3.send(new DeleteObjectCommand({ Bucket, Key: 'deep/er/file' }))
      expect(await keysOf({ Prefix: 'deep', Delimiter: '/' })).toEqual([])
      await put('deep', 'now a file')
      expect((await read('deep')).bytes.toString()).toBe('now a file')
    })

    check('a folder is an object when it was put as one', async () => {
      await put('folder/', '')
      expect(await keysOf({ Prefix: 'folder' })).toEqual(['folder/'])
      expect((await read('folder/')).ContentLength).toBe(0)
      await put('folder/file')
      await s3.send(new DeleteObjectCommand({ Bucket, Key: 'folder/file' }))
      expect(await keysOf({ Prefix: 'folder' })).toEqual(['folder/'])
      await s3.send(new DeleteObjectCommand({ Bucket, Key: 'folder/' }))
      expect(await keysOf({ Prefix: 'folder' })).toEqual([])
    })
  })

  describe('lists', () => {
    const names = ['l/a', 'l/b-', 'l/b/1', 'l/b/2/x', 'l/b0', 'l/c', 'l/é', 'l/日', 'l/\u{1f600}']
    const inOrder = [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))

    check('are in the order of bytes, and whole in pages of any size', async () => {
      for (const name of names) await put(name, 'x')
      expect(await keysOf({ Prefix: 'l/' })).toEqual(inOrder)
      for (const MaxKeys of [1, 2, 4]) {
        const paged: (string | undefined)[] = []
        let ContinuationToken: string | undefined
        do {
          const page = await s3.send(
            new ListObjectsV2Command({ Bucket, Prefix: 'l/', MaxKeys, ContinuationToken }),
          )
          expect(page.KeyCount).toBeLessThanOrEqual(MaxKeys)
          paged.push(...(page.Contents ?? []).map(({ Key }) => Key))
          ContinuationToken = page.NextContinuationToken
        } while (ContinuationToken)
        expect([MaxKeys, paged]).toEqual([MaxKeys, inOrder])
      }
      expect(await keysOf({ Prefix: 'l/', StartAfter: 'l/b0' })).toEqual(
        inOrder.slice(inOrder.indexOf('l/b0') + 1),
      )
    })

    check('with a delimiter tell what lies behind it as one', async () => {
      expect((await keysOf({ Prefix: 'l/', Delimiter: '/' })).sort()).toEqual(
        [...inOrder.filter(name => !name.startsWith('l/b/')), 'l/b/'].sort(),
      )
      expect(await keysOf({ Prefix: 'l/b/', Delimiter: '/' })).toEqual(['l/b/1', 'l/b/2/'])
      const told: (string | undefined)[] = []
      let ContinuationToken: string | undefined
      do {
        const page = { Bucket, Prefix: 'l/', Delimiter: '/', MaxKeys: 1, ContinuationToken }
        const {
          Contents = [],
          CommonPrefixes = [],
          NextContinuationToken,
        } = await s3.send(new ListObjectsV2Command(page))
        told.push(...Contents.map(({ Key }) => Key), ...CommonPrefixes.map(({ Prefix }) => Prefix))
        ContinuationToken = NextContinuationToken
      } while (ContinuationToken)
      expect(told).toEqual(['l/a', 'l/b-', 'l/b/', 'l/b0', 'l/c', 'l/é', 'l/日', 'l/\u{1f600}'])
    })

    check('by a token that was not given are refused', async () => {
      const made = new ListObjectsV2Command({ Bucket, ContinuationToken: 'of nobody' })
      expect(await refusalOf(s3.send(made))).toBe('400 InvalidArgument')
    })

    check('of the first version go on by a marker', async () => {
      const first = await s3.send(
        new ListObjectsCommand({ Bucket, Prefix: 'l/', Delimiter: '/', MaxKeys: 3 }),
      )
      expect(first.IsTruncated).toBe(true)
      const next = { Bucket, Prefix: 'l/', Delimiter: '/', Marker: first.NextMarker }
      const rest = await s3.send(new ListObjectsCommand(next))
      const all = [first, rest].flatMap(({ Contents = [], CommonPrefixes = [] }) => [
        ...Contents.map(({ Key }) => Key),
        ...CommonPrefixes.map(({ Prefix }) => Prefix),
      ])
      expect(all.toSorted()).toEqual([...inOrder.filter(name => !name.startsWith('l/b/')), 'l/b/'].toSorted())
    })
  })

  describe('uploads by parts', () => {
    const Key = 'parts/object'
    const parts = [randomBytes(5 * MIB), randomBytes(5 * MIB), randomBytes(1_000)] as const
    const begin = async (more: object = {}) => {
      const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key, ...more }))
      return UploadId ?? ''
    }
    const send = async (UploadId: string, PartNumber: number, Body: Uint8Array) => {
      const { ETag } = await s3.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body }))
      return { PartNumber, ETag }
    }
    const complete = (UploadId: string, Parts: object[]) =>
      s3.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }))

    check('are seen when they are complete, with S3’s ETag', async () => {
      const id = await begin({ ContentType: 'video/mp4', Metadata: { a: 'b' } })
      const sent = []
      for (const [at, part] of parts.entries()) sent.push(await send(id, at + 1, part))
      expect(sent[0]?.ETag).toBe(`"${md5(parts[0])}"`)
      expect(await refusalOf(read(Key))).toBe('404 NoSuchKey')
      const listed = await s3.send(new ListPartsCommand({ Bucket, Key, UploadId: id, MaxParts: 2 }))
      expect([listed.Parts?.map(({ PartNumber }) => PartNumber), listed.IsTruncated]).toEqual([[1, 2], true])
      const { Uploads = [] } = await s3.send(new ListMultipartUploadsCommand({ Bucket }))
      expect(Uploads.map(({ UploadId }) => UploadId)).toContain(id)
      const { ETag } = await complete(id, sent)
      const sums = Buffer.concat(parts.map(part => Buffer.from(md5(part), 'hex')))
      expect(ETag).toBe(`"${md5(sums)}-3"`)
      const got = await read(Key)
      expect(got.bytes.equals(Buffer.concat(parts))).toBe(true)
      expect(got).toMatchObject({ ETag, ContentType: 'video/mp4', Metadata: { a: 'b' } })
      expect(await refusalOf(s3.send(new ListPartsCommand({ Bucket, Key, UploadId: id })))).toBe(
        '404 NoSuchUpload',
      )
    })

    check('are refused in a wrong order, with wrong ETags, or too small', async () => {
      const id = await begin()
      const [one, two] = [await send(id, 1, parts[2]), await send(id, 2, parts[2])]
      expect(await refusalOf(complete(id, [two, one]))).toBe('400 InvalidPartOrder')
      expect(await refusalOf(complete(id, [one, { PartNumber: 7, ETag: one.ETag }]))).toBe('400 InvalidPart')
      expect(await refusalOf(complete(id, [{ PartNumber: 1, ETag: `"${md5('other')}"` }]))).toBe(
        '400 InvalidPart',
      )
      expect(await refusalOf(complete(id, [one, two]))).toBe('400 EntityTooSmall')
      await s3.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId: id }))
      expect(await refusalOf(send(id, 1, parts[2]))).toBe('404 NoSuchUpload')
    })

    check('are held to what is said of the whole: its size and its checksum', async () => {
      const id = await begin({ ChecksumAlgorithm: 'CRC32', ChecksumType: 'FULL_OBJECT' })
      const sent = {
        Bucket,
        Key,
        UploadId: id,
        PartNumber: 1,
        Body: parts[2],
        ChecksumAlgorithm: 'CRC32',
      } as const
      const { ETag, ChecksumCRC32 } = await s3.send(new UploadPartCommand(sent))
      const MultipartUpload = { Parts: [{ PartNumber: 1, ETag, ChecksumCRC32 }] }
      const whole = (more: object) => {
        const asked = {
          Bucket,
          Key,
          UploadId: id,
          MultipartUpload,
          ChecksumType: 'FULL_OBJECT' as const,
          ...more,
        }
        return s3.send(new CompleteMultipartUploadCommand(asked))
      }
      expect(await refusalOf(whole({ MpuObjectSize: parts[2].length + 1 }))).toBe('400 InvalidRequest')
      expect(await refusalOf(whole({ ChecksumCRC32: 'AAAAAA==' }))).toBe('400 BadDigest')
      // Of one part the checksum of the whole is that of the part.
      expect((await whole({ ChecksumCRC32, MpuObjectSize: parts[2].length })).ChecksumCRC32).toBe(
        ChecksumCRC32,
      )
    })

    check('that were broken off go on with the parts that are there', async () => {
      const id = await begin()
      await send(id, 1, parts[0])
      await send(id, 3, parts[2])
      // Another program, later, which knows the file and the upload.
      const { UploadId } =
        (await s3.send(new ListMultipartUploadsCommand({ Bucket, Prefix: Key }))).Uploads?.at(-1) ?? {}
      expect(UploadId).toBe(id)
      const { Parts = [] } = await s3.send(new ListPartsCommand({ Bucket, Key, UploadId: id }))
      expect(Parts.map(({ PartNumber, ETag }) => [PartNumber, ETag])).toEqual([
        [1, `"${md5(parts[0])}"`],
        [3, `"${md5(parts[2])}"`],
      ])
      const there = Parts.map(({ PartNumber, ETag }) => ({ PartNumber, ETag }))
      const all = [...there, await send(id, 2, parts[1])]
      await complete(
        id,
        all.toSorted((a, b) => (a.PartNumber ?? 0) - (b.PartNumber ?? 0)),
      )
      expect((await read(Key)).bytes.equals(Buffer.concat(parts))).toBe(true)
    })

    check('take parts of other objects', async () => {
      await put('parts/source', parts[0])
      const id = await begin()
      const CopySource = `${Bucket}/parts/source`
      const whole = { Bucket, Key, UploadId: id, PartNumber: 1, CopySource }
      const { CopyPartResult: first } = await s3.send(new UploadPartCopyCommand(whole))
      const range = { ...whole, PartNumber: 2, CopySourceRange: 'bytes=10-19' }
      const { CopyPartResult: second } = await s3.send(new UploadPartCopyCommand(range))
      await complete(id, [
        { PartNumber: 1, ETag: first?.ETag },
        { PartNumber: 2, ETag: second?.ETag },
      ])
      expect((await read(Key)).bytes.equals(Buffer.concat([parts[0], parts[0].subarray(10, 20)]))).toBe(true)
    })

    check('by the library of the SDK, from a stream, with its checksums', async () => {
      const Body = new Blob(parts.map(part => new Uint8Array(part))).stream()
      const upload = new Upload({ client: s3, params: { Bucket, Key: 'parts/stream', Body } })
      await upload.done()
      const got = await read('parts/stream', { ChecksumMode: 'ENABLED' })
      expect(got.bytes.equals(Buffer.concat(parts))).toBe(true)
      expect(got.ETag).toMatch(/-3"$/)
    })
  })

  describe('signatures', () => {
    check('a presigned address works once and again, for what it was made for, until its time', async () => {
      const url = await getSignedUrl(s3, new PutObjectCommand({ Bucket, Key: 'presigned' }), {
        expiresIn: 60,
      })
      expect((await fetch(url, { method: 'PUT', body: 'by an address' })).status).toBe(200)
      const get = await getSignedUrl(s3, new GetObjectCommand({ Bucket, Key: 'presigned' }), {
        expiresIn: 60,
      })
      expect(await (await fetch(get)).text()).toBe('by an address')
      expect((await fetch(get, { method: 'DELETE' })).status).toBe(403)
      expect((await fetch(get.replace('presigned', 'parts'))).status).toBe(403)
      const signingDate = new Date(Date.now() - 120_000)
      const late = await getSignedUrl(s3, new GetObjectCommand({ Bucket, Key: 'presigned' }), {
        expiresIn: 60,
        signingDate,
      })
      const refused = await fetch(late)
      expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('AccessDenied')])
    })

    check('a request whose clock is more than fifteen minutes off is refused', async () => {
      for (const minutes of [-16, 16]) {
        // After the first answer the SDK sets its clock by it.
        const off = clientOf(target(), { systemClockOffset: minutes * 60_000 })
        expect(await refusalOf(off.send(new ListObjectsV2Command({ Bucket })))).toBe(
          '403 RequestTimeTooSkewed',
        )
      }
    })

    check('another secret, another key, and none at all are refused', async () => {
      const wrong = clientOf({ ...target(), secretAccessKey: 'x'.repeat(40) })
      expect(await refusalOf(wrong.send(new ListObjectsV2Command({ Bucket })))).toBe(
        '403 SignatureDoesNotMatch',
      )
      const nobody = clientOf({ ...target(), accessKeyId: 'BKIAAAAAAAAAAAAAAAAA' })
      expect(await refusalOf(nobody.send(new ListObjectsV2Command({ Bucket })))).toBe(
        '403 InvalidAccessKeyId',
      )
      expect((await fetch(`${target().endpoint}/${Bucket}/range`)).status).toBe(403)
    })
  })
}
