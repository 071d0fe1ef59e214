import { createHmac } from 'node:crypto'
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import type { OuterVolume } from '../gateway-side.ts'
import { canonicalFor, encodeUri, scopeOf, sha256 } from '../protocol/signature.ts'
import { S3Error } from '../s3-error.ts'

/** Nothing comes from the server, or is taken by it, for so long. */
const SILENT_MS = 60_000
const SOCKETS_MAX = 256
const options = { keepAlive: true, maxSockets: SOCKETS_MAX }
const agents = { 'http:': new HttpAgent(options), 'https:': new HttpsAgent(options) }
/** Answers after which S3 has its clients try again, how often that is done, and after how long. */
const AGAIN = new Set([500, 502, 503])
const TRIES = 3
const AGAIN_MS = 200
const EMPTY_HASH = sha256('')

/** A request to the server that has a volume's bucket. */
export interface OuterQuestion {
  method: string
  /** Empty for what is asked of the bucket. */
  key: string
  query: readonly (readonly [string, string])[]
  /** By their names in lower case. */
  headers: Readonly<Record<string, string>>
  /** How many bytes follow; null: none. */
  length: number | null
  /** What is signed for the bytes: their SHA-256 in hexadecimal; null: nothing is known of them yet. */
  hash: string | null
}

export interface Asking {
  sent: ClientRequest
  answered: Promise<IncomingMessage>
  /** Whether it has answered, though it may not have all of the body. */
  hasAnswered(): boolean
}

/**
 * Begins a request, signed with the operator's key. Whoever asks sends its body and ends it.
 * @param now In milliseconds.
 */
export function askOuter(outer: OuterVolume, question: OuterQuestion, now: number): Asking {
  const url = new URL(outer.endpoint)
  const rawPath = `/${outer.bucket}${question.key === '' ? '' : `/${encodeUri(question.key, '/')}`}`
  const rawQuery = question.query.map(([name, value]) => `${encodeUri(name)}=${encodeUri(value)}`).join('&')
  const timestamp = new Date(now).toISOString().replaceAll(/[-:]|\.\d{3}/g, '')
  const date = timestamp.slice(0, 8)
  const key = outer.signingKeys[date]
  if (!key) throw new S3Error('ServiceUnavailable')
  const payload = question.length === null ? EMPTY_HASH : (question.hash ?? 'UNSIGNED-PAYLOAD')
  const headers: Record<string, string> = {
    ...question.headers,
    host: url.host,
    'x-amz-date': timestamp,
    'x-amz-content-sha256': payload,
    ...(question.length !== null && { 'content-length': String(question.length) }),
  }
  const signedHeaders = Object.keys(headers).toSorted()
  const canonical = canonicalFor(
    { method: question.method, rawPath, rawQuery, rawHeaders: Object.entries(headers).flat() },
    { signedHeaders, payload },
  )
  const scope = scopeOf({ date, region: outer.region })
  const toSign = ['AWS4-HMAC-SHA256', timestamp, scope, sha256(canonical)].join('\n')
  const signature = createHmac('sha256', key).update(toSign).digest('hex')
  headers.authorization = `AWS4-HMAC-SHA256 Credential=${outer.accessKeyId}/${scope}, SignedHeaders=${signedHeaders.join(';')}, Signature=${signature}`

  const isTls = url.protocol === 'https:'
  const sent = (isTls ? httpsRequest : httpRequest)({
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port || (isTls ? 443 : 80),
    agent: agents[isTls ? 'https:' : 'http:'],
    method: question.method,
    path: rawQuery === '' ? rawPath : `${rawPath}?${rawQuery}`,
    headers,
    timeout: SILENT_MS,
  })
  const answering = Promise.withResolvers<IncomingMessage>()
  let isAnswered = false
  sent.once('response', answer => {
    isAnswered = true
    answering.resolve(answer)
  })
  sent.once('timeout', () => sent.destroy(new Error('the S3 server says nothing')))
  sent.on('error', cause => answering.reject(new S3Error('ServiceUnavailable', { message: SILENT, cause })))
  // Who gives up before it has answered does not ask for it any more.
  answering.promise.catch(() => undefined)
  return { sent, answered: answering.promise, hasAnswered: () => isAnswered }
}

/**
 * Asks with a body that is known whole, or without one, and again where the server says that it went wrong there and may not the
 * next time.
 * @param given.now In milliseconds.
 */
export async function answerOf(
  outer: OuterVolume,
  question: Omit<OuterQuestion, 'length' | 'hash'>,
  given: { body: Buffer | null; now(): number; response: ServerResponse },
): Promise<IncomingMessage> {
  const { body, response } = given
  const whole = { ...question, length: body?.length ?? null, hash: body && sha256(body) }
  for (let tried = 1; ; tried += 1) {
    const { sent, answered } = askOuter(outer, whole, given.now())
    sent.end(body ?? undefined)
    const stop = () => sent.destroy()
    response.once('close', stop)
    try {
      const answer = await answered
      if (!AGAIN.has(answer.statusCode ?? 0) || tried >= TRIES || response.destroyed) return answer
      answer.destroy()
    } finally {
      response.removeListener('close', stop)
    }
    await sleep(AGAIN_MS * tried)
  }
}

const SILENT = 'The store of objects does not answer now. Please try again.'
