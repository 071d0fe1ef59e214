import type { FileHandle } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { algorithmWanted, type Received, receive, receiveInto } from '../protocol/receive.ts'
import { headerOf, type Operation, quoted, type S3Request } from '../protocol/s3-request.ts'
import { S3Error } from '../s3-error.ts'
import { S3_LIMITS } from '../s3-limits.ts'
import type { ObjectFacts } from '../store/object-facts.ts'
import { readObjectKey } from '../store/object-key.ts'
import { openObject, putFolder, putObject, type SeenObject, seeObject } from '../store/objects.ts'
import { isKnownToClient, readPutCondition, readSaid, sayChecksum, sayObject } from './said-headers.ts'

/** What is read of a file at once, and held for a client that is slow. */
const READ_BYTES = 512 * 1024
const OVERRIDES = 'response-'
const OVERRIDDEN = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-type',
  'expires',
]

const isChecksumAsked = (request: S3Request) =>
  headerOf(request, 'x-amz-checksum-mode')?.toUpperCase() === 'ENABLED'

/** The object alone is told of here: parts of what was put in parts are not remembered. */
function requireWhole({ query }: S3Request): void {
  if (query.has('partNumber'))
    throw new S3Error('NotImplemented', { message: 'partNumber: ask for a range instead.' })
}

function headOf(request: S3Request, seen: SeenObject, asked: { isPart: boolean }): Record<string, string> {
  const headers = sayObject(seen, { checksum: isChecksumAsked(request) && !asked.isPart })
  for (const name of OVERRIDDEN) {
    const value = request.query.get(`${OVERRIDES}${name}`)
    if (value === undefined) continue
    if (!/^[\x20-\x7e]*$/.test(value)) throw new S3Error('InvalidArgument')
    headers[name] = value
  }
  return headers
}

/** The range that is asked for; null: all. @throws S3Error `InvalidRange`. */
function readRange(text: string | null, bytes: number): { first: number; last: number } | null {
  const [, from = '', to = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(text ?? '') ?? []
  // What is no range, or several, is answered with all, as HTTP has it.
  if (from === '' && to === '') return null
  if (from !== '' && to !== '' && Number(from) > Number(to)) return null
  const first = from === '' ? Math.max(bytes - Number(to), 0) : Number(from)
  const last = from === '' || to === '' ? bytes - 1 : Math.min(Number(to), bytes - 1)
  if (first >= bytes || (from === '' && Number(to) === 0)) {
    throw new S3Error('InvalidRange', {
      more: { RangeRequested: text ?? '', ActualObjectSize: String(bytes) },
    })
  }
  return { first, last }
}

function headersOf(request: S3Request, seen: SeenObject) {
  const range = readRange(headerOf(request, 'range'), seen.bytes)
  const headers = headOf(request, seen, { isPart: range !== null })
  headers['content-length'] = String(range ? range.last - range.first + 1 : seen.bytes)
  if (range) headers['content-range'] = `bytes ${range.first}-${range.last}/${seen.bytes}`
  return { range, headers, status: range ? 206 : 200 }
}

export const headObject: Operation = async request => {
  requireWhole(request)
  const seen = await seeObject(request.volume, readObjectKey(request.key))
  if (isKnownToClient(request, seen))
    return { status: 304, headers: headOf(request, seen, { isPart: false }) }
  const { status, headers } = headersOf(request, seen)
  return { status, headers }
}

export const getObject: Operation = async request => {
  requireWhole(request)
  const { response } = request
  const seen = await openObject(request.volume, readObjectKey(request.key))
  try {
    if (isKnownToClient(request, seen))
      return { status: 304, headers: headOf(request, seen, { isPart: false }) }
    const { range, headers, status } = headersOf(request, seen)
    if (!seen.file || seen.bytes === 0) return { status, headers }
    response.writeHead(status, headers)
    const source = seen.file.createReadStream({
      start: range?.first ?? 0,
      end: range?.last ?? seen.bytes - 1,
      highWaterMark: READ_BYTES,
      autoClose: false,
    })
    // A file that a machine has cut meanwhile has less than was said: Node ends the connection then.
    await pipeline(source, response)
    return null
  } finally {
    await seen.file?.close()
  }
}

/** What a put may bring: as much as S3 takes, and no more than the volume is to hold. */
export const putBytesMax = ({ known }: Pick<S3Request, 'known'>) =>
  Math.min(S3_LIMITS.putBytesMax, known.bytesMax)

/** The facts of what came. @param algorithm The one whose checksum is kept; null: the client named none. */
function writtenOf(
  { md5, checksums }: Received,
  said: Pick<ObjectFacts, 'headers' | 'metadata'>,
): Omit<ObjectFacts, 'key'> {
  const [kept] = Object.entries(checksums)
  const checksum = kept
    ? { algorithm: kept[0] as keyof typeof checksums, value: kept[1], isComposite: false }
    : null
  return { etag: md5, ...said, checksum }
}

export const putOne: Operation = async request => {
  if (headerOf(request, 'x-amz-copy-source') !== null) throw new Error('a copy is another operation')
  const key = readObjectKey(request.key)
  const said = readSaid(request)
  const condition = readPutCondition(request)
  const algorithm = algorithmWanted(request)
  const options = { bytesMax: putBytesMax(request), wanted: algorithm ? [algorithm] : [] }
  const seen = key.isFolder
    ? await putFolder(request, key, writtenOf(await receiveNothing(request), said))
    : await putObject(request, key, condition, async (file: FileHandle) =>
        writtenOf(await receiveInto(request, file, options), said),
      )
  return { headers: { etag: quoted(seen.etag), ...sayChecksum(seen.facts?.checksum ?? null) } }
}

/** A folder holds no bytes of its own. @throws S3Error `InvalidObjectName`. */
async function receiveNothing(request: S3Request): Promise<Received> {
  const refused = new S3Error('InvalidObjectName', {
    message: 'A name that ends with a slash is a folder of the volume, and can hold no bytes.',
  })
  const take = async (content: AsyncIterable<Uint8Array>) => {
    for await (const piece of content) if (piece.length > 0) throw refused
    return { md5: 'd41d8cd98f00b204e9800998ecf8427e', bytes: 0 }
  }
  return receive(request, take, { bytesMax: 0 }).catch(error => {
    throw error instanceof S3Error && error.code === 'EntityTooLarge' ? refused : error
  })
}
