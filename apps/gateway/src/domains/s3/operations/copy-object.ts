import type { FileHandle } from 'node:fs/promises'
import { createChecksum } from '../protocol/checksums.ts'
import { algorithmWanted } from '../protocol/receive.ts'
import { headerOf, type Operation, quoted } from '../protocol/s3-request.ts'
import { writeGathered } from '../protocol/write-gathered.ts'
import { writeXml } from '../protocol/xml.ts'
import { S3Error } from '../s3-error.ts'
import { readObjectKey } from '../store/object-key.ts'
import { putFolder, putObject, type Written } from '../store/objects.ts'
import { withCopySource } from './copy-source.ts'
import { putBytesMax } from './objects.ts'
import { checksumElement, readPutCondition, readSaid } from './said-headers.ts'

const READ_BYTES = 1024 * 1024

/** Copies an object within its volume, with its metadata or with other. */
export const copyObject: Operation = async request => {
  const key = readObjectKey(request.key)
  const said = readSaid(request)
  const directive = headerOf(request, 'x-amz-metadata-directive') ?? 'COPY'
  if (directive !== 'COPY' && directive !== 'REPLACE') {
    throw new S3Error('InvalidArgument', { message: 'x-amz-metadata-directive must be COPY or REPLACE.' })
  }
  const condition = readPutCondition(request)
  const wanted = algorithmWanted(request)
  const seen = await withCopySource(request, async source => {
    if (source.key.key === key.key && directive === 'COPY') {
      throw new S3Error('InvalidRequest', {
        message: 'A copy of an object to itself must change its metadata.',
      })
    }
    if (source.bytes > putBytesMax(request)) throw new S3Error('EntityTooLarge')
    const kept =
      directive === 'COPY'
        ? { headers: source.facts?.headers ?? {}, metadata: source.facts?.metadata ?? {} }
        : said
    const { file } = source
    if (key.isFolder !== (file === null)) {
      const message =
        'A name that ends with a slash is a folder of the volume: only another one can be copied to it.'
      throw new S3Error('InvalidObjectName', { message })
    }
    if (!file) return putFolder(request, key, { ...kept, etag: source.etag, checksum: null })
    const algorithm =
      wanted ?? (source.facts?.checksum?.isComposite === false ? source.facts.checksum.algorithm : null)
    return putObject(request, key, condition, async (to): Promise<Written> => {
      const sum = algorithm && createChecksum(algorithm)
      const bytes = bytesOf(file, { first: 0, last: source.bytes - 1 })
      const { md5 } = await writeGathered(to, sum ? tapped(bytes, sum) : bytes)
      const checksum = sum && { algorithm, value: await sum.digest(), isComposite: false }
      return { ...kept, etag: md5, checksum }
    })
  })
  const { checksum = null } = seen.facts ?? {}
  return {
    xml: writeXml('CopyObjectResult', {
      ETag: quoted(seen.etag),
      LastModified: seen.modified.toISOString(),
      ...(checksum && { [checksumElement(checksum.algorithm)]: checksum.value }),
    }),
  }
}

/** A range of a file, and no more: a machine may write on without end. */
export async function* bytesOf(
  file: FileHandle | null,
  { first, last }: { first: number; last: number },
): AsyncGenerator<Uint8Array> {
  if (!file || last < first) return
  yield* file.createReadStream({ start: first, end: last, highWaterMark: READ_BYTES, autoClose: false })
}

/** Passes bytes on, and adds them to a checksum. */
export async function* tapped(
  bytes: AsyncIterable<Uint8Array>,
  sum: { update(bytes: Uint8Array): void },
): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) {
    sum.update(piece)
    yield piece
  }
}
