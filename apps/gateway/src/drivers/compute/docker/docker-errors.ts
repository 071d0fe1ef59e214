import { ComputeError, type ComputeErrorCode } from '../port/compute-error.ts'

/** What a Docker call can end with: an HTTP answer of the engine, or an error of the connection to it. */
interface EngineError {
  statusCode?: number
  code?: string
  name?: string
  message?: string
  json?: { message?: string }
  cause?: { name?: string }
}

/** The name of the reason by which a question is given up that the engine left unanswered. */
const ENGINE_SILENT = 'EngineSilentError'

/** By which Node tells that a connection was not made, or broke, or led to somebody else. */
const CONNECTION_CODES = new RegExp(
  '^(ECONNREFUSED|ENOENT|EACCES|EPIPE|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|EPROTO' +
    '|ERR_TLS_.*|ERR_SSL_.*|CERT_.*|.*_SELF_SIGNED_CERT|SELF_SIGNED_CERT_.*|UNABLE_TO_.*)$',
)

/** What an operator would have to guess from an engine's own words. */
const MEANINGS = [
  {
    is: /^(ERR_TLS_CERT_.*|CERT_.*|.*_SELF_SIGNED_CERT|SELF_SIGNED_CERT_.*|UNABLE_TO_.*(CERT|SIGNATURE).*)$/,
    means: 'the engine’s certificate is not one that the authority of its description signed',
  },
  {
    is: /could not select device driver/i,
    means: 'Docker’s host gives no machine a GPU: it lacks the NVIDIA Container Toolkit',
  },
]

/** Whether the engine said that the thing named does not exist. */
export function isMissing(error: unknown): boolean {
  return statusCodeOf(error) === 404
}

/** What a question about one thing finds; null where the engine says that the thing does not exist. */
export async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

/** The HTTP status of the engine's refusal; undefined when the connection to it failed. */
export function statusCodeOf(error: unknown): number | undefined {
  return (error as EngineError | null)?.statusCode
}

/**
 * Asks the engine a short question, and fails when it leaves it unanswered for too long. Not every question of the
 * client can be aborted; those that cannot are left behind.
 */
export async function answeredWithin<T>(
  timeoutMs: number,
  ask: (options: { abortSignal: AbortSignal }) => Promise<T>,
): Promise<T> {
  const giveUp = new AbortController()
  const silence = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const error = Object.assign(new Error(`no answer within ${timeoutMs} ms`), { name: ENGINE_SILENT })
    silence.reject(error)
    giveUp.abort(error)
  }, timeoutMs)
  try {
    return await Promise.race([ask({ abortSignal: giveUp.signal }), silence.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Turns whatever a Docker call threw into the port's own error. `doing` completes "failed while …". */
export function toComputeError(error: unknown, doing: string): ComputeError {
  if (error instanceof ComputeError) return error
  const { statusCode, code, name, message = String(error), json, cause } = (error ?? {}) as EngineError
  const said = (json?.message ?? message).slice(0, 500)
  if (name === ENGINE_SILENT || cause?.name === ENGINE_SILENT) {
    return new ComputeError('engine_unavailable', `${doing}: Docker does not answer`, { cause: error })
  }
  const means = MEANINGS.find(({ is }) => is.test(code ?? '') || is.test(said))?.means
  const sentence = means === undefined ? said : `${means} (${said})`
  return new ComputeError(codeOf({ statusCode, code, name, said }), `${doing}: ${sentence}`, { cause: error })
}

/** Runs Docker calls so that all that they throw is the port's own error. */
export async function translated<T>(doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw toComputeError(error, doing)
  }
}

function codeOf(error: {
  statusCode: number | undefined
  code: string | undefined
  name: string | undefined
  said: string
}): ComputeErrorCode {
  const { statusCode, code, said } = error
  if (error.name === 'AbortError' || code === 'ABORT_ERR') return 'failed'
  if (/port is already allocated|address already in use|all ports are allocated/i.test(said))
    return 'port_taken'
  // Told as if something were missing.
  if (/could not find an available.* address pool|all predefined address pools/i.test(said))
    return 'exhausted'
  if (statusCode === undefined && code && CONNECTION_CODES.test(code)) return 'engine_unavailable'
  if (statusCode === 404 && /no such image|manifest|pull access denied|repository .*not found/i.test(said)) {
    return 'image_unavailable'
  }
  if (statusCode === 404) return 'not_found'
  if (/is not running|is paused|container .* stopped/i.test(said)) return 'not_running'
  if (/no space left/i.test(said)) return 'no_room'
  if (/cannot allocate memory|resource temporarily unavailable|too many open files/i.test(said)) {
    return 'exhausted'
  }
  if (/could not select device driver|unknown (or invalid )?runtime/i.test(said)) return 'unsupported'
  return 'failed'
}
