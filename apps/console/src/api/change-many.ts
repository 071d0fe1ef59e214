import type { CallInput, ChangingCall } from '@berth/contract/call'
import type { ErrorCode } from '@berth/contract/errors'
import { ApiError } from './api-error.ts'
import { rereadUntold } from './cache-lifecycle.ts'
import { staleReads } from './change.ts'
import { requestChange } from './client.ts'

/** What is known of one of many changes. */
export type Outcome =
  | { state: 'waiting' | 'sent' | 'done' }
  /** Was never sent, because those before it met what it would have met too, or because it was called off. */
  | { state: 'left' }
  | { state: 'failed'; message: string }

export interface ManyChanges<C extends ChangingCall> {
  /** Each with a key that tells it from the others. */
  changes: readonly { key: string; input: CallInput<C> }[]
  /** Told each time that more is known of one. */
  onOutcome: (key: string, outcome: Outcome) => void
  /** Given, nothing more is sent; what is under way comes to its end. */
  signal: AbortSignal
  /** Pause after the gateway said that this was too often, in milliseconds. */
  pauseMs?: number
}

/** As many as a browser sends to one host anyway with some left for the page; far below what an address may ask for. */
const AT_ONCE = 4
/** The window of the gateway's limit is a minute: within these tries and pauses it has passed. */
const TOO_OFTEN_PAUSE_MS = 5_000
const TOO_OFTEN_TRIES_MAX = 14

/** Whoever meets one of these need not send the next one: it would meet the same. */
export const MEETS_ALL: readonly ErrorCode[] = [
  'network',
  'timed_out',
  'login_required',
  'login_expired',
  'account_not_activated',
]

/**
 * Carries out one call for many things, a few at a time, then reads again what that made old. Each is a call of its own:
 * it is checked, kept in the audit log and, where it spends, paid under a key of its own, as if it had been the only one;
 * and one that is refused stops no other. Nothing is toasted.
 * @returns When all have come to an end.
 */
export async function sendChanges<C extends ChangingCall>(call: C, many: ManyChanges<C>): Promise<void> {
  const { changes, onOutcome, signal, pauseMs = TOO_OFTEN_PAUSE_MS } = many
  const waiting = changes.values()
  let isOver = false

  async function work(): Promise<void> {
    for (const { key, input } of waiting) {
      if (isOver || signal.aborted) {
        onOutcome(key, { state: 'left' })
        continue
      }
      onOutcome(key, { state: 'sent' })
      const error = await sendPatiently(call, input, pauseMs)
      onOutcome(key, error ? { state: 'failed', message: error.message } : { state: 'done' })
      if (error && MEETS_ALL.includes(error.code)) isOver = true
    }
  }

  await Promise.all(Array.from({ length: AT_ONCE }, work))
  await rereadUntold(staleReads(call))
}

/** Sends one, again after a pause while that is too often. @returns Why it failed; null where it did not. */
async function sendPatiently<C extends ChangingCall>(
  call: C,
  input: CallInput<C>,
  pauseMs: number,
): Promise<ApiError | null> {
  for (let tries = 1; ; tries += 1) {
    try {
      await requestChange(call, input, { silent: true })
      return null
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (error.code !== 'too_many_requests' || tries >= TOO_OFTEN_TRIES_MAX) return error
      await new Promise(resolve => setTimeout(resolve, pauseMs))
    }
  }
}
