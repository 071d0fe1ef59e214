import { vi } from 'vitest'
import { ApiError } from '../api/api-error.ts'
import type { ConversationDeps } from './conversation.ts'

/** An event of a model's answer. */
export const piece = (content: string) => JSON.stringify({ choices: [{ delta: { content } }] })
export const cost = (micro: string, input: number, output: number) =>
  JSON.stringify({
    choices: [],
    berth: {
      call_id: 'c-1',
      cost_micro: micro,
      input_tokens: input,
      cached_tokens: 0,
      output_tokens: output,
    },
  })

/** What was asked, and what the test answers to it. */
export interface Asked {
  body: Record<string, unknown>
  signal: AbortSignal
  say: (...events: string[]) => void
  end: () => void
  breakOff: (code?: 'network' | 'context_length_exceeded', message?: string) => void
}

/** A conversation's surroundings, with whoever is asked in the hands of the test, and a clock that it moves. */
export function surroundings() {
  vi.useFakeTimers()
  const asked: Asked[] = []
  const clock = { ms: 0, charged: 0 }
  const deps: ConversationDeps = {
    ask: (body, { signal, onEvent }) =>
      new Promise((resolve, reject) => {
        const fail = (code: 'network' | 'cancelled' | 'context_length_exceeded', message: string) =>
          reject(new ApiError({ code, message, status: 0, operation: 'model.chat' }))
        signal.addEventListener('abort', () => fail('cancelled', 'Request cancelled'))
        asked.push({
          body,
          signal,
          say: (...events) => events.forEach(onEvent),
          end: resolve,
          breakOff: (code = 'network', message = 'Network connection failed') => fail(code, message),
        })
      }),
    tickMs: () => clock.ms,
    nowMs: () => 1_700_000_000_000,
    makeId: () => `t-${asked.length}`,
    onCharged: () => {
      clock.charged += 1
    },
  }
  return { deps, asked, clock, settle: () => vi.advanceTimersByTimeAsync(1_000) }
}
