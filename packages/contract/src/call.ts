import type * as z from 'zod'

/**
 * Who may make a call. `guest`: anybody. `user`: a signed-in customer, verified or not. `verified`: a signed-in
 * customer whose e-mail address is verified (R6.1, R6.2, R6.3).
 */
export type Audience = 'guest' | 'user' | 'verified'

/** How long the console waits for an answer; the milliseconds stand in `limits.ts` (R9.1). */
export type TimeoutClass = 'fast' | 'normal' | 'long' | 'email' | 'download' | 'deploy' | 'default'

/** What a call is, apart from its types. */
interface CallRules {
  /** Stable name that logs, metrics and rate limits key on, such as `bill.topup`. */
  operation: string
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Below `/gateway`, with OpenAPI parameters: `/api/instance/{id}/stop`. */
  path: `/${string}`
  /** One sentence for the OpenAPI document. */
  summary: string
  audience: Audience
  timeout: TimeoutClass
  /** It moves or commits money, so it takes an `Idempotency-Key` (B3). */
  spends: boolean
  /** Answers that fail may be tried again by the console: only calls without side effects (R9.1). */
  retry: boolean
  /** Its body may also come form-encoded, which is how the seed sends it. */
  form: boolean
  /** `berth` is `{status, msg, data}`; `casdoor` adds the four keys of Casdoor's envelope and answers 200. */
  envelope: 'berth' | 'casdoor'
}

/** One call of the gateway: the value that routes, console, forms and OpenAPI are all made from. */
export interface Call<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Data extends z.ZodType = z.ZodType,
> extends CallRules {
  params: Params | null
  query: Query | null
  body: Body | null
  data: Data
}

type Input<Schema> = Schema extends z.ZodType ? z.input<Schema> : never

/** What the caller of a call hands over: only the parts that the call has. */
export type CallInput<C extends Call> = (C['params'] extends z.ZodType
  ? { params: Input<C['params']> }
  : { params?: never }) &
  (C['query'] extends z.ZodType ? { query?: Input<C['query']> } : { query?: never }) &
  (C['body'] extends z.ZodType ? { body: Input<C['body']> } : { body?: never })

/** What a call answers, inside its envelope. */
export type CallData<C extends Call> = z.output<C['data']>

interface CallOptions<
  Params extends z.ZodType | null,
  Query extends z.ZodType | null,
  Body extends z.ZodType | null,
  Data extends z.ZodType,
> extends Pick<CallRules, 'operation' | 'method' | 'path' | 'summary' | 'audience'>,
    Partial<Pick<CallRules, 'timeout' | 'spends' | 'retry' | 'form' | 'envelope'>> {
  params?: Params
  query?: Query
  body?: Body
  data: Data
}

/**
 * Declares a call. Left out: no params, query or body; the default timeout; spends nothing; never retried; JSON
 * alone; the gateway's own envelope.
 */
export function defineCall<
  Data extends z.ZodType,
  Params extends z.ZodType | null = null,
  Query extends z.ZodType | null = null,
  Body extends z.ZodType | null = null,
>(options: CallOptions<Params, Query, Body, Data>) {
  return {
    timeout: 'default' as TimeoutClass,
    spends: false,
    retry: false,
    form: false,
    envelope: 'berth' as 'berth' | 'casdoor',
    ...options,
    params: (options.params ?? null) as Params,
    query: (options.query ?? null) as Query,
    body: (options.body ?? null) as Body,
  }
}
