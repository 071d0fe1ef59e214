import type { Call, CallData, CallInput } from '@berth/contract/call'
import {
  type ErrorEnvelope,
  GATEWAY_PREFIX,
  IDEMPOTENCY_KEY_HEADER,
  LANGUAGE_HEADER,
} from '@berth/contract/envelope'
import { ERRORS, type ErrorCode } from '@berth/contract/errors'
import { CALL_TIMEOUT_MS, type Language, RETRY_COUNT, RETRY_DELAY_MS } from '@berth/contract/limits'
import { ApiError, isUnsettled } from './api-error.ts'
import type { IdempotencyKeys } from './idempotency-keys.ts'

/** What the request layer needs from its surroundings. */
export interface RequestDeps {
  /** Origin before `/gateway`; empty in the browser, where the gateway serves the console itself. */
  origin: string
  readToken: () => string | null
  readLanguage: () => Language
  keys: IdempotencyKeys
  /** Text of an error that the gateway could not word itself, in the interface's language. */
  textOf: (code: ErrorCode, values: { status: number }) => string
  /** Told of every failure but a cancelled call, once, after the last try. */
  onFailure: (error: ApiError, about: FailureContext) => void
  /** Told of every try whether an answer came, whatever it was; not of one that took too long or was cancelled. */
  onReach?: (answered: boolean) => void
  /**
   * Asks whoever has the session to confirm who they are, where a call wants a recent sign-in.
   * @returns Whether they did: the call then goes on by itself.
   */
  confirmSignIn?: () => Promise<boolean>
  timeouts?: Record<Call['timeout'], number>
  retryDelayMs?: number
}

export interface RequestOptions {
  /** Cancels the call from outside. */
  signal?: AbortSignal
  /** Its caller shows the failure itself, so that there is no toast (R8.2). */
  silent?: boolean
  /** The body of a call that takes bytes. */
  bytes?: Blob
}

/**
 * How long a body may be for a browser to go on sending it when its document is gone: it takes 64 KiB of all such
 * requests, and a character is four bytes at most.
 */
const KEPT_ALIVE_CHARS_MAX = 16_000

/** What is known of a call that failed, besides its error. */
export interface FailureContext {
  silent: boolean
  /** As the call says. */
  aboutSession: boolean
}

/** Carries out a call of the contract and gives the envelope's data; fails with an `ApiError`. */
export type Request = <C extends Call>(
  call: C,
  input: CallInput<C>,
  options?: RequestOptions,
) => Promise<CallData<C>>

export interface Requester {
  request: Request
  /** Cancels what is under way, but for the calls that outlive a change of page (R4.11). */
  abortForNavigation: () => void
}

/**
 * Makes the request layer (R7.7, R7.8, R8.1, R9.1).
 * @param deps See RequestDeps.
 */
export function createRequester(deps: RequestDeps): Requester {
  const inFlight = new Set<AbortController>()

  async function request<C extends Call>(call: C, input: CallInput<C>, options: RequestOptions = {}) {
    const abort = new AbortController()
    const outer = options.signal
    if (outer?.aborted) abort.abort()
    const follow = () => abort.abort()
    outer?.addEventListener('abort', follow)
    if (!call.outlivesNavigation) inFlight.add(abort)
    try {
      return await withConfirmation(deps, call, input, { signal: abort.signal, bytes: options.bytes ?? null })
    } catch (error) {
      if (error instanceof ApiError && error.code !== 'cancelled') {
        deps.onFailure(error, { silent: options.silent ?? false, aboutSession: call.aboutSession })
      }
      throw error
    } finally {
      outer?.removeEventListener('abort', follow)
      inFlight.delete(abort)
    }
  }

  return {
    request,
    abortForNavigation() {
      for (const abort of inFlight) abort.abort()
      inFlight.clear()
    },
  }
}

/** What every attempt at a call has besides what it says. */
interface Attempt {
  signal: AbortSignal
  bytes: Blob | null
}

const BYTES = 'application/octet-stream'

/** Has the customer confirm the sign-in where the call wants that, and goes on. */
async function withConfirmation<C extends Call>(
  deps: RequestDeps,
  call: C,
  input: CallInput<C>,
  attempt: Attempt,
) {
  try {
    return await withRetries(deps, call, input, attempt)
  } catch (error) {
    const isWanted = error instanceof ApiError && error.code === 'recent_sign_in_required'
    if (!isWanted || !(await deps.confirmSignIn?.())) throw error
    return await withRetries(deps, call, input, attempt)
  }
}

async function withRetries<C extends Call>(
  deps: RequestDeps,
  call: C,
  input: CallInput<C>,
  attempt: Attempt,
) {
  const { signal } = attempt
  const content = JSON.stringify([input.params, input.query, input.body])
  const key = call.spends ? deps.keys.take(call.operation, content) : null
  for (let tries = 0; ; tries += 1) {
    try {
      const data = await once(deps, call, input, key, attempt)
      if (key) deps.keys.settle(call.operation, key)
      return data
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (key && !isUnsettled(error)) deps.keys.settle(call.operation, key)
      if (!call.retry || tries >= RETRY_COUNT || !mayPassNextTime(error)) throw error
      await pause(deps.retryDelayMs ?? RETRY_DELAY_MS, signal)
      if (signal.aborted) throw failure(deps, call, 'cancelled', 0)
    }
  }
}

/** One attempt, bounded by the call's timeout class. */
async function once<C extends Call>(
  deps: RequestDeps,
  call: C,
  input: CallInput<C>,
  key: string | null,
  { signal, bytes }: Attempt,
): Promise<CallData<C>> {
  const timeout = AbortSignal.timeout((deps.timeouts ?? CALL_TIMEOUT_MS)[call.timeout])
  const text = input.body === undefined ? undefined : bodyOf(call, input.body)
  const sent = bytes ?? text
  let response: Response
  let body: unknown
  let file: string | null
  try {
    response = await fetch(deps.origin + addressOf(call, input), {
      method: call.method,
      // A tab that is closed meanwhile does not take back what was bought: it would be half done.
      keepalive: call.spends && (text ?? '').length <= KEPT_ALIVE_CHARS_MAX,
      headers: headersOf(deps, bytes ? BYTES : mediaTypeOf(call, input.body), key),
      signal: AbortSignal.any([signal, timeout]),
      ...(sent === undefined ? {} : { body: sent }),
    })
    // An answer that broke off says nothing, whatever its status was: it counts as none.
    const said = await response.text()
    file = isFile(call, response) ? said : null
    body = file === null ? parsed(said) : null
  } catch {
    if (signal.aborted) throw failure(deps, call, 'cancelled', 0)
    if (timeout.aborted) throw failure(deps, call, 'timed_out', 0)
    deps.onReach?.(false)
    throw failure(deps, call, 'network', 0)
  }
  deps.onReach?.(true)
  if (file !== null) return file as CallData<C>
  if (response.ok && isEnvelope(body) && body.status === 'ok') {
    // Casdoor's flag: the password was right, and a new one is needed first (R4.10).
    if (call.envelope === 'casdoor' && body.data3 === true) {
      throw failure(deps, call, 'password_expired', response.status)
    }
    return body.data as CallData<C>
  }
  throw fromAnswer(deps, call, response.status, body)
}

/** Whether an answer is the file that a call answers with: what it refuses comes in the envelope. */
function isFile({ file }: Call, { ok, headers }: Response): boolean {
  return ok && file !== null && (headers.get('content-type') ?? '').startsWith(file)
}

/** Null for what is not JSON: then it is not the gateway's answer. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The error that an answer says, or that its HTTP status means where it says nothing of ours (R8.1). */
export function fromAnswer(deps: RequestDeps, call: Call, status: number, body: unknown): ApiError {
  const byStatus = codeOfStatus(status)
  if (!isEnvelope(body) || body.status !== 'error') return failure(deps, call, byStatus, status)
  const envelope = body as Partial<ErrorEnvelope>
  // The identity service says two things in words alone (R4.10, R8.1).
  if (/need update password/i.test(envelope.msg ?? '')) return failure(deps, call, 'password_expired', status)
  const said = /please sign out first/i.test(envelope.msg ?? '') ? 'sign_out_first' : envelope.code
  const code = said && said in ERRORS ? said : byStatus
  return new ApiError({
    code,
    message: envelope.msg || deps.textOf(code, { status }),
    status,
    fields: envelope.fields ?? [],
    requestId: envelope.request_id ?? null,
    operation: call.operation,
  })
}

function codeOfStatus(status: number): ErrorCode {
  if (status === 401) return 'login_expired'
  if (status === 403) return 'forbidden'
  if (status === 404) return 'not_found'
  if (status === 500) return 'internal'
  return 'request_failed'
}

/** The error of a call to which no answer came. */
export function failure(deps: RequestDeps, call: Call, code: ErrorCode, status: number): ApiError {
  return new ApiError({ code, message: deps.textOf(code, { status }), status, operation: call.operation })
}

function isEnvelope(body: unknown): body is { status: string; data: unknown; data3?: unknown } {
  return typeof body === 'object' && body !== null && 'status' in body
}

function mayPassNextTime(error: ApiError): boolean {
  return error.code !== 'cancelled' && (error.status === 0 || error.status >= 500)
}

function mediaTypeOf(call: Call, body: unknown): string | null {
  if (body === undefined) return null
  return call.form ? 'application/x-www-form-urlencoded' : 'application/json'
}

function bodyOf(call: Call, body: unknown): string {
  return call.form ? String(new URLSearchParams(body as Record<string, string>)) : JSON.stringify(body)
}

/** The headers of a request: whose it is, in which language. */
export function headersOf(
  deps: RequestDeps,
  mediaType: string | null,
  key: string | null,
): Record<string, string> {
  const headers: Record<string, string> = {
    Accept: 'application/json',
    [LANGUAGE_HEADER]: deps.readLanguage(),
  }
  const token = deps.readToken()
  if (token) headers.Authorization = `Bearer ${token}`
  if (mediaType) headers['Content-Type'] = mediaType
  if (key) headers[IDEMPOTENCY_KEY_HEADER] = key
  return headers
}

/**
 * The path and query of a call.
 * @param call Its path may hold `{names}`, which `input.params` fills.
 * @param input Query values that are undefined are left out; a list repeats its name.
 */
export function addressOf<C extends Call>(call: C, input: CallInput<C>): string {
  const params = (input.params ?? {}) as Record<string, unknown>
  const path = call.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])))
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries((input.query ?? {}) as Record<string, unknown>)) {
    if (value === undefined || value === null) continue
    for (const item of Array.isArray(value) ? value : [value]) query.append(name, String(item))
  }
  return `${GATEWAY_PREFIX}${path}${query.size > 0 ? `?${query}` : ''}`
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
    if (signal.aborted) done()
  })
}
