import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type * as z from 'zod'
import { type Checksum, checksumHeader, compositeOf, createChecksum } from '../protocol/checksums.ts'
import { headerOf, type S3Request } from '../protocol/s3-request.ts'
import type { completeXml } from '../protocol/xml.ts'
import { S3Error } from '../s3-error.ts'
import { S3_LIMITS } from '../s3-limits.ts'
import type { Folder } from '../store/beneath.ts'
import { readObjectKey } from '../store/object-key.ts'
import { type PutCondition, putObject, type SeenObject, type Written } from '../store/objects.ts'
import { type AboutPart, readPart, type Upload } from '../store/uploads.ts'
import { checksumElement } from './said-headers.ts'

const COPY_BYTES = 4 * 1024 * 1024

/** A part as the client names it. */
interface Asked {
  number: number
  etag: string
  said: z.infer<typeof completeXml>['CompleteMultipartUpload']['Part'][number]
}

interface Assembly {
  upload: Upload
  folder: Folder
  asked: readonly Asked[]
  condition: PutCondition
}

/**
 * Puts an object together of its parts. The parts stay: what fails, or is killed, can be asked for again.
 * @throws S3Error `InvalidPart`, `EntityTooSmall`, `EntityTooLarge`, `BadDigest`, and those of a put.
 */
export async function assemble(
  request: S3Request,
  { upload, folder, asked, condition }: Assembly,
): Promise<SeenObject> {
  const parts = await readParts(folder, asked, upload)
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0)
  if (bytes > Math.min(S3_LIMITS.objectBytesMax, request.known.bytesMax)) throw new S3Error('EntityTooLarge')
  const said = headerOf(request, 'x-amz-mp-object-size')
  if (said !== null && said !== String(bytes))
    throw new S3Error('InvalidRequest', { message: 'The object has another size.' })
  const { key, headers, metadata, checksum } = upload
  const stopTelling = tellThatWeAreThere(request)
  try {
    return await putObject(request, readObjectKey(key), condition, async (to): Promise<Written> => {
      const whole = checksum && !checksum.isComposite ? createChecksum(checksum.algorithm) : null
      await join(folder, parts, to, whole)
      const value = !checksum
        ? null
        : whole
          ? await whole.digest()
          : await compositeOf(
              checksum.algorithm,
              parts.map(part => part.checksums[checksum.algorithm] ?? ''),
            )
      const named = checksum && headerOf(request, checksumHeader(checksum.algorithm))
      if (named && named !== value && `${named}-${parts.length}` !== value) throw new S3Error('BadDigest')
      return {
        etag: etagOf(parts),
        headers,
        metadata,
        checksum: checksum && { ...checksum, value: value ?? '' },
      }
    })
  } finally {
    stopTelling()
  }
}

async function readParts(
  folder: Folder,
  asked: readonly Asked[],
  { checksum }: Upload,
): Promise<AboutPart[]> {
  const parts: AboutPart[] = []
  for (const { number, etag, said } of asked) {
    const part = await readPart(folder, number)
    const named = checksum && said[checksumElement(checksum.algorithm)]
    if (!part || part.etag !== etag || (named && named !== part.checksums[checksum.algorithm])) {
      throw new S3Error('InvalidPart', { more: { PartNumber: String(number), ETag: etag } })
    }
    parts.push(part)
  }
  const small = parts.slice(0, -1).find(part => part.bytes < S3_LIMITS.partBytesMin)
  if (small) {
    const more = { PartNumber: String(small.number), ProposedSize: String(small.bytes) }
    throw new S3Error('EntityTooSmall', { more })
  }
  return parts
}

/** The MD5 of the parts' MD5s, and how many there are. */
function etagOf(parts: readonly AboutPart[]): string {
  const hash = createHash('md5')
  for (const { etag } of parts) hash.update(Buffer.from(etag, 'hex'))
  return `${hash.digest('hex')}-${parts.length}`
}

async function join(
  folder: Folder,
  parts: readonly AboutPart[],
  to: FileHandle,
  sum: Checksum | null,
): Promise<void> {
  const buffer = Buffer.allocUnsafeSlow(COPY_BYTES)
  for (const part of parts) {
    const found = await folder.read(part.file)
    // A machine may have changed what is here.
    if (!found || Number(found.stat.size) !== part.bytes) {
      await found?.file.close()
      throw new S3Error('InvalidPart', { more: { PartNumber: String(part.number) } })
    }
    try {
      for (let at = 0; at < part.bytes; ) {
        const { bytesRead } = await found.file.read(buffer, 0, buffer.length, at)
        if (bytesRead === 0) throw new S3Error('InvalidPart', { more: { PartNumber: String(part.number) } })
        sum?.update(buffer.subarray(0, bytesRead))
        for (let written = 0; written < bytesRead; ) {
          written += (await to.write(buffer, written, bytesRead - written)).bytesWritten
        }
        at += bytesRead
      }
    } finally {
      await found.file.close()
    }
  }
}

/**
 * Large objects take a while, and clients give up on who is silent: as S3 does it, the answer begins with 200 and spaces.
 * What goes wrong then is an error in the document.
 * @returns Stops it.
 */
function tellThatWeAreThere({ response }: S3Request): () => void {
  const timer = setInterval(() => {
    if (response.headersSent) return void response.write(' ')
    response.writeHead(200, { 'content-type': 'application/xml' })
    response.write('<?xml version="1.0" encoding="UTF-8"?>\n')
  }, S3_LIMITS.keepAliveMs)
  return () => clearInterval(timer)
}
