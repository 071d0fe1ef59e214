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
/** Of large objects, what is sent at once, where a tenth of a thousandth of all is not more. */
const PART_BYTES_MIN = 8 * 1024 * 1024
const PARTS_MAX = 10_000
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
    return {
      sdk,
      client: new sdk.S3Client({
        endpoint: place.endpoint,
        region: place.region,
        forcePathStyle: true,
        credentials: { accessKeyId: place.accessKeyId, secretAccessKey: place.secretAccessKey },
        maxAttempts: TRIES,
        requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: SILENT_MS },
      }),
    }
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

  return {
    /** All objects whose keys begin so, by the names of their keys. */
    list,

    /** What an object holds, of a small one; null where it is not there. */
    async read(bucket: string, key: string, signal?: AbortSignal): Promise<Buffer | null> {
      try {
        return await call('reading an object', async ({ sdk, client }) => {
          const command = new sdk.GetObjectCommand({ Bucket: bucket, Key: key })
          const { Body } = await client.send(command, until(signal))
          return Buffer.from((await Body?.transformToByteArray()) ?? [])
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
      const [{ Upload }, { Readable }] = await Promise.all([
        import('@aws-sdk/lib-storage'),
        import('node:stream'),
      ])
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

    /** Gives up uploads by parts below a prefix that were begun before a moment. */
    async abortUploads(bucket: string, prefix: string, beforeMs: number): Promise<void> {
      await call('giving up uploads', async ({ sdk, client }) => {
        const command = new sdk.ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix })
        for (const { Key, UploadId, Initiated } of (await client.send(command)).Uploads ?? []) {
          if ((Initiated?.getTime() ?? Number.MAX_SAFE_INTEGER) >= beforeMs) continue
          await client.send(new sdk.AbortMultipartUploadCommand({ Bucket: bucket, Key, UploadId }))
        }
      })
    },

    /** What the parts of open uploads take. */
    openBytes: (bucket: string): Promise<number> =>
      call('counting open uploads', async ({ sdk, client }) => {
        let bytes = 0
        const uploads = sdk.paginateListParts
        const { Uploads = [] } = await client.send(new sdk.ListMultipartUploadsCommand({ Bucket: bucket }))
        for (const { Key, UploadId } of Uploads) {
          for await (const { Parts = [] } of uploads({ client }, { Bucket: bucket, Key, UploadId })) {
            for (const { Size = 0 } of Parts) bytes += Size
          }
        }
        return bytes
      }),

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

    /** Names of the key's buckets. */
    buckets: (): Promise<string[]> =>
      call('listing buckets', async ({ sdk, client }) => {
        const { Buckets = [] } = await client.send(new sdk.ListBucketsCommand({}))
        return Buckets.flatMap(({ Name }) => Name ?? [])
      }),
  }
}

export type OuterS3 = ReturnType<typeof createOuterS3>

const until = (signal: AbortSignal | undefined) => (signal ? { abortSignal: signal } : {})

async function* pages<T>(
  page: (token: string | undefined) => Promise<{ items: T[]; next: string | undefined }>,
): AsyncGenerator<T> {
  let token: string | undefined
  do {
    const { items, next } = await page(token)
    yield* items
    token = next
  } while (token !== undefined)
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
