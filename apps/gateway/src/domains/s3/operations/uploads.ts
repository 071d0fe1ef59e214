import { type ChecksumAlgorithm, checksumHeader, createChecksum } from '../protocol/checksums.ts'
import { algorithmWanted, readLength, receiveInto, receiveText } from '../protocol/receive.ts'
import { headerOf, type Operation, quoted, type S3Request } from '../protocol/s3-request.ts'
import { writeGathered } from '../protocol/write-gathered.ts'
import { completeXml, readXml, writeXml } from '../protocol/xml.ts'
import { S3Error } from '../s3-error.ts'
import { S3_LIMITS } from '../s3-limits.ts'
import { readObjectKey } from '../store/object-key.ts'
import {
  type AboutPart,
  createUpload,
  inUpload,
  listParts,
  listUploads,
  putPart,
  removeUpload,
} from '../store/uploads.ts'
import { assemble } from './assemble.ts'
import { bytesOf, tapped } from './copy-object.ts'
import { withCopySource } from './copy-source.ts'
import { encodingOf, numberOf } from './list-objects.ts'
import { putBytesMax } from './objects.ts'
import { checksumElement, readPutCondition, readSaid } from './said-headers.ts'

const uploadOf = ({ key, query }: S3Request) => ({ id: query.get('uploadId') ?? '', key })

/** The checksum that an upload is to have. CRC64NVME is of the whole object always, SHA of the parts' checksums. */
function checksumOf(request: S3Request): { algorithm: ChecksumAlgorithm; isComposite: boolean } | null {
  const algorithm = algorithmWanted(request)
  const type = headerOf(request, 'x-amz-checksum-type')
  if (algorithm === null) {
    if (type !== null) throw new S3Error('InvalidRequest', { message: 'A checksum type needs an algorithm.' })
    return null
  }
  const isComposite = type === null ? algorithm !== 'crc64nvme' : type === 'COMPOSITE'
  const isPossible = isComposite ? algorithm !== 'crc64nvme' : algorithm.startsWith('crc')
  if (!isPossible || (type !== null && type !== 'COMPOSITE' && type !== 'FULL_OBJECT')) {
    throw new S3Error('InvalidRequest', { message: 'The algorithm does not go with that type of checksum.' })
  }
  return { algorithm, isComposite }
}

export const createMultipart: Operation = async request => {
  const { key } = readObjectKey(request.key)
  if (key.endsWith('/')) throw new S3Error('InvalidObjectName')
  const checksum = checksumOf(request)
  const about = { key, ...readSaid(request), checksum, initiated: new Date().toISOString() }
  const id = await createUpload(request.volume, about)
  return {
    headers: checksum
      ? {
          'x-amz-checksum-algorithm': checksum.algorithm.toUpperCase(),
          'x-amz-checksum-type': checksum.isComposite ? 'COMPOSITE' : 'FULL_OBJECT',
        }
      : {},
    xml: writeXml('InitiateMultipartUploadResult', { Bucket: request.known.bucket, Key: key, UploadId: id }),
  }
}

function partNumberOf({ query }: S3Request): number {
  const text = query.get('partNumber') ?? ''
  const number = Number(text)
  if (!/^\d{1,5}$/.test(text) || number < 1 || number > S3_LIMITS.partsMax) {
    throw new S3Error('InvalidArgument', {
      message: `Part number must be an integer between 1 and ${S3_LIMITS.partsMax}.`,
    })
  }
  return number
}

export const uploadPart: Operation = async request => {
  if (headerOf(request, 'x-amz-copy-source') !== null) return copyPart(request)
  const number = partNumberOf(request)
  const bytesMax = putBytesMax(request)
  const length = readLength(request)
  if (length > bytesMax) throw new S3Error('EntityTooLarge')
  const part = await keepPart(request, { number, bytes: length }, async (file, upload) => {
    const wanted = upload.checksum ? [upload.checksum.algorithm] : []
    const { md5, bytes, checksums } = await receiveInto(request, file, { bytesMax, wanted })
    return { etag: md5, bytes, checksums }
  })
  const headers: Record<string, string> = { etag: quoted(part.etag) }
  for (const [name, value] of checksumsOf(part)) headers[checksumHeader(name)] = value
  return { headers }
}

/** Keeps a part where open uploads have room for it. @throws S3Error `InsufficientStorage`, and those of `putPart`. */
function keepPart(
  request: S3Request,
  { number, bytes }: { number: number; bytes: number },
  fill: Parameters<typeof putPart>[3],
): Promise<AboutPart> {
  const { volume, known, uploadRoom } = request
  const asked = { volume, bucket: known.bucket, bytes, bytesMax: known.bytesMax }
  return uploadRoom.within(asked, () => putPart(volume, uploadOf(request), number, fill))
}

const checksumsOf = (part: AboutPart) => Object.entries(part.checksums) as [ChecksumAlgorithm, string][]

/** Makes a part of what another object holds, or of a range of it. */
async function copyPart(request: S3Request) {
  const number = partNumberOf(request)
  const part = await withCopySource(request, async source => {
    const range = readCopyRange(headerOf(request, 'x-amz-copy-source-range'), source.bytes)
    const length = range.last - range.first + 1
    if (length > putBytesMax(request)) throw new S3Error('EntityTooLarge')
    return keepPart(request, { number, bytes: length }, async (file, upload) => {
      const sum = upload.checksum && createChecksum(upload.checksum.algorithm)
      const bytes = bytesOf(source.file, range)
      const written = await writeGathered(file, sum ? tapped(bytes, sum) : bytes)
      const checksums = sum && upload.checksum ? { [upload.checksum.algorithm]: await sum.digest() } : {}
      return { etag: written.md5, bytes: written.bytes, checksums }
    })
  })
  const sums = checksumsOf(part).map(([name, value]) => [checksumElement(name), value])
  const parts = { ETag: quoted(part.etag), LastModified: part.modified, ...Object.fromEntries(sums) }
  return { xml: writeXml('CopyPartResult', parts) }
}

/** @throws S3Error `InvalidArgument`, `InvalidRange`: other than of a read, it must lie in the object whole. */
function readCopyRange(text: string | null, bytes: number): { first: number; last: number } {
  if (text === null) return { first: 0, last: bytes - 1 }
  const [, from, to] = /^bytes=(\d{1,15})-(\d{1,15})$/.exec(text) ?? []
  const [first, last] = [Number(from), Number(to)]
  if (!(first <= last))
    throw new S3Error('InvalidArgument', { message: 'x-amz-copy-source-range must be bytes=first-last.' })
  if (last >= bytes) throw new S3Error('InvalidRange')
  return { first, last }
}

export const completeUpload: Operation = async request => {
  const { key, volume, known } = request
  const named = readXml(await receiveText(request, { isOfObject: true }), completeXml).CompleteMultipartUpload
    .Part
  const asked = named.map(part => ({
    number: Number(part.PartNumber),
    etag: part.ETag.trim().replace(/^"|"$/g, ''),
    said: part,
  }))
  for (const [at, { number }] of asked.entries()) {
    if (at > 0 && number <= (asked[at - 1]?.number ?? 0)) throw new S3Error('InvalidPartOrder')
  }
  const condition = readPutCondition(request)
  const { id } = uploadOf(request)
  // Two that complete one upload at once would take its parts from each other.
  return request.locked(`upload ${id}`, async () => {
    const seen = await inUpload(volume, { id, key }, (upload, folder) =>
      assemble(request, { upload, folder, asked, condition }),
    )
    await removeUpload(volume, id)
    request.uploadRoom.forget(known.bucket)
    const checksum = seen.facts?.checksum ?? null
    return {
      xml: writeXml('CompleteMultipartUploadResult', {
        Location: `/${known.bucket}/${key}`,
        Bucket: known.bucket,
        Key: key,
        ETag: quoted(seen.etag),
        ...(checksum && {
          [checksumElement(checksum.algorithm)]: checksum.value,
          ChecksumType: checksum.isComposite ? 'COMPOSITE' : 'FULL_OBJECT',
        }),
      }),
    }
  })
}

export const abortUpload: Operation = async request => {
  const { volume } = request
  const upload = uploadOf(request)
  return request.locked(`upload ${upload.id}`, async () => {
    await inUpload(volume, upload, async () => undefined)
    await removeUpload(volume, upload.id)
    request.uploadRoom.forget(request.known.bucket)
    return { status: 204 }
  })
}

export const listUploadParts: Operation = async request => {
  const { volume, known, key } = request
  const max = numberOf(request, 'max-parts', S3_LIMITS.listKeysMax)
  const after = numberOf(request, 'part-number-marker', S3_LIMITS.partsMax, 0)
  return inUpload(volume, uploadOf(request), async (upload, folder) => {
    const { parts, isMore } = await listParts(folder, { after, max })
    return {
      xml: writeXml('ListPartsResult', {
        Bucket: known.bucket,
        Key: key,
        UploadId: upload.id,
        PartNumberMarker: after,
        NextPartNumberMarker: parts.at(-1)?.number ?? after,
        MaxParts: max,
        IsTruncated: isMore,
        ...(upload.checksum && {
          ChecksumAlgorithm: upload.checksum.algorithm.toUpperCase(),
          ChecksumType: upload.checksum.isComposite ? 'COMPOSITE' : 'FULL_OBJECT',
        }),
        Part: parts.map(part => ({
          PartNumber: part.number,
          LastModified: part.modified,
          ETag: quoted(part.etag),
          Size: part.bytes,
          ...Object.fromEntries(checksumsOf(part).map(([name, value]) => [checksumElement(name), value])),
        })),
        Initiator: { ID: known.userId, DisplayName: known.userId },
        Owner: { ID: known.userId, DisplayName: known.userId },
        StorageClass: 'STANDARD',
      }),
    }
  })
}

export const listOpenUploads: Operation = async request => {
  const { volume, known, query } = request
  const { type, encode } = encodingOf(request)
  if (query.get('delimiter'))
    throw new S3Error('NotImplemented', { message: 'Uploads are listed without a delimiter.' })
  const prefix = query.get('prefix') ?? ''
  const max = numberOf(request, 'max-uploads', S3_LIMITS.listKeysMax)
  const [keyMarker, idMarker] = [query.get('key-marker') ?? '', query.get('upload-id-marker') ?? '']
  const all = await listUploads(volume, prefix)
  const at = all.findIndex(({ id, key }) => idMarker !== '' && id === idMarker && key === keyMarker)
  const bytes = Buffer.from(keyMarker)
  const rest =
    at === -1
      ? all.filter(({ key }) => keyMarker === '' || Buffer.compare(Buffer.from(key), bytes) > 0)
      : all.slice(at + 1)
  const uploads = rest.slice(0, max)
  const isMore = rest.length > max
  const last = uploads.at(-1)
  return {
    xml: writeXml('ListMultipartUploadsResult', {
      Bucket: known.bucket,
      Prefix: encode(prefix),
      KeyMarker: encode(keyMarker),
      UploadIdMarker: idMarker,
      NextKeyMarker: isMore && last ? encode(last.key) : null,
      NextUploadIdMarker: isMore && last ? last.id : null,
      EncodingType: type,
      MaxUploads: max,
      IsTruncated: isMore,
      Upload: uploads.map(({ id, key, initiated }) => ({
        Key: encode(key),
        UploadId: id,
        Initiator: { ID: known.userId, DisplayName: known.userId },
        Owner: { ID: known.userId, DisplayName: known.userId },
        StorageClass: 'STANDARD',
        Initiated: initiated,
      })),
    }),
  }
}
