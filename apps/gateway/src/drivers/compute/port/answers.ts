import type { Duplex } from 'node:stream'
import { encodeJson, type Failure, FRAME, FrameReader } from '../sessions/frames.ts'
import { ComputeError, type ComputeErrorCode } from './compute-error.ts'

/** What peers may say in place of an answer. Every other code counts as `failed`: what they send is hostile. */
const FAILURE_CODES: ReadonlySet<string> = new Set<ComputeErrorCode>([
  'unsupported',
  'not_running',
  'port_closed',
  'no_shell',
  'guest_closed',
  'guest_refused',
  'outdated',
  'not_found',
  'exhausted',
  'no_room',
  'engine_unavailable',
  'failed',
])
const MESSAGE_LENGTH_MAX = 500

/** What a stream that ends before the answer means, unless the caller says something else. */
const GONE: Gone = { code: 'not_running', message: 'the machine does not run' }

interface Gone {
  code: ComputeErrorCode
  message: string
}

/**
 * Waits for the answer to a request that a stream was opened with or that was written to it.
 * @returns What the answer holds, as it was sent: nothing of it is to be trusted. The stream is left as if nobody had
 *   read from it: what came behind the answer is still on it.
 * @param gone What it means when the stream ends before.
 * @throws ComputeError `gone`; what the peer says went wrong; `failed` when it says nothing of sense in time.
 */
export function readAnswer(stream: Duplex, timeoutMs: number, gone: Gone = GONE): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      clearTimeout(timer)
      stream.off('readable', onReadable)
      stream.off('error', onGone)
      stream.off('end', onGone)
      stream.off('close', onGone)
      // From here on a stream that breaks is told by 'close'; without a listener 'error' would be thrown.
      stream.on('error', () => stream.destroy())
    }
    const fail = (error: ComputeError) => {
      settle()
      stream.destroy()
      reject(error)
    }
    const onGone = (cause?: unknown) => fail(new ComputeError(gone.code, gone.message, { cause }))
    let answered = false
    const reader = new FrameReader((type, payload) => {
      reader.hold()
      answered = true
      if (type !== FRAME.ok) return fail(failureOf(type === FRAME.error ? parseJson(payload) : null))
      settle()
      resolve(parseJson(payload))
    })
    // Read by 'readable' rather than 'data', so that the stream is handed on as if nobody had read from it yet.
    const onReadable = () => {
      try {
        const chunk = stream.read() as Buffer | null
        if (chunk) reader.push(chunk)
      } catch (cause) {
        fail(
          new ComputeError('failed', 'the machine’s side answers in words that are not its own', { cause }),
        )
      }
      const rest = answered ? reader.takeRest() : null
      if (rest && rest.length > 0 && !stream.destroyed) stream.unshift(rest)
    }
    const timer = setTimeout(
      () => fail(new ComputeError('failed', `the machine's side did not answer within ${timeoutMs} ms`)),
      timeoutMs,
    )
    stream.on('readable', onReadable)
    stream.on('error', onGone)
    stream.on('end', onGone)
    stream.on('close', onGone)
  })
}

/** The answer to a request, ready to write. */
export function encodeAnswer(value: unknown): Buffer {
  return encodeJson(FRAME.ok, value)
}

/** What is said in place of an answer, ready to write. */
export function encodeFailure(error: unknown): Buffer {
  return encodeJson(FRAME.error, asFailure(error))
}

/** An error in the words that peers say it with. */
export function asFailure(error: unknown): Failure {
  return {
    code: error instanceof ComputeError ? error.code : 'failed',
    message: (error instanceof Error ? error.message : String(error)).slice(0, MESSAGE_LENGTH_MAX),
  }
}

function failureOf(value: unknown): ComputeError {
  const { code, message } = fieldsOf(value)
  const known = typeof code === 'string' && FAILURE_CODES.has(code) ? (code as ComputeErrorCode) : 'failed'
  return new ComputeError(
    known,
    typeof message === 'string' ? message.slice(0, MESSAGE_LENGTH_MAX) : 'the machine’s side refused',
  )
}

/** Reads JSON that a machine sent; null when it is none. */
export function parseJson(payload: Buffer): unknown {
  try {
    return JSON.parse(payload.toString())
  } catch {
    return null
  }
}

/** The fields of an object that a machine sent; none where it is none. */
export function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/** A number that a machine sent, or null when it is none. */
export function finite(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}
