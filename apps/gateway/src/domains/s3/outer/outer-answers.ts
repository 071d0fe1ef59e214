import type { IncomingMessage } from 'node:http'
import type { S3Answer, SignedS3Request } from '../protocol/s3-request.ts'
import { encodeUri } from '../protocol/signature.ts'
import { writeXml } from '../protocol/xml.ts'
import { S3Error } from '../s3-error.ts'

/** A thousand keys of a list, with all that is said of each. */
const XML_BYTES_MAX = 8 * 1024 ** 2
/** What an answer says of an object; all else is between us and the server. */
const SAID = new Set([
  'etag',
  'last-modified',
  'content-type',
  'content-length',
  'content-range',
  'accept-ranges',
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'expires',
])
const SAID_PREFIXES = ['x-amz-meta-', 'x-amz-checksum-']
/** The operator's matters: whoever asks is told that it does not work, and the log says why. */
const OPERATORS = new Set([
  'AccessDenied',
  'AccountProblem',
  'AuthorizationHeaderMalformed',
  'InvalidAccessKeyId',
  'NoSuchBucket',
  'PermanentRedirect',
  'RequestTimeTooSkewed',
  'SignatureDoesNotMatch',
])
const FULL = new Set([
  'InsufficientStorage',
  'QuotaExceeded',
  'XMinioStorageFull',
  'XAdminBucketQuotaExceeded',
])
const NOT_WORKING = 'The store of objects does not serve this volume now. Please try again later.'

export const isWell = ({ statusCode = 0 }: IncomingMessage) => statusCode >= 200 && statusCode < 300

/** Headers of an answer that are the client's. */
export function saidBy({ headersDistinct }: IncomingMessage): Record<string, string> {
  const said: Record<string, string> = {}
  for (const [name, values] of Object.entries(headersDistinct)) {
    if (SAID.has(name) || SAID_PREFIXES.some(prefix => name.startsWith(prefix)))
      said[name] = values?.join(', ') ?? ''
  }
  return said
}

/** All of a document. @throws S3Error `ServiceUnavailable` for one that is too large. */
export async function textOf(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of answer as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > XML_BYTES_MAX) throw new S3Error('ServiceUnavailable', { message: NOT_WORKING })
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

const elementOf = (xml: string, name: string) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? ''

/**
 * A document for the client: with the volume's name in place of the bucket's, and nothing of who the operator is. What is
 * text in it has no tags.
 */
export function ownXml(xml: string, { known, key }: SignedS3Request): string {
  const { userId, bucket } = known
  const renamed = xml
    .replaceAll(/<(Name|Bucket)>[^<]*<\/\1>/g, `<$1>${bucket}</$1>`)
    .replaceAll(
      /<Location>[^<]*<\/Location>/g,
      () => `<Location>/${bucket}/${encodeUri(key, '/')}</Location>`,
    )
  const who = `<ID>${userId}</ID><DisplayName>${userId}</DisplayName>`
  return ['Owner', 'Initiator'].reduce((text, name) => withElements(text, name, who), renamed)
}

/** A document with something else in all elements of a name. What follows one without an end is left out. */
function withElements(xml: string, name: string, content: string): string {
  const [begin, end] = [`<${name}>`, `</${name}>`]
  const kept: string[] = []
  let at = 0
  for (;;) {
    const from = xml.indexOf(begin, at)
    if (from === -1) return kept.join('') + xml.slice(at)
    kept.push(xml.slice(at, from))
    const to = xml.indexOf(end, from)
    if (to === -1) return kept.join('')
    kept.push(begin, content, end)
    at = to + end.length
  }
}

/**
 * What a refusal of the server is to the client: itself, where it is about the request.
 * @throws S3Error where it is about the server, or its operator.
 */
export async function refusalOf(answer: IncomingMessage, request: SignedS3Request): Promise<S3Answer> {
  const status = answer.statusCode ?? 0
  if (request.method === 'HEAD') {
    answer.destroy()
    if (status === 401 || status === 403 || status >= 500)
      throw new S3Error('ServiceUnavailable', { message: NOT_WORKING, cause: new Error(`HTTP ${status}`) })
    return { status, headers: status === 304 || status === 412 ? saidBy(answer) : {} }
  }
  const xml = await textOf(answer)
  if (status === 304) return { status, headers: saidBy(answer) }
  const code = elementOf(xml, 'Code')
  const cause = new Error(`HTTP ${status} ${code}: ${elementOf(xml, 'Message')}`)
  if (status === 507 || FULL.has(code)) throw new S3Error('InsufficientStorage', { cause })
  if (code === 'SlowDown') throw new S3Error('SlowDown', { cause })
  // Whoever has no such bucket may have lost it: that the volume is there is ours to say.
  if (status === 401 || status >= 500 || status < 400 || code === '' || OPERATORS.has(code))
    throw new S3Error(status === 501 ? 'NotImplemented' : 'ServiceUnavailable', {
      message: NOT_WORKING,
      cause,
    })
  const Resource = request.incoming.url?.split('?')[0] ?? '/'
  const Message = unescaped(elementOf(xml, 'Message'))
  return { status, xml: writeXml('Error', { Code: code, Message, Resource, RequestId: request.id }) }
}

function unescaped(text: string): string {
  const MARKS: Record<string, string> = {
    lt: '<',
    gt: '>',
    quot: '"',
    '#34': '"',
    apos: "'",
    '#39': "'",
    amp: '&',
  }
  return text.replaceAll(/&(lt|gt|quot|#34|apos|#39|amp);/g, (_, name: string) => MARKS[name] ?? '')
}
