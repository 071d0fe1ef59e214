import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { readCopySource } from '../operations/copy-source.ts'
import { readSaid } from '../operations/said-headers.ts'
import { readForm } from '../protocol/body.ts'
import { CHECKSUM_ALGORITHMS, type ChecksumAlgorithm, checksumHeader } from '../protocol/checksums.ts'
import { algorithmWanted, readLength, receive, receiveText } from '../protocol/receive.ts'
import { headerOf, type S3Answer } from '../protocol/s3-request.ts'
import { encodeUri } from '../protocol/signature.ts'
import { completeXml, deleteXml, isSayable, readXml, writeXml } from '../protocol/xml.ts'
import { S3Error } from '../s3-error.ts'
import { S3_LIMITS } from '../s3-limits.ts'
import { readObjectKey } from '../store/object-key.ts'
import { type Asking, answerOf, askOuter, type OuterQuestion } from './ask-outer.ts'
import { createHeldBody } from './held-body.ts'
import { isWell, ownXml, refusalOf, saidBy, textOf } from './outer-answers.ts'
import type { OuterRequest } from './outer-request.ts'
import { putLarge } from './put-large.ts'
import { createTrailed, TRAILED, type Trailed } from './trailed-body.ts'

/** Does what a request asks for at the outer server. Null: it has answered itself. @throws S3Error. */
type OuterOperation = (request: OuterRequest) => Promise<S3Answer | null>

/** A body of so many bytes is held until it is known to be right, so that its hash and checksum go along. */
const HELD_BYTES_MAX = 8 * 1024 ** 2
const UPLOAD_ID = /^(?!\.+$)[\w.~-]{1,1024}$/

/** What parameters mean something to the server; the others are the signature's, or nobody's. */
const ASKED = new Set([
  'continuation-token',
  'delete',
  'delimiter',
  'encoding-type',
  'fetch-owner',
  'key-marker',
  'list-type',
  'marker',
  'max-keys',
  'max-parts',
  'max-uploads',
  'part-number-marker',
  'partNumber',
  'prefix',
  'start-after',
  'upload-id-marker',
  'uploadId',
  'uploads',
])
/** What a request says of an object, or asks of it. */
const TOLD = new Set([
  'cache-control',
  'content-disposition',
  'content-language',
  'content-type',
  'expires',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-unmodified-since',
  'range',
  'x-amz-checksum-algorithm',
  'x-amz-checksum-mode',
  'x-amz-checksum-type',
  'x-amz-copy-source-if-match',
  'x-amz-copy-source-if-modified-since',
  'x-amz-copy-source-if-none-match',
  'x-amz-copy-source-if-unmodified-since',
  'x-amz-copy-source-range',
  'x-amz-metadata-directive',
  'x-amz-mp-object-size',
])

function toldBy(request: OuterRequest): Record<string, string> {
  const told: Record<string, string> = {}
  for (const name of Object.keys(request.incoming.headersDistinct)) {
    if (TOLD.has(name) || name.startsWith('x-amz-meta-')) told[name] = headerOf(request, name) ?? ''
  }
  const encoding = headerOf(request, 'content-encoding')?.replace(/^aws-chunked(,\s*|$)/, '')
  if (encoding) told['content-encoding'] = encoding
  return told
}

function questionOf(request: OuterRequest): OuterQuestion {
  const { method, key, query } = request
  if (key !== '') readObjectKey(key)
  const uploadId = query.get('uploadId')
  if (uploadId !== undefined && !UPLOAD_ID.test(uploadId)) throw new S3Error('NoSuchUpload')
  const asked = [...query].filter(([name]) => ASKED.has(name) || name.startsWith('response-'))
  return { method, key, query: asked, headers: toldBy(request), length: null, hash: null }
}

/** Gives the client what came: bytes as they come, documents with the volume's own names. */
async function giveBack(answer: IncomingMessage, request: OuterRequest): Promise<S3Answer | null> {
  if (!isWell(answer)) return refusalOf(answer, request)
  const { statusCode: status = 200 } = answer
  const headers = saidBy(answer)
  if (request.method === 'HEAD') {
    answer.resume()
    return { status, headers }
  }
  if (request.method === 'GET' && request.key !== '' && !request.query.has('uploadId')) {
    request.response.writeHead(status, headers)
    await pipeline(answer, request.response)
    return null
  }
  const xml = await textOf(answer)
  delete headers['content-length']
  delete headers['content-type']
  return xml.trim() === '' ? { status, headers } : { status, headers, xml: ownXml(xml, request) }
}

/** Asks without a body. */
async function ask(request: OuterRequest, more: Record<string, string> = {}): Promise<S3Answer | null> {
  const question = questionOf(request)
  const headers = { ...question.headers, ...more }
  const answer = await answerOf(request.outer, { ...question, headers }, { ...request, body: null })
  request.response.once('close', () => answer.destroy())
  return giveBack(answer, request)
}

/** Asks with a body that is known whole. */
async function askWith(
  request: OuterRequest,
  body: Buffer,
  more: Record<string, string> = {},
): Promise<S3Answer | null> {
  const question = questionOf(request)
  const headers = {
    ...question.headers,
    'content-md5': createHash('md5').update(body).digest('base64'),
    ...more,
  }
  return giveBack(await answerOf(request.outer, { ...question, headers }, { ...request, body }), request)
}

const bytesMaxOf = ({ known }: OuterRequest) => Math.min(S3_LIMITS.putBytesMax, known.bytesMax)

/** The server's own answer came before it had all: what it refuses need not be sent. */
class AnsweredEarly extends Error {}

/**
 * Sends a part of an upload on as it comes, but for its last piece: that goes when all of it has been found right. A checksum
 * that the client named goes behind it.
 */
async function putStream(request: OuterRequest, length: number): Promise<S3Answer | null> {
  const algorithm = algorithmWanted(request)
  const frame = algorithm && createTrailed(algorithm, length)
  const question = streamQuestion(request, length, frame)
  // Who sends nothing has no connection to the server.
  let asking: Asking | null = null
  const begun = () => {
    asking ??= askOuter(request.outer, question, request.now())
    return asking
  }
  const put = (piece: Uint8Array) => write(begun(), frame ? frame.chunksOf(piece) : [piece])
  let held: Uint8Array | null = null
  const take = async (content: AsyncIterable<Uint8Array>) => {
    const md5 = createHash('md5')
    let bytes = 0
    for await (const piece of content) {
      if (asking?.hasAnswered()) throw new AnsweredEarly()
      if (held) await put(held)
      held = Uint8Array.from(piece)
      bytes += piece.length
      md5.update(piece)
    }
    return { md5: md5.digest('hex'), bytes }
  }
  try {
    const wanted = algorithm ? [algorithm] : []
    const options = { bytesMax: bytesMaxOf(request), wanted, isHurried: true }
    const { checksums } = await receive(request, take, options)
    if (held) await put(held)
    const { sent, answered } = begun()
    sent.end(frame && algorithm ? frame.end(checksums[algorithm] ?? '') : undefined)
    return await giveBack(await answered, request)
  } catch (error) {
    if (error instanceof AnsweredEarly) return await giveBack(await begun().answered, request)
    ;(asking as Asking | null)?.sent.destroy()
    throw error
  }
}

function streamQuestion(request: OuterRequest, length: number, frame: Trailed | null): OuterQuestion {
  const question = questionOf(request)
  if (frame) {
    const headers = { ...question.headers, ...frame.headers }
    return { ...question, headers, length: frame.length, hash: TRAILED }
  }
  const form = readForm(request.claim.payload)
  const headers = { ...question.headers }
  for (const name of ['content-md5', ...CHECKSUM_ALGORITHMS.map(checksumHeader)]) {
    const value = headerOf(request, name)
    if (value !== null) headers[name] = value
  }
  return { ...question, headers, length, hash: form.kind === 'plain' ? form.hash : null }
}

async function write({ sent, answered }: Asking, pieces: readonly Uint8Array[]): Promise<void> {
  for (const piece of pieces) {
    if (sent.destroyed) {
      await answered
      throw new AnsweredEarly()
    }
    if (!sent.write(piece)) await Promise.race([once(sent, 'drain'), answered])
  }
}

/** An object, or a part of an upload. */
const putBody: OuterOperation = request => {
  readSaid(request)
  const length = readLength(request)
  if (length > bytesMaxOf(request)) throw new S3Error('EntityTooLarge')
  return request.room.within(request.known, length, async () => putWith(request, length))
}

async function putWith(request: OuterRequest, length: number): Promise<S3Answer | null> {
  if (length > HELD_BYTES_MAX && request.query.has('uploadId')) return putStream(request, length)
  const { known, held } = request
  return held.within(known.userId, Math.min(length, HELD_BYTES_MAX), () =>
    length > HELD_BYTES_MAX
      ? putLarge(request, questionOf(request), {
          partBytes: HELD_BYTES_MAX,
          bytesMax: bytesMaxOf(request),
        })
      : putHeld(request, length),
  )
}

/** What is held whole, and sent when it has been found right. */
async function putHeld(request: OuterRequest, length: number): Promise<S3Answer | null> {
  const body = createHeldBody(length)
  const take = async (content: AsyncIterable<Uint8Array>) => {
    const md5 = createHash('md5')
    for await (const piece of content) {
      body.add(piece)
      md5.update(piece)
    }
    return { md5: md5.digest('hex'), bytes: body.content().length }
  }
  const algorithm = algorithmWanted(request)
  const wanted = algorithm ? [algorithm] : []
  const options = { bytesMax: bytesMaxOf(request), wanted, isHurried: true }
  const { checksums } = await receive(request, take, options)
  const named = Object.entries(checksums) as [ChecksumAlgorithm, string][]
  const sums = Object.fromEntries(named.map(([name, value]) => [checksumHeader(name), value]))
  return askWith(request, body.content(), sums)
}

/** @throws S3Error for another volume: a key reaches one. */
const copy: OuterOperation = async request => {
  readSaid(request)
  const { key } = readCopySource(request)
  const bytes = await bytesCopied(request, key)
  return request.room.within(request.known, bytes, () =>
    ask(request, { 'x-amz-copy-source': `/${request.outer.bucket}/${encodeUri(key, '/')}` }),
  )
}

/** What a copy takes: all of what is copied, or the part that is named. What is not there takes nothing. */
async function bytesCopied(request: OuterRequest, key: string): Promise<number> {
  const [, first, last] =
    /^bytes=(\d{1,15})-(\d{1,15})$/.exec(headerOf(request, 'x-amz-copy-source-range') ?? '') ?? []
  if (first !== undefined) return Math.max(0, Number(last) - Number(first) + 1)
  const question = { method: 'HEAD', key, query: [], headers: {} }
  const answer = await answerOf(request.outer, question, { ...request, body: null })
  answer.resume()
  const length = isWell(answer) ? Number(answer.headers['content-length'] ?? 0) : 0
  return Number.isSafeInteger(length) ? length : 0
}

/** How many uploads are open, as far as one answer of the server says. */
async function openUploads(request: OuterRequest): Promise<number> {
  const question = { method: 'GET', key: '', query: [['uploads', '']] as const, headers: {} }
  const answer = await answerOf(request.outer, question, { ...request, body: null })
  const xml = await textOf(answer)
  if (!isWell(answer)) throw new S3Error('ServiceUnavailable', { cause: new Error(xml.slice(0, 300)) })
  return xml.split('<UploadId>').length - 1
}

const isCopy = (request: OuterRequest) => headerOf(request, 'x-amz-copy-source') !== null

const deleteMany: OuterOperation = async request => {
  const { Delete } = readXml(await receiveText(request, { isHurried: true }), deleteXml)
  if (Delete.Object.some(({ VersionId }) => VersionId !== undefined && VersionId !== 'null'))
    throw new S3Error('NotImplemented', { message: 'Versions are not kept here.' })
  // One that cannot be a name here is not there; the server is not asked what it would make of it.
  for (const { Key } of Delete.Object) readObjectKey(Key)
  if (Delete.Object.some(({ Key }) => !isSayable(Key)))
    throw new S3Error('InvalidArgument', { message: 'A key that XML cannot say is deleted by itself.' })
  const Objects = Delete.Object.map(({ Key, ETag }) => ({ Key, ETag }))
  return askWith(request, Buffer.from(writeXml('Delete', { Quiet: Delete.Quiet?.trim(), Object: Objects })))
}

const complete: OuterOperation = async request => {
  // What is passed on is what was read of it, and nothing besides that the server may take for something else.
  const named = readXml(await receiveText(request, { isHurried: true, isOfObject: true }), completeXml)
  const body = Buffer.from(writeXml('CompleteMultipartUpload', named.CompleteMultipartUpload))
  const sums: Record<string, string> = {}
  for (const name of CHECKSUM_ALGORITHMS.map(checksumHeader)) {
    const value = headerOf(request, name)
    if (value !== null) sums[name] = value
  }
  return askWith(request, body, sums)
}

const begin: OuterOperation = async request => {
  readSaid(request)
  return request.room.begin(
    request.known,
    () => openUploads(request),
    () => ask(request),
  )
}

const plain: OuterOperation = request => ask(request)

/** By the names of `operations.ts`; what is not here says the same of every volume. */
export const OUTER_OPERATIONS: Readonly<Record<string, OuterOperation>> = {
  'GET bucket': plain,
  'GET bucket list-type': plain,
  'GET bucket uploads': plain,
  'POST bucket delete': deleteMany,
  'GET object': plain,
  'HEAD object': plain,
  'PUT object': putBody,
  'PUT object copy': copy,
  'DELETE object': plain,
  'POST object uploads': begin,
  'POST object uploadId': complete,
  'PUT object uploadId': request => (isCopy(request) ? copy(request) : putBody(request)),
  'GET object uploadId': plain,
  'DELETE object uploadId': plain,
}
