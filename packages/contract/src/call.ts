import type * as z from 'zod'
import { BODY_BYTES_MAX } from './limits.ts'

/**
 * Who may make a call. `guest`: anybody. `user`: a signed-in customer, verified or not. `verified`: a signed-in
 * customer whose e-mail address is verified (R6.1, R6.2, R6.3).
 */
export type Audience = 'guest' | 'user' | 'verified'

/** How long the console waits for an answer; the milliseconds stand in `limits.ts` (R9.1). */
export type TimeoutClass = 'fast' | 'normal' | 'long' | 'email' | 'download' | 'deploy' | 'default'

/**
 * Which count of calls from one network address it adds to; the gateway says how many each class may have.
 * `general`: what a console makes all day. The others are counted apart, because they let people guess a secret
 * (`login`), make accounts (`signup`), send mails (`mail`), draw pictures (`captcha`) or guess codes that are money
 * (`coupon`).
 */
export type RateClass = 'general' | 'login' | 'signup' | 'mail' | 'captcha' | 'coupon' | 'card'

/** Said where a changing call has nothing to say, so that nobody takes it for forgotten: one sentence. */
export interface Because {
  because: string
}

/**
 * What the audit log keeps of a call besides its operation, who made it and what refused it (B12): where the id of
 * what it is about stands, as `params.id`, `body.instance_id` or `data.id`; the first place that holds one counts,
 * and no place at all means the account itself.
 */
export interface AuditRule {
  target: readonly `${'params' | 'body' | 'data'}.${string}`[]
}

/**
 * What somebody must show besides a session, which may be a stolen one, before the call is carried out. `recent`: that
 * they have signed in, or confirmed who they are, within `RECENT_SIGN_IN_MS`; the gateway looks before it reads the body,
 * and the console asks and goes on. `own`: the call asks by itself, in its body or for some of what it does. `none`: it
 * gives nobody a way in that outlasts the session, and takes none away.
 */
export type Proof = 'none' | 'recent' | 'own'

/** What a call is, apart from its types. */
interface CallRules {
  /** Stable name that logs, metrics and the audit log key on, such as `bill.topup`. */
  operation: string
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Below `/gateway`, with OpenAPI parameters: `/api/instance/{id}/stop`. */
  path: `/${string}`
  /** One sentence for the OpenAPI document. */
  summary: string
  audience: Audience
  timeout: TimeoutClass
  rateClass: RateClass
  proof: Proof
  /** It only looks: nothing is different after it. So it needs no `audit` and no `stales`. */
  readOnly: boolean
  /** It moves or commits money, so it takes an `Idempotency-Key` (B3). */
  spends: boolean
  /** Answers that fail may be tried again by the console: only calls that only look (R9.1). */
  retry: boolean
  /**
   * The console keeps it under way when its page is left (R4.11): what changes something always, and of what only looks
   * that which belongs to the shell or the session.
   */
  outlivesNavigation: boolean
  /** It is how the console learns or says who is signed in: what fails there is told by its page, and ends no session. */
  aboutSession: boolean
  /** Its body may also come form-encoded, which is how the seed sends it. */
  form: boolean
  /**
   * It answers with server-sent events, each with `data` as JSON, for as long as there is something to tell; what it
   * refuses comes in the envelope like any other refusal.
   */
  streams: boolean
  /** It answers with a file of this media type, its bytes as they come; what it refuses comes in the envelope. */
  file: 'text/csv' | null
  /** Its body is bytes, which its handler is given as they come. */
  bytes: boolean
  /**
   * It asks somebody else, such as a model, and answers as they do (R7.8): JSON or server-sent events, whose parts are said
   * by `data`, in no envelope. What the gateway refuses comes in the envelope. This is what its body is like, which its
   * handler is given as it came and reads by itself.
   */
  raw: z.ZodType | null
  /** The longest body that is read: small, but for calls whose largest legal body needs more. */
  bodyBytesMax: number
  /** `berth` is `{status, msg, data}`; `casdoor` adds the four keys of Casdoor's envelope and answers 200. */
  envelope: 'berth' | 'casdoor'
  /** Its entry in the audit log; null for a call that only looks. */
  audit: AuditRule | Because | null
  /** Operations of the reads whose answers are old once it is done; empty for a call that only looks. */
  stales: readonly string[] | Because
}

/** One call of the gateway: the value that routes, console, forms and OpenAPI are all made from. */
export interface Call extends CallRules {
  params: z.ZodType | null
  query: z.ZodType | null
  body: z.ZodType | null
  data: z.ZodType
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

/** A call that only looks, and one that changes something: the console sends them by different ways. */
export type ReadingCall = Call & { readOnly: true }
export type ChangingCall = Call & { readOnly: false }

type Optional =
  | 'timeout'
  | 'rateClass'
  | 'proof'
  | 'readOnly'
  | 'spends'
  | 'retry'
  | 'outlivesNavigation'
  | 'aboutSession'
  | 'form'
  | 'streams'
  | 'file'
  | 'bytes'
  | 'raw'
  | 'bodyBytesMax'
  | 'envelope'

interface CallOptions
  extends Omit<CallRules, Optional | 'audit' | 'stales'>,
    Partial<Pick<CallRules, Optional>> {
  params?: z.ZodType
  query?: z.ZodType
  body?: z.ZodType
  data: z.ZodType
}

/** What was given under a key, to the letter, or what stands where nothing was. */
type Given<Options, Key extends string, Default> = Key extends keyof Options ? Options[Key] : Default

/** Said or, where it is not, by the method. */
type ReadOnly<Options extends CallOptions> = Given<
  Options,
  'readOnly',
  Options['method'] extends 'GET' ? true : false
>

/** What a call must say besides, by what it does. */
type Consequences<Options extends CallOptions> =
  ReadOnly<Options> extends true
    ? { audit?: never; stales?: never; spends?: false }
    : {
        audit: AuditRule | Because
        stales: readonly string[] | Because
        retry?: false
        outlivesNavigation?: never
      }

/** The call that options come to, with their literals: handlers' types are made from these. */
interface CallOf<Options extends CallOptions> {
  operation: Options['operation']
  method: Options['method']
  path: Options['path']
  summary: string
  audience: Options['audience']
  timeout: TimeoutClass
  rateClass: RateClass
  proof: Proof
  readOnly: ReadOnly<Options>
  spends: Given<Options, 'spends', false>
  retry: boolean
  outlivesNavigation: boolean
  aboutSession: boolean
  form: boolean
  streams: Given<Options, 'streams', false>
  file: Given<Options, 'file', null>
  bytes: Given<Options, 'bytes', false>
  raw: Given<Options, 'raw', null>
  bodyBytesMax: number
  envelope: Given<Options, 'envelope', 'berth'>
  audit: Given<Options, 'audit', null>
  stales: Given<Options, 'stales', readonly []>
  params: Given<Options, 'params', null>
  query: Given<Options, 'query', null>
  body: Given<Options, 'body', null>
  data: Options['data']
}

/**
 * Declares a call. Left out: no params, query or body; the default timeout and rate class; no proof besides
 * the session; a GET only looks, all else
 * changes something; spends nothing; never retried; ends with its page where it only looks; not about the session; JSON alone, and a small
 * body; one answer in the gateway's own envelope, no stream and no file, and nobody else's.
 * A call that changes something says what its audit entry is and which reads it makes old, or why it has none.
 */
export function defineCall<const Options extends CallOptions>(
  options: Options & Consequences<Options>,
): CallOf<Options> {
  const readOnly = options.readOnly ?? options.method === 'GET'
  const call: Call = {
    timeout: 'default',
    rateClass: 'general',
    proof: 'none',
    readOnly,
    spends: false,
    retry: false,
    outlivesNavigation: !readOnly,
    aboutSession: false,
    form: false,
    streams: false,
    file: null,
    bytes: false,
    raw: null,
    bodyBytesMax: BODY_BYTES_MAX,
    envelope: 'berth',
    audit: null,
    stales: [],
    params: null,
    query: null,
    body: null,
    ...options,
  }
  // What the spread comes to, key by key, is what `CallOf` says; TypeScript cannot follow that for any options.
  return call as unknown as CallOf<Options>
}
