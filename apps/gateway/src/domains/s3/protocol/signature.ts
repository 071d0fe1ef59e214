import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { S3Error } from '../s3-error.ts'
import { S3_LIMITS } from '../s3-limits.ts'

const ALGORITHM = 'AWS4-HMAC-SHA256'
const SERVICE = 's3'
const TERMINATOR = 'aws4_request'
const AMZ_DATE = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/
const SIGNATURE = /^[0-9a-f]{64}$/
const ACCESS_KEY = /^[A-Z0-9]{16,32}$/
const REGION = /^[a-z0-9-]{1,64}$/
const HEADER_NAME = /^[a-z0-9!#$%&'*+.^_`|~-]+$/
/** What a body is in the canonical request of a presigned URL. */
const UNSIGNED = 'UNSIGNED-PAYLOAD'
/** What a signature is not made of. */
const QUERY_SIGNATURE = 'X-Amz-Signature'

/** A request as it came: nothing of it is put in another order or spelling. */
export interface SignedRequest {
  method: string
  /** Without the query, as it was sent. */
  rawPath: string
  /** Without its question mark, as it was sent. */
  rawQuery: string
  /** Names and values by turns, as they were sent. */
  rawHeaders: readonly string[]
}

/** What a request says of its signature; nothing of it is believed yet. */
export interface Claim {
  accessKeyId: string
  /** `20261123`. */
  date: string
  region: string
  /** `20261123T180000Z`. */
  timestamp: string
  signedHeaders: readonly string[]
  signature: string
  /** What stands for the body in what is signed. */
  payload: string
  isPresigned: boolean
}

/** The scope that a signature is for, as it is signed. */
export const scopeOf = ({ date, region }: Pick<Claim, 'date' | 'region'>) =>
  `${date}/${region}/${SERVICE}/${TERMINATOR}`

/** The key that signs requests of one day in one region: all that is needed to check them, and of no use the day after. */
export function signingKey(secret: string, { date, region }: Pick<Claim, 'date' | 'region'>): Buffer {
  return [date, region, SERVICE, TERMINATOR].reduce<Buffer>(
    (key, text) => createHmac('sha256', key).update(text).digest(),
    Buffer.from(`AWS4${secret}`),
  )
}

/**
 * Reads what a request says of its signature.
 * @param now In milliseconds.
 * @throws S3Error for what is none, is malformed, comes too early or too late.
 */
export function readClaim(request: SignedRequest, query: ReadonlyMap<string, string>, now: number): Claim {
  const authorizations = valuesOf(request, 'authorization')
  const isPresigned = query.has('X-Amz-Algorithm') || query.has(QUERY_SIGNATURE)
  if (authorizations.length > 0 && isPresigned) {
    throw new S3Error('InvalidRequest', {
      message: 'A request is signed in its header or in its query, not in both.',
    })
  }
  if (isPresigned) return readQuery(query, now)
  const [authorization, another] = authorizations
  if (authorization === undefined) throw new S3Error('AccessDenied', { message: 'Requests must be signed.' })
  if (another !== undefined) throw malformed('there are several')
  return readHeader(request, authorization, now)
}

function readHeader(request: SignedRequest, authorization: string, now: number): Claim {
  if (!authorization.startsWith(`${ALGORITHM} `)) {
    const message = `Requests must be signed by ${ALGORITHM}.`
    throw new S3Error('InvalidRequest', { message })
  }
  const parts = new Map<string, string>()
  for (const part of authorization.slice(ALGORITHM.length + 1).split(',')) {
    const at = part.indexOf('=')
    const name = part.slice(0, at).trim()
    if (at < 1 || parts.has(name)) throw malformed('its parts cannot be read')
    parts.set(name, part.slice(at + 1).trim())
  }
  const timestamp = single(request, 'x-amz-date')
  if (timestamp === null) throw new S3Error('AccessDenied', { message: 'The header x-amz-date is missing.' })
  const payload = single(request, 'x-amz-content-sha256')
  if (payload === null) {
    throw new S3Error('InvalidRequest', { message: 'The header x-amz-content-sha256 is missing.' })
  }
  const read = readParts(
    {
      credential: parts.get('Credential'),
      signed: parts.get('SignedHeaders'),
      signature: parts.get('Signature'),
    },
    malformed,
  )
  requireTime(timestamp, read.date, malformed)
  if (Math.abs(now - timeOf(timestamp)) > S3_LIMITS.skewMs) throw new S3Error('RequestTimeTooSkewed')
  return { ...read, timestamp, payload, isPresigned: false }
}

function readQuery(query: ReadonlyMap<string, string>, now: number): Claim {
  if (query.get('X-Amz-Algorithm') !== ALGORITHM) throw malformedQuery(`X-Amz-Algorithm must be ${ALGORITHM}`)
  if (query.has('X-Amz-Security-Token')) throw new S3Error('ExpiredToken')
  const timestamp = query.get('X-Amz-Date') ?? ''
  const read = readParts(
    {
      credential: query.get('X-Amz-Credential'),
      signed: query.get('X-Amz-SignedHeaders'),
      signature: query.get(QUERY_SIGNATURE),
    },
    malformedQuery,
  )
  requireTime(timestamp, read.date, malformedQuery)
  const seconds = query.get('X-Amz-Expires') ?? ''
  const livesMs = Number(seconds) * 1_000
  if (!/^\d{1,7}$/.test(seconds) || livesMs < 1_000 || livesMs > S3_LIMITS.presignedSecondsMax * 1_000) {
    throw malformedQuery(`X-Amz-Expires must be 1 to ${S3_LIMITS.presignedSecondsMax} seconds`)
  }
  const from = timeOf(timestamp)
  if (from - now > S3_LIMITS.skewMs)
    throw new S3Error('AccessDenied', { message: 'Request is not yet valid' })
  if (now > from + livesMs) throw new S3Error('AccessDenied', { message: 'Request has expired' })
  return { ...read, timestamp, payload: query.get('X-Amz-Content-Sha256') ?? UNSIGNED, isPresigned: true }
}

type Refuse = (why: string) => S3Error
const malformed: Refuse = why =>
  new S3Error('AuthorizationHeaderMalformed', { message: `The authorization header is malformed: ${why}.` })
const malformedQuery: Refuse = why =>
  new S3Error('AuthorizationQueryParametersError', {
    message: `The signature in the query is malformed: ${why}.`,
  })

function readParts(
  given: { credential: string | undefined; signed: string | undefined; signature: string | undefined },
  refuse: Refuse,
): Pick<Claim, 'accessKeyId' | 'date' | 'region' | 'signedHeaders' | 'signature'> {
  const [accessKeyId = '', date = '', region = '', service, terminator, ...more] = (
    given.credential ?? ''
  ).split('/')
  if (!ACCESS_KEY.test(accessKeyId)) {
    if (accessKeyId === '') throw refuse('the credential is missing')
    throw new S3Error('InvalidAccessKeyId')
  }
  if (!/^\d{8}$/.test(date) || !REGION.test(region) || more.length > 0)
    throw refuse('the credential’s scope cannot be read')
  if (service !== SERVICE) throw refuse(`the credential’s service must be ${SERVICE}`)
  if (terminator !== TERMINATOR) throw refuse(`the credential must end with ${TERMINATOR}`)
  const signedHeaders = (given.signed ?? '').split(';')
  const isInOrder = signedHeaders.every((name, at) => at === 0 || (signedHeaders[at - 1] ?? '') < name)
  if (!signedHeaders.every(name => HEADER_NAME.test(name)) || !isInOrder) {
    throw refuse('the signed headers must be names in lower case and in order')
  }
  const signature = given.signature ?? ''
  if (!SIGNATURE.test(signature)) throw refuse('the signature must be 64 hexadecimal digits')
  return { accessKeyId, date, region, signedHeaders, signature }
}

function requireTime(timestamp: string, date: string, refuse: Refuse): void {
  if (Number.isNaN(timeOf(timestamp))) throw refuse('the time must be such as 20260102T030405Z')
  if (!timestamp.startsWith(date)) throw refuse('the credential’s date is not that of the request’s time')
}

/** In milliseconds; NaN for what is no time, such as the 31st of February. */
function timeOf(timestamp: string): number {
  const [, year, month, day, hour, minute, second] = AMZ_DATE.exec(timestamp) ?? []
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`
  const time = Date.parse(iso)
  return Number.isNaN(time) || new Date(time).toISOString() !== iso ? Number.NaN : time
}

/**
 * Holds a request to its signature. Every part of the request that means something is in what is signed: method, path,
 * query, the host, and each `x-amz-` header.
 * @param key Of the secret, the day and the region of the claim (`signingKey`).
 * @throws S3Error `SignatureDoesNotMatch`, or `AccessDenied` for a header that must be signed and is not.
 */
export function verifySignature(request: SignedRequest, claim: Claim, key: Uint8Array): void {
  const signed = new Set(claim.signedHeaders)
  if (!signed.has('host')) throw new S3Error('AccessDenied', { message: 'The header host must be signed.' })
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    const name = (request.rawHeaders[at] ?? '').toLowerCase()
    if (name.startsWith('x-amz-') && !signed.has(name)) {
      const message = 'There were headers present in the request which were not signed'
      throw new S3Error('AccessDenied', { message, more: { HeadersNotSigned: name } })
    }
  }
  const canonical = canonicalFor(request, claim)
  const toSign = [ALGORITHM, claim.timestamp, scopeOf(claim), sha256(canonical)].join('\n')
  if (!isSame(hmacHex(key, toSign), claim.signature)) throw new S3Error('SignatureDoesNotMatch')
}

/** What a signature is made of, as one text: every part in one order and spelling. */
export function canonicalFor(
  request: SignedRequest,
  claim: Pick<Claim, 'signedHeaders' | 'payload'>,
): string {
  const headers = claim.signedHeaders.map(name => {
    const values = valuesOf(request, name).map(value => value.trim().replaceAll(/ {2,}/g, ' '))
    return `${name}:${values.join(',')}\n`
  })
  return [
    request.method,
    encodeUri(decodeUri(request.rawPath), '/'),
    canonicalQuery(request.rawQuery),
    headers.join(''),
    claim.signedHeaders.join(';'),
    claim.payload,
  ].join('\n')
}

function canonicalQuery(rawQuery: string): string {
  return splitQuery(rawQuery)
    .filter(([name]) => name !== QUERY_SIGNATURE)
    .map(([name, value]) => `${encodeUri(name)}=${encodeUri(value)}`)
    .sort((one, other) => (one < other ? -1 : one > other ? 1 : 0))
    .join('&')
}

/** Names and values of a query, each decoded, in the order in which they came. @throws S3Error `InvalidURI`. */
export function splitQuery(rawQuery: string): [string, string][] {
  if (rawQuery === '') return []
  return rawQuery
    .split('&')
    .filter(part => part !== '')
    .map(part => {
      const at = part.indexOf('=')
      const [name, value] = at === -1 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)]
      return [decodeUri(name.replaceAll('+', ' ')), decodeUri(value.replaceAll('+', ' '))]
    })
}

/** Undoes what stands for bytes in an address. @throws S3Error `InvalidURI` for what is no UTF-8. */
export function decodeUri(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    throw new S3Error('InvalidURI', { message: 'The address is no UTF-8.', cause: error })
  }
}

/** As signatures want it: all but letters, digits and `-._~` stands as bytes. @param kept Characters that stay besides. */
export function encodeUri(text: string, kept = ''): string {
  const encoded = encodeURIComponent(text.toWellFormed()).replaceAll(
    /[!'()*]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return kept === '/' ? encoded.replaceAll('%2F', '/') : encoded
}

/** The values of a header, in the order in which they came. */
function valuesOf({ rawHeaders }: Pick<SignedRequest, 'rawHeaders'>, name: string): string[] {
  const values: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === name) values.push(rawHeaders[at + 1] ?? '')
  }
  return values
}

/** The value of a header that comes once; null where it is missing. @throws S3Error `InvalidRequest` where it comes twice. */
function single(request: Pick<SignedRequest, 'rawHeaders'>, name: string): string | null {
  const [value, another] = valuesOf(request, name)
  if (another !== undefined)
    throw new S3Error('InvalidRequest', { message: `The header ${name} came twice.` })
  return value ?? null
}

/** Signs each chunk of a body after the one before, from the request's own signature on. */
export interface ChunkSigner {
  /** @param hash SHA-256 of the chunk, in hexadecimal. @throws S3Error `SignatureDoesNotMatch`. */
  chunk(hash: string, signature: string): void
  /** @param hash SHA-256 of all trailers, each a line. @throws S3Error `SignatureDoesNotMatch`. */
  trailer(hash: string, signature: string): void
}

/** @param key As for `verifySignature`, which has held the request to it. */
export function createChunkSigner(claim: Claim, key: Uint8Array): ChunkSigner {
  let before = claim.signature
  const check = (kind: string, hashes: readonly string[], signature: string) => {
    const toSign = [`${ALGORITHM}-${kind}`, claim.timestamp, scopeOf(claim), before, ...hashes].join('\n')
    const own = hmacHex(key, toSign)
    if (!isSame(own, signature)) throw new S3Error('SignatureDoesNotMatch')
    before = own
  }
  return {
    chunk: (hash, signature) => check('PAYLOAD', [EMPTY_HASH, hash], signature),
    trailer: (hash, signature) => check('TRAILER', [hash], signature),
  }
}

/** SHA-256 in hexadecimal. */
export const sha256 = (text: string | Uint8Array) => createHash('sha256').update(text).digest('hex')
const EMPTY_HASH = sha256('')

const hmacHex = (key: Uint8Array, text: string) => createHmac('sha256', key).update(text).digest('hex')

/** Takes as long wherever they differ. */
function isSame(own: string, given: string): boolean {
  const [one, other] = [Buffer.from(own), Buffer.from(given)]
  return one.length === other.length && timingSafeEqual(one, other)
}
