import type { Call } from '@berth/contract/call'
import { ERRORS, type ErrorCode } from '@berth/contract/errors'
import type * as z from 'zod'
import { ApiError } from './api-error.ts'
import { rawEvents } from './raw-events.ts'
import { addressOf, failure, fromAnswer, headersOf, parsed, type RequestDeps } from './request.ts'

/** A call that asks somebody else, such as a model, and answers as they do. */
export type AskingCall = Call & { raw: z.ZodType }

/** Models think before their first word, and some do so in silence; what is silent for longer has been lost. */
const SILENCE_MS = 120_000

/**
 * Asks and hears the answer event by event, until it ends or its signal is given. Nothing is tried again: what has begun
 * may cost something.
 * @throws ApiError what the gateway refuses; `network` where there was no answer, or it broke off; `cancelled` by the
 *   signal.
 */
export type Ask = (
  call: AskingCall,
  body: Readonly<Record<string, unknown>>,
  options: {
    signal: AbortSignal
    /** Told the data of each event, as it came; the next one is read when it has returned. */
    onEvent: (data: string) => void
  },
) => Promise<void>

/**
 * Makes what asks.
 * @param deps Those of the request layer.
 * @param silenceMs After which an answer counts as lost.
 */
export function asker(deps: RequestDeps, silenceMs: number = SILENCE_MS): Ask {
  return async (call, body, { signal, onEvent }) => {
    const silence = new AbortController()
    const lose = () => silence.abort()
    let timer = setTimeout(lose, silenceMs)
    const heard = () => {
      clearTimeout(timer)
      timer = setTimeout(lose, silenceMs)
    }
    const lost = () => failure(deps, call, signal.aborted ? 'cancelled' : 'network', 0)
    try {
      const response = await fetch(deps.origin + addressOf(call, {} as never), {
        method: call.method,
        headers: { ...headersOf(deps, 'application/json', null), Accept: 'text/event-stream' },
        body: JSON.stringify(body),
        signal: AbortSignal.any([signal, silence.signal]),
      }).catch(() => {
        if (!signal.aborted) deps.onReach?.(false)
        throw lost()
      })
      deps.onReach?.(true)
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
      if (!response.ok || !isStream || response.body === null) {
        const text = await response.text().catch(() => '')
        throw refusalOf(deps, call, response.status, parsed(text))
      }
      const events = rawEvents(response.body, heard)
      for (;;) {
        // What fails here is the way, and not who is told.
        const { done, value } = await events.next().catch(() => {
          throw lost()
        })
        if (done) return
        onEvent(value)
      }
    } finally {
      clearTimeout(timer)
    }
  }
}

/** What the gateway refuses is in its envelope; what a model refuses is in its own words. */
function refusalOf(deps: RequestDeps, call: Call, status: number, body: unknown): ApiError {
  const { error } = (body ?? {}) as { error?: { message?: unknown; code?: unknown } }
  if (typeof error?.message !== 'string') return fromAnswer(deps, call, status, body)
  const isOurs = typeof error.code === 'string' && error.code in ERRORS
  const code = isOurs ? (error.code as ErrorCode) : 'model_call_failed'
  return new ApiError({ code, message: error.message, status, operation: call.operation })
}
