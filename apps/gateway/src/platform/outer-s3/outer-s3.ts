import { pipeline, Readable, Transform } from 'node:stream'
import type { MultipartUpload } from '@aws-sdk/client-s3'

/** A server that speaks S3, and the operator's key to it. */
export interface OuterS3Place {
  /** `http://` or `https://`, a host and perhaps a port. */
  readonly endpoint: string
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

export interface OuterObject {
  key: string
  bytes: number
  /** By the server's clock, milliseconds; 0 where it does not say. */
  modifiedMs: number
}

/** The one error of an outer server. `message` is for operators; no secret is in it. */
export class OuterS3Error extends Error {
  readonly code: 'not_found' | 'exists' | 'full' | 'unavailable'
  constructor(code: OuterS3Error['code'], message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'OuterS3Error'
    this.code = code
  }
}

const CONNECT_MS = 10_000
/** Nothing comes or goes on a connection for so long. */
const SILENT_MS = 60_000
const TRIES = 3
/** What a page of a list holds, and what one call deletes. */
const PAGE_KEYS = 1_000
/** Calls for one upload each that are under way at once. */
const CALLS_AT_ONCE = 8
/** Of large objects, what is sent at once, where a tenth of a thousandth of all is not more. */
const PART_BYTES_MIN = 8 * 1024 * 1024
const PARTS_MAX = 10_000
/** What the gateway takes of an answer at once: a small object, or a document with a thousand of anything. */
const READ_BYTES_MAX = 16 * 1024 ** 2
/** What servers answer that keep no more. */
const FULL = new Set([
  'InsufficientStorage',
  'QuotaExceeded',
  'XMinioStorageFull',
  'XAdminBucketQuotaExceeded',
])

/**
 * Calls to a server that speaks S3. The SDK is loaded with the first of them: who has no such server pays nothing for it.
 * Every call fails with OuterS3Error; what is given up fails with `unavailable`.
 */
export function createOuterS3(place: OuterS3Place) {
  const load = async () => {
    const sdk = await import('@aws-sdk/client-s3')
    const client = new sdk.S3Client({
      endpoint: place.endpoint,
      region: place.region,
      forcePathStyle: true,
      credentials: { accessKeyId: place.accessKeyId, secretAccessKey: place.secretAccessKey },
      maxAttempts: TRIES,
      requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: SILENT_MS },
    })
    // Documents are read whole by the SDK, however long they are. Objects are read here, piece by piece.
    client.middlewareStack.add(
      (next, { commandName }) =>
        async args => {
          const result = await next(args)
          const response = result.response as { statusCode: number; body?: unknown }
          const isObject = commandName === 'GetObjectCommand' && response.statusCode < 300
          if (!isObject && response.body instanceof Readable) response.body = bounded(response.body)
          return result
        },
      { step: 'deserialize', priority: 'low', name: 'boundAnswers' },
    )
    return { sdk, client }
  }
  let opened: ReturnType<typeof load> | undefined
  const open = () => {
    opened ??= load()
    return opened
  }

  async function call<T>(
    doing: string,
    work: (tools: Awaited<ReturnType<typeof open>>) => Promise<T>,
  ): Promise<T> {
    try {
      return await work(await open())
    } catch (error) {
      throw toOuterError(doing, error)
    }
  }

  const list = (bucket: string, prefix: string, signal?: AbortSignal) =>
    pages(async token => {
      const page = await call('listing objects', ({ sdk, client }) =>
        client.send(
          new sdk.ListObjectsV2Command({
            Bucket: bucket,
            Prefix: prefix,
            MaxKeys: PAGE_KEYS,
            ContinuationToken: token,
          }),
          until(signal),
        ),
      )
      const items = (page.Contents ?? []).map(
        ({ Key = '', Size = 0, LastModified }): OuterObject => ({
          key: Key,
          bytes: Size,
          modifiedMs: LastModified?.getTime() ?? 0,
        }),
      )
      return { items, next: page.IsTruncated ? page.NextContinuationToken : undefined }
    })

  const listUploads = (
    bucket: string,
    from: { Prefix: string; KeyMarker?: string; UploadIdMarker?: string },
  ) =>
    call('listing uploads', ({ sdk, client }) =>
      client.send(new sdk.ListMultipartUploadsCommand({ Bucket: bucket, ...from })),
    )

  /** Uploads by parts that are neither completed nor given up, a page at a time. */
  async function* openUploads(bucket: string, prefix: string): AsyncGenerator<OpenUpload> {
    const seen = new Set<string>()
    let page = await listUploads(bucket, { Prefix: prefix })
    for (;;) {
      const uploads = (page.Uploads ?? []).map(toOpenUpload).filter(({ id }) => !seen.has(id))
      for (const upload of uploads) {
        seen.add(upload.id)
        yield upload
      }
      if (!page.IsTruncated) return
      // A server that says nothing new would be asked for ever.
      const last = uploads.at(-1)
      if (!last) throw new OuterS3Error('unavailable', 'the server names the same uploads for ever')
      const KeyMarker = page.NextKeyMarker || last.key
      const from = { Prefix: prefix, KeyMarker, UploadIdMarker: page.NextUploadIdMarker || last.id }
      try {
        page = await listUploads(bucket, from)
        continue
      } catch (error) {
        // versitygw 1.8 does not know its own markers: there the next key follows, and the rest of this one is asked for.
        if ((error as OuterS3Error & { cause?: Error }).cause?.name !== 'InvalidArgument') throw error
      }
      const ofKey = await listUploads(bucket, { Prefix: KeyMarker })
      const rest = (ofKey.Uploads ?? []).map(toOpenUpload).filter(({ key }) => key === KeyMarker)
      for (const upload of rest) {
        if (!seen.has(upload.id)) yield upload
        seen.add(upload.id)
      }
      if (ofKey.IsTruncated && rest.length === ofKey.Uploads?.length)
        throw new OuterS3Error('unavailable', 'one key has more open uploads than the server lists')
      page = await listUploads(bucket, { Prefix: prefix, KeyMarker })
    }
  }

  return {
    /** All objects whose keys begin so, by the names of their keys. */
    list,

    /** What an object holds, of a small one; null where it is not there. One of more than 16 MiB fails with `unavailable`. */
    async read(bucket: string, key: string, signal?: AbortSignal): Promise<Buffer | null> {
      try {
        return await call('reading an object', async ({ sdk, client }) => {
          const command = new sdk.GetObjectCommand({ Bucket: bucket, Key: key })
          const { Body } = await client.send(command, until(signal))
          return Body instanceof Readable ? await wholeOf(Body) : Buffer.alloc(0)
        })
      } catch (error) {
        if (error instanceof OuterS3Error && error.code === 'not_found') return null
        throw error
      }
    },

    /** The bytes of an object from one on, made no faster than they are read. */
    async *stream(
      bucket: string,
      key: string,
      from: number,
      signal: AbortSignal,
    ): AsyncGenerator<Uint8Array> {
      const body = await call('reading an object', async ({ sdk, client }) => {
        const Range = from === 0 ? undefined : `bytes=${from}-`
        const command = new sdk.GetObjectCommand({ Bucket: bucket, Key: key, Range })
        return (await client.send(command, until(signal))).Body
      })
      try {
        for await (const piece of (body ?? []) as AsyncIterable<Uint8Array>) yield piece
      } catch (error) {
        throw toOuterError('reading an object', error)
      }
    },

    /** How many bytes an object has; null where it is not there. */
    async size(bucket: string, key: string, signal?: AbortSignal): Promise<number | null> {
      try {
        return await call('asking for an object', async ({ sdk, client }) => {
          const command = new sdk.HeadObjectCommand({ Bucket: bucket, Key: key })
          return (await client.send(command, until(signal))).ContentLength ?? 0
        })
      } catch (error) {
        if (error instanceof OuterS3Error && error.code === 'not_found') return null
        throw error
      }
    },

    /**
     * Writes a small object.
     * @param options.ifNew Only where nothing has its key: else it fails with `exists`.
     */
    write: (
      bucket: string,
      key: string,
      bytes: Uint8Array | string,
      options: { ifNew?: boolean; signal?: AbortSignal } = {},
    ): Promise<unknown> =>
      call('writing an object', ({ sdk, client }) =>
        client.send(
          new sdk.PutObjectCommand({
            Bucket: bucket,
            Key: key,
            Body: bytes,
            ...(options.ifNew && { IfNoneMatch: '*' }),
          }),
          until(options.signal),
        ),
      ),

    /**
     * Writes an object of any size, in parts where it is large. It is there whole or not at all; what `bytes` throw ends it,
     * and is thrown.
     */
    async upload(
      bucket: string,
      key: string,
      bytes: AsyncIterable<Uint8Array>,
      options: { bytes: number; signal: AbortSignal },
    ): Promise<void> {
      const { client } = await open()
      const { Upload } = await import('@aws-sdk/lib-storage')
      const body = Readable.from(bytes, { objectMode: false })
      let failed: { error: unknown } | null = null
      body.once('error', error => {
        failed ??= { error }
      })
      const upload = new Upload({
        client,
        params: { Bucket: bucket, Key: key, Body: body },
        partSize: Math.max(PART_BYTES_MIN, Math.ceil(options.bytes / PARTS_MAX)),
        queueSize: 1,
      })
      const giveUp = () => void upload.abort()
      options.signal.addEventListener('abort', giveUp, { once: true })
      try {
        await upload.done()
      } catch (error) {
        body.destroy()
        throw failed ? (failed as { error: unknown }).error : toOuterError('writing an object', error)
      } finally {
        options.signal.removeEventListener('abort', giveUp)
      }
    },

    /** Has the server copy an object to another bucket, with all that it says of it. */
    copy: (from: string, to: string, key: string, signal: AbortSignal): Promise<unknown> =>
      call('copying an object', ({ sdk, client }) =>
        client.send(
          new sdk.CopyObjectCommand({
            Bucket: to,
            Key: key,
            CopySource: `${from}/${key.split('/').map(encodeURIComponent).join('/')}`,
          }),
          until(signal),
        ),
      ),

    /** Removes objects; what is not there is none the less gone. */
    async remove(bucket: string, keys: readonly string[]): Promise<void> {
      for (let at = 0; at < keys.length; at += PAGE_KEYS) {
        const Objects = keys.slice(at, at + PAGE_KEYS).map(Key => ({ Key }))
        await call('removing objects', async ({ sdk, client }) => {
          const command = new sdk.DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects, Quiet: true } })
          const [first] = (await client.send(command)).Errors ?? []
          if (first) throw new OuterS3Error('unavailable', `${first.Code}: ${first.Message}`)
        })
      }
    },

    /**
     * Gives up uploads by parts below a prefix that were begun before a moment.
     * @param signal Ends it between two of them; what is left is given up by the next call.
     */
    async abortUploads(
      bucket: string,
      prefix: string,
      beforeMs: number,
      signal?: AbortSignal,
    ): Promise<void> {
      // Pages go on behind an upload that must not be gone by then: so all of them are looked at first.
      const old: OpenUpload[] = []
      let hidden: unknown
      try {
        for await (const upload of openUploads(bucket, prefix)) {
          if (signal?.aborted) break
          if (upload.begunMs < beforeMs) old.push(upload)
        }
      } catch (error) {
        // What is given up of what was found makes room in a list for the others.
        hidden = error
      }
      await eachOf(old, signal, async ({ key, id }) => {
        await call('giving up an upload', ({ sdk, client }) =>
          client.send(new sdk.AbortMultipartUploadCommand({ Bucket: bucket, Key: key, UploadId: id })),
        ).catch(ifGone)
      })
      if (hidden !== undefined) throw hidden
    },

    /**
     * What the parts of open uploads take.
     * @param signal Gives it up.
     * @returns null where it was given up.
     */
    async openBytes(bucket: string, signal: AbortSignal): Promise<number | null> {
      const uploads: OpenUpload[] = []
      for await (const upload of openUploads(bucket, '')) {
        if (signal.aborted) return null
        uploads.push(upload)
      }
      let bytes = 0
      await eachOf(uploads, signal, ({ key, id }) =>
        call('counting an open upload', async ({ sdk, client }) => {
          const parts = sdk.paginateListParts({ client }, { Bucket: bucket, Key: key, UploadId: id })
          for await (const { Parts = [] } of parts) for (const { Size = 0 } of Parts) bytes += Size
        }).catch(ifGone),
      )
      return signal.aborted ? null : bytes
    },

    /** Makes a bucket. There already: returns. */
    makeBucket: (bucket: string): Promise<void> =>
      call('making a bucket', async ({ sdk, client }) => {
        await client.send(new sdk.CreateBucketCommand({ Bucket: bucket })).catch(error => {
          if ((error as Error).name !== 'BucketAlreadyOwnedByYou') throw error
        })
      }),

    /** Removes a bucket that holds nothing. Not there: returns. */
    removeBucket: (bucket: string): Promise<void> =>
      call('removing a bucket', async ({ sdk, client }) => {
        await client.send(new sdk.DeleteBucketCommand({ Bucket: bucket })).catch(error => {
          if ((error as Error).name !== 'NoSuchBucket') throw error
        })
      }),

    /** Whether there is a bucket that the key reaches. */
    hasBucket: (bucket: string): Promise<boolean> =>
      call('asking for a bucket', ({ sdk, client }) =>
        client.send(new sdk.HeadBucketCommand({ Bucket: bucket })).then(
          () => true,
          error => {
            if ((error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode === 404)
              return false
            throw error
          },
        ),
      ),

    /** Names of the key's buckets. */
    async buckets(): Promise<string[]> {
      const names: string[] = []
      const named = pages(async token => {
        const page = await call('listing buckets', ({ sdk, client }) =>
          client.send(new sdk.ListBucketsCommand({ MaxBuckets: PAGE_KEYS, ContinuationToken: token })),
        )
        return { items: (page.Buckets ?? []).flatMap(({ Name }) => Name ?? []), next: page.ContinuationToken }
      })
      for await (const name of named) names.push(name)
      return names
    },
  }
}

export type OuterS3 = ReturnType<typeof createOuterS3>

interface OpenUpload {
  key: string
  id: string
  /** By the server's clock, milliseconds; where it does not say: never. */
  begunMs: number
}

const toOpenUpload = ({ Key = '', UploadId = '', Initiated }: MultipartUpload): OpenUpload => ({
  key: Key,
  id: UploadId,
  begunMs: Initiated?.getTime() ?? Number.MAX_SAFE_INTEGER,
})

/** Whoever began an upload may end it at any moment. */
function ifGone(error: unknown): void {
  if (!(error instanceof OuterS3Error && error.code === 'not_found')) throw error
}

/** Does something with each of them, some at once. @param signal Ends it between two. */
async function eachOf<T>(
  all: readonly T[],
  signal: AbortSignal | undefined,
  work: (one: T) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < all.length && !signal?.aborted; at += CALLS_AT_ONCE)
    await Promise.all(all.slice(at, at + CALLS_AT_ONCE).map(work))
}

const until = (signal: AbortSignal | undefined) => (signal ? { abortSignal: signal } : {})

async function* pages<T>(
  page: (token: string | undefined) => Promise<{ items: T[]; next: string | undefined }>,
): AsyncGenerator<T> {
  let token: string | undefined
  do {
    const { items, next } = await page(token)
    yield* items
    if (next !== undefined && next === token)
      throw new OuterS3Error('unavailable', 'the server names the same page for ever')
    token = next
  } while (token !== undefined)
}

/** All of a body that is not too large. */
async function wholeOf(body: Readable): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of bounded(body) as AsyncIterable<Uint8Array>) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** The same body, which ends with an error where it is too large. */
function bounded(body: Readable): Readable {
  let bytes = 0
  const limit = new Transform({
    transform(piece: Uint8Array, _, done) {
      bytes += piece.length
      if (bytes > READ_BYTES_MAX)
        done(new OuterS3Error('unavailable', 'the server answers with more than is read at once'))
      else done(null, piece)
    },
  })
  pipeline(body, limit, () => undefined)
  return limit
}

function toOuterError(doing: string, error: unknown): OuterS3Error {
  if (error instanceof OuterS3Error) return error
  const { name, message, $metadata } = error as Error & { $metadata?: { httpStatusCode?: number } }
  const status = $metadata?.httpStatusCode
  const text = `${doing}: ${name}: ${message}`
  if (status === 404) return new OuterS3Error('not_found', text, { cause: error })
  if (status === 412 || status === 409) return new OuterS3Error('exists', text, { cause: error })
  if (status === 507 || FULL.has(name)) return new OuterS3Error('full', text, { cause: error })
  return new OuterS3Error('unavailable', text, { cause: error })
}
