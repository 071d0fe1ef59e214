import type { Readable } from 'node:stream'
import type { Call, CallData } from '@berth/contract/call'
import type { Language } from '@berth/contract/limits'
import type { FastifyBaseLogger } from 'fastify'
import type * as z from 'zod'
import type { RawAnswer } from './raw-routes.ts'

/** The signed-in customer, as the token's session says. */
export interface Caller {
  userId: string
  sessionId: string
  emailVerified: boolean
  /** When whoever has the session last showed who they are: by signing in, or by confirming it. */
  provenAt: Date
  /** Set where the password must be changed first: only calls that guests may make go on (R4.10). */
  passwordExpired?: true
}

type Output<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined

/** What a handler is given: the checked parts of the request and nothing of Fastify. */
export interface CallRequest<C extends Call> {
  params: Output<C['params']>
  query: Output<C['query']>
  /**
   * As it comes, where the call's body is bytes: nothing of it was read, and nobody has counted it. As it came, where the call
   * is raw: it is no longer than the call says, and may be anything.
   */
  body: C['bytes'] extends true ? Readable : C['raw'] extends z.ZodType ? Buffer : Output<C['body']>
  /** Aborts when whoever asks has left before the answer was sent; only where the call is raw. */
  signal: C['raw'] extends z.ZodType ? AbortSignal : null
  /** Null only where the call's audience is `guest`, and no valid token came. */
  caller: C['audience'] extends 'guest' ? Caller | null : Caller
  language: Language
  /** Unique to this customer and call; set exactly where the call spends. */
  idempotencyKey: C['spends'] extends true ? string : null
  /** Of the body, as it was sent; only where the call is raw, else empty. */
  contentType: string
  /** Network address of the caller, and its user agent cut to 300 characters. */
  address: string
  userAgent: string
  /** Scheme, host and port that the caller used, such as `http://127.0.0.1:8080`. */
  origin: string
  /** Whether a proxy says that it passes somebody else's request on, trusted or not. */
  forwarded: boolean
  log: FastifyBaseLogger
}

/** What a call answers that answers with a file. */
export interface FileAnswer {
  /** What it is saved under. */
  name: string
  /** Read no faster than whoever asked reads it; it fails where the file is not whole. */
  body: Readable
}

/**
 * Answers a call with its data, with the stream of them where it is a call that streams, with its file, or with what
 * somebody else has said where it is raw; or throws an `ApiError`.
 */
export type CallHandler<C extends Call> = (request: CallRequest<C>) => Promise<Answered<C>>

type Answered<C extends Call> = C['raw'] extends z.ZodType
  ? RawAnswer
  : C['file'] extends string
    ? FileAnswer
    : C['streams'] extends true
      ? Readable
      : CallData<C>

/** A call together with what answers it; each domain's `routes.ts` gives a list of these. */
export interface Route {
  call: Call
  handler: CallHandler<Call>
}

/**
 * Binds a handler to its call, with the types of the call.
 * @param call The call of the contract.
 * @param handler What answers it.
 */
export function route<C extends Call>(call: C, handler: CallHandler<C>): Route {
  // The list is heterogeneous; the server checks every request against `call` before it calls `handler`.
  return { call, handler: handler as unknown as CallHandler<Call> }
}
