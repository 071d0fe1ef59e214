import { type ChecksumAlgorithm, checksumHeader } from '../protocol/checksums.ts'
import { headerOf, quoted, type SignedS3Request } from '../protocol/s3-request.ts'
import { S3Error } from '../s3-error.ts'
import { S3_LIMITS } from '../s3-limits.ts'
import type { ObjectFacts } from '../store/object-facts.ts'
import type { PutCondition, SeenObject } from '../store/objects.ts'

/** Headers of an object that are kept as they came, and said again. */
const KEPT = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-type',
  'expires',
  'x-amz-website-redirect-location',
] as const
const METADATA = 'x-amz-meta-'
const DEFAULT_TYPE = 'binary/octet-stream'

/** What a put may ask for that a volume cannot do: it is refused, and never passed over. */
const NOT_OFFERED = [
  'x-amz-server-side-encryption',
  'x-amz-server-side-encryption-customer-algorithm',
  'x-amz-tagging',
  'x-amz-object-lock-mode',
  'x-amz-object-lock-legal-hold',
  'x-amz-object-lock-retain-until-date',
  'x-amz-grant-read',
  'x-amz-grant-write',
  'x-amz-grant-read-acp',
  'x-amz-grant-write-acp',
  'x-amz-grant-full-control',
  'x-amz-write-offset-bytes',
] as const

/** What a request says of the object that it puts. @throws S3Error. */
export function readSaid(request: SignedS3Request): Pick<ObjectFacts, 'headers' | 'metadata'> {
  for (const name of NOT_OFFERED) {
    if (headerOf(request, name) !== null)
      throw new S3Error('NotImplemented', { message: `${name} is not offered here.` })
  }
  const acl = headerOf(request, 'x-amz-acl')
  if (acl !== null && acl !== 'private' && acl !== 'bucket-owner-full-control') {
    throw new S3Error('AccessControlListNotSupported')
  }
  const storageClass = headerOf(request, 'x-amz-storage-class')
  if (storageClass !== null && storageClass !== 'STANDARD') throw new S3Error('InvalidStorageClass')
  const headers: Record<string, string> = {}
  for (const name of KEPT) {
    // What the client says of how it signs is no word about the object.
    const value = headerOf(request, name)?.replace(/^aws-chunked(,\s*|$)/, '')
    if (value) headers[name] = value
  }
  return { headers, metadata: readMetadata(request) }
}

function readMetadata({ incoming }: SignedS3Request): Record<string, string> {
  const metadata: Record<string, string> = {}
  let bytes = 0
  for (const [name, values] of Object.entries(incoming.headersDistinct)) {
    if (!name.startsWith(METADATA)) continue
    const value = values?.join(',') ?? ''
    bytes += name.length - METADATA.length + Buffer.byteLength(value, 'latin1')
    metadata[name.slice(METADATA.length)] = value
  }
  if (bytes > S3_LIMITS.metadataBytesMax) throw new S3Error('MetadataTooLarge')
  return metadata
}

/** The headers that say an object. @param asked Whether its checksum is wanted, which holds for all of its bytes alone. */
export function sayObject(seen: SeenObject, asked: { checksum: boolean }): Record<string, string> {
  const { facts } = seen
  const headers: Record<string, string> = {
    'content-type': DEFAULT_TYPE,
    ...keptOf(facts),
    etag: quoted(seen.etag),
    'last-modified': seen.modified.toUTCString(),
    'accept-ranges': 'bytes',
  }
  for (const [name, value] of Object.entries(facts?.metadata ?? {})) headers[METADATA + name] = value
  return asked.checksum ? { ...headers, ...sayChecksum(facts?.checksum ?? null) } : headers
}

/** A machine may have written the facts: no other header than these is said for it, such as one that sets a cookie. */
function keptOf(facts: ObjectFacts | null): Record<string, string> {
  const kept = KEPT.map(name => [name, facts?.headers[name]] as const)
  return Object.fromEntries(kept.filter((each): each is [(typeof KEPT)[number], string] => !!each[1]))
}

/** The headers that say a checksum. */
export function sayChecksum(checksum: ObjectFacts['checksum']): Record<string, string> {
  if (!checksum) return {}
  const { algorithm, value, isComposite } = checksum
  return {
    [checksumHeader(algorithm)]: value,
    'x-amz-checksum-type': isComposite ? 'COMPOSITE' : 'FULL_OBJECT',
  }
}

/** The name of a checksum in documents, such as `ChecksumCRC32C`. */
export const checksumElement = (algorithm: ChecksumAlgorithm) =>
  `Checksum${algorithm.toUpperCase()}` as 'ChecksumCRC32'

/** The ETags of a list such as `"a", "b"` or `*`; null where the header is missing. */
function etagsOf(request: SignedS3Request, name: string): string[] | null {
  const value = headerOf(request, name)
  return value === null ? null : value.split(',').map(each => each.trim().replace(/^"|"$/g, ''))
}

/** What must hold before an object is put. @throws S3Error `NotImplemented` for what S3 does not know either. */
export function readPutCondition(request: SignedS3Request): PutCondition {
  const noneMatch = etagsOf(request, 'if-none-match')
  if (noneMatch && noneMatch.join() !== '*') {
    throw new S3Error('NotImplemented', { message: 'A put takes If-None-Match with * alone.' })
  }
  return { isNew: noneMatch !== null, match: etagsOf(request, 'if-match') }
}

/**
 * Holds what is read to the conditions that a request names, in their order of HTTP.
 * @param names The headers' names: a copy has other ones.
 * @returns Whether the client has it already.
 * @throws S3Error `PreconditionFailed`.
 */
export function isKnownToClient(
  request: SignedS3Request,
  seen: SeenObject,
  names = READ_CONDITIONS,
): boolean {
  const match = etagsOf(request, names.match)
  const noneMatch = etagsOf(request, names.noneMatch)
  const hasOne = (etags: readonly string[]) => etags.includes('*') || etags.includes(seen.etag)
  const since = (name: string) => {
    const time = Date.parse(headerOf(request, name) ?? '')
    return Number.isNaN(time) ? null : time
  }
  if (match !== null && !hasOne(match)) throw new S3Error('PreconditionFailed')
  const unmodified = since(names.unmodified)
  if (match === null && unmodified !== null && seen.modified.getTime() > unmodified) {
    throw new S3Error('PreconditionFailed')
  }
  if (noneMatch !== null) return hasOne(noneMatch)
  const modified = since(names.modified)
  return modified !== null && seen.modified.getTime() <= modified
}

export const READ_CONDITIONS = {
  match: 'if-match',
  noneMatch: 'if-none-match',
  modified: 'if-modified-since',
  unmodified: 'if-unmodified-since',
}
export const COPY_CONDITIONS: typeof READ_CONDITIONS = {
  match: 'x-amz-copy-source-if-match',
  noneMatch: 'x-amz-copy-source-if-none-match',
  modified: 'x-amz-copy-source-if-modified-since',
  unmodified: 'x-amz-copy-source-if-unmodified-since',
}
