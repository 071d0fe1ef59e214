import { createHmac } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { Call } from '@berth/contract/call'
import { IDEMPOTENCY_KEY_HEADER } from '@berth/contract/envelope'
import { ERRORS, type ErrorCode } from '@berth/contract/errors'
import {
  CALL_TIMEOUT_MS,
  IDEMPOTENCY_KEY_CHARS_MAX,
  IDEMPOTENCY_KEY_CHARS_MIN,
  type Language,
} from '@berth/contract/limits'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../clock.ts'
import { isDatabaseUnavailable } from '../database/unavailable.ts'
import { ApiError } from './api-error.ts'
import type { CallDone } from './call-done.ts'
import type { CallerTurns } from './caller-turns.ts'
import { type CallInputs, createInputCheck } from './check-input.ts'
import { type Answer, errorAnswer, okText } from './envelopes.ts'
import { dispositionOf } from './file-names.ts'
import type { Caller, CallRequest, FileAnswer, Route } from './handler.ts'
import { wasForwarded } from './hosts.ts'
import type { Idempotency, Outcome } from './idempotency.ts'
import { pickLanguage } from './languages.ts'
import { leavingSignal } from './leaving-signal.ts'
import type { RawAnswer } from './raw-routes.ts'
import { requireRecentSignIn } from './recent-sign-in.ts'

/** Names who holds a token; null for a token that is not good (any more). */
export type Authenticate = (token: string) => Promise<Caller | null>

interface CallHandlerDeps {
  authenticate: Authenticate
  clock: Clock
  idempotency: Idempotency
  inTurn: CallerTurns
  /** Hashes what came with an idempotency key, so that the kept hash tells nothing about a card number in it. */
  contentKey: Uint8Array
  /** Checks what handlers answer against the contract: for tests. */
  checkAnswers: boolean
  /**
   * Is told of each call that does not only look, done or refused, before it is answered. Not of one whose answer was given
   * before for the same key. Must return at once.
   */
  onCallDone: ((done: CallDone) => void) | null
}

/** An answer's text, the stream of its events, or its file. */
type Sent = string | Buffer | Readable

/** What became of one request on the way. */
interface Seen {
  input: CallInputs | null
  data: unknown
  replayed: boolean
}

/** On every answer of a call: never cached, never framed. */
export const API_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
} as const

/** On the answer of a call that streams; a proxy that gathers answers would hold its events back. */
const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'x-accel-buffering': 'no',
} as const

/** Says that an answer is the one that an earlier request with the same key got. */
export const REPLAYED_HEADER = 'Idempotent-Replayed'

const KEY_HEADER = IDEMPOTENCY_KEY_HEADER.toLowerCase()
const KEY_PATTERN = new RegExp(`^[\\x21-\\x7e]{${IDEMPOTENCY_KEY_CHARS_MIN},${IDEMPOTENCY_KEY_CHARS_MAX}}$`)
const USER_AGENT_CHARS_MAX = 300

/** A body may take a minute to come, and a turn; the session of whoever sent its head may have ended since. */
const ADMITTED_MS_MAX = 5_000

/**
 * Makes what answers a call's requests. `admit` is asked with the head of a request, before anything of its body is
 * read: who asks, and whether they may. `handler` goes on with what they say.
 * @returns A Fastify hook and handler; their errors go to the server's error handler.
 */
export function createCallHandler({ call, handler }: Route, deps: CallHandlerDeps) {
  const checkInput = createInputCheck(call)
  const waitMs = CALL_TIMEOUT_MS[call.timeout]

  async function answer(request: FastifyRequest, reply: FastifyReply, seen: Seen): Promise<Sent> {
    seen.input = checkInput(request)
    if (call.raw) {
      const asked = requestOf(request, { ...seen.input, body: request.body }, null, leavingSignal(reply.raw))
      const { status, headers, body } = (await handler(asked)) as unknown as RawAnswer
      reply.code(status).headers(headers)
      return body
    }
    seen.data = await handler(requestOf(request, seen.input, null))
    if (call.file) {
      const { name, body } = seen.data as FileAnswer
      reply.headers({
        'content-type': `${call.file}; charset=utf-8`,
        'content-disposition': dispositionOf(name),
      })
      return body
    }
    if (!call.streams) return okTextOf(seen.data)
    reply.headers(STREAM_HEADERS)
    return seen.data as Readable
  }

  function okTextOf(data: unknown): string {
    if (deps.checkAnswers) call.data.parse(data)
    return okText(call, data)
  }

  async function answerOnce(
    request: FastifyRequest,
    reply: FastifyReply,
    caller: Caller,
    seen: Seen,
  ): Promise<string> {
    const key = keyOf(request)
    const input = checkInput(request)
    seen.input = input
    const bodyHash = hashOf(input, deps.contentKey)
    const keyed = { userId: caller.userId, operation: call.operation, key, bodyHash, waitMs }
    const outcome = await deps.idempotency.execute(keyed, () => carryOut(request, input, key, seen))
    request.errorCode = outcome.errorCode
    seen.replayed = outcome.replayed
    if (outcome.replayed) reply.header(REPLAYED_HEADER, 'true')
    reply.code(outcome.answer.httpStatus)
    return outcome.answer.text
  }

  /** Turns errors into answers too, so that those that stand are kept for the key. */
  async function carryOut(
    request: FastifyRequest,
    input: CallInputs,
    key: string,
    seen: Seen,
  ): Promise<Outcome> {
    try {
      seen.data = await handler(requestOf(request, input, key))
      const text = okTextOf(seen.data)
      return { answer: { httpStatus: 200, text }, errorCode: null, final: true }
    } catch (error) {
      const known = toApiError(error, request)
      const { verdict, http } = ERRORS[known.code]
      // Consoles keep their key where the gateway failed: such an answer must never stand for it.
      const final = verdict !== 'retry' && http < 500
      return { answer: answerOf(known, call, request), errorCode: known.code, final }
    }
  }

  async function handle(request: FastifyRequest, reply: FastifyReply, seen: Seen): Promise<Sent> {
    if (reply.elapsedTime > ADMITTED_MS_MAX) await identify(request, call, deps)
    reply.headers(API_HEADERS)
    const { caller } = request
    return call.spends && caller ? answerOnce(request, reply, caller, seen) : answer(request, reply, seen)
  }

  const inTurn = (request: FastifyRequest, reply: FastifyReply, seen: Seen) =>
    deps.inTurn(call, request, () => handle(request, reply, seen))

  const onCallDone = call.readOnly ? null : deps.onCallDone

  function tell(request: FastifyRequest, { input, data, replayed }: Seen, errorCode: ErrorCode | null): void {
    if (replayed || !onCallDone) return
    const { params, body } = input ?? {}
    const { caller, ip: address } = request
    onCallDone({ call, caller, params, body, data, errorCode, address, userAgent: userAgentOf(request) })
  }

  /** Does a part of the work; a failure is told. */
  async function telling<Result>(
    request: FastifyRequest,
    seen: Seen,
    work: Promise<Result>,
  ): Promise<Result> {
    try {
      return await work
    } catch (error) {
      tell(request, seen, codeOf(error))
      throw error
    }
  }

  return {
    async admit(request: FastifyRequest): Promise<void> {
      await telling(request, unseen(), identify(request, call, deps))
    },
    async handler(request: FastifyRequest, reply: FastifyReply): Promise<Sent> {
      const seen = unseen()
      const text = await telling(request, seen, inTurn(request, reply, seen))
      tell(request, seen, request.errorCode)
      return text
    },
  }
}

/**
 * What a request failed with, as an error that may be shown; what is not one of ours is logged here.
 * @param error Anything that was thrown.
 */
export function toApiError(error: unknown, request: FastifyRequest): ApiError {
  if (error instanceof ApiError) {
    if (error.cause !== undefined) request.log.warn({ err: error, reqId: request.id }, 'a call failed')
    return error
  }
  if (isDatabaseUnavailable(error)) {
    request.log.warn({ err: error, reqId: request.id }, 'the database did not answer')
    return new ApiError('unavailable', { cause: error })
  }
  request.log.error({ err: error, reqId: request.id }, 'a call failed unexpectedly')
  return new ApiError('internal', { cause: error })
}

/** The code that a failed call is answered with. */
function codeOf(error: unknown): ErrorCode {
  if (error instanceof ApiError) return error.code
  return isDatabaseUnavailable(error) ? 'unavailable' : 'internal'
}

function unseen(): Seen {
  return { input: null, data: undefined, replayed: false }
}

/** The answer of a failed call, in the language of its request. */
export function answerOf(error: ApiError, call: Call | null, request: FastifyRequest): Answer {
  return errorAnswer(error, call?.envelope ?? 'berth', languageOf(request), request.id)
}

/** Finds out who asks, notes it on the request, and refuses whom the call is not for. */
async function identify(
  request: FastifyRequest,
  { audience, proof }: Call,
  { authenticate, clock }: Pick<CallHandlerDeps, 'authenticate' | 'clock'>,
): Promise<Caller | null> {
  const token = bearerOf(request.headers.authorization)
  const caller = token === null ? null : await authenticate(token)
  request.caller = caller
  if (audience === 'guest') return caller
  if (token === null) throw new ApiError('login_required')
  if (!caller) throw new ApiError('login_expired')
  if (caller.passwordExpired) throw new ApiError('password_expired')
  if (audience === 'verified' && !caller.emailVerified) throw new ApiError('account_not_activated')
  if (proof === 'recent') requireRecentSignIn(caller, clock)
  return caller
}

/** Null when there is no token at all; a malformed header holds one that is not good. */
function bearerOf(header: string | undefined): string | null {
  if (!header) return null
  return /^bearer /i.test(header) ? header.slice(7).trim() : ''
}

function keyOf(request: FastifyRequest): string {
  const key = request.headers[KEY_HEADER]
  if (typeof key !== 'string' || !KEY_PATTERN.test(key)) throw new ApiError('idempotency_key_required')
  return key
}

/** The schemas give their fields in one order, so that the same content has the same hash. */
function hashOf({ params, query, body }: CallInputs, key: Uint8Array): string {
  return createHmac('sha256', key)
    .update(JSON.stringify([params, query, body]))
    .digest('hex')
}

function languageOf(request: FastifyRequest): Language {
  return pickLanguage(request.headers['accept-language'])
}

function requestOf(
  request: FastifyRequest,
  input: CallInputs,
  key: string | null,
  signal: AbortSignal | null = null,
): CallRequest<Call> {
  return new RequestView(request, input, key, signal) as unknown as CallRequest<Call>
}

function userAgentOf(request: FastifyRequest): string {
  return (request.headers['user-agent'] ?? '').slice(0, USER_AGENT_CHARS_MAX)
}

/** What few handlers look at is read only when they do. */
class RequestView {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
  readonly idempotencyKey: string | null
  readonly signal: AbortSignal | null
  readonly #request: FastifyRequest

  constructor(request: FastifyRequest, input: CallInputs, key: string | null, signal: AbortSignal | null) {
    this.params = input.params
    this.query = input.query
    this.body = request.routeOptions.config.call?.bytes ? request.raw : input.body
    this.idempotencyKey = key
    this.signal = signal
    this.#request = request
  }
  get caller(): Caller | null {
    return this.#request.caller
  }
  get language(): Language {
    return languageOf(this.#request)
  }
  get contentType(): string {
    const { raw } = this.#request.routeOptions.config.call ?? {}
    return raw ? (this.#request.headers['content-type'] ?? '') : ''
  }
  get address(): string {
    return this.#request.ip
  }
  get userAgent(): string {
    return userAgentOf(this.#request)
  }
  get origin(): string {
    return `${this.#request.protocol}://${this.#request.host}`
  }
  get forwarded(): boolean {
    return wasForwarded(this.#request.headers)
  }
  get log() {
    return this.#request.log.child({ reqId: this.#request.id })
  }
}
