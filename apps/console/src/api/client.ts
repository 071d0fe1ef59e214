import type { Call, CallData, CallInput, ChangingCall, ReadingCall } from '@berth/contract/call'
import { type Ask, asker } from './ask.ts'
import { type Follow, follower } from './follow.ts'
import { createRequester, type RequestDeps, type Requester, type RequestOptions } from './request.ts'

const NOT_WIRED = 'The request layer is used before startApi wired it.'

let requester: Requester | null = null
let following: Follow | null = null
let asking: Ask | null = null

/**
 * Wires the request layer once, at start-up.
 * @param deps See RequestDeps.
 */
export function startApi(deps: RequestDeps): void {
  requester = createRequester(deps)
  following = follower(deps)
  asking = asker(deps)
}

type Send<Kind extends Call> = <C extends Kind>(
  call: C,
  input: CallInput<C>,
  options?: RequestOptions,
) => Promise<CallData<C>>

/** Carries out a call that only looks; fails with an `ApiError`, which is toasted unless `silent` is set. */
export const request: Send<ReadingCall> = (call, input, options) => started().request(call, input, options)

/** Carries out a call that changes something, and nothing more: pages use `sendChange` or `useChange`. */
export const requestChange: Send<ChangingCall> = (call, input, options) =>
  started().request(call, input, options)

/** Follows a call that streams, until it ends or its signal is given; fails with an `ApiError`, and toasts nothing. */
export const followCall: Follow = (call, input, options) => {
  if (!following) throw new Error(NOT_WIRED)
  return following(call, input, options)
}

/** Asks a model and hears its answer event by event; fails with an `ApiError`, and toasts nothing. */
export const ask: Ask = (call, body, options) => {
  if (!asking) throw new Error(NOT_WIRED)
  return asking(call, body, options)
}

/** Cancels what is under way, but for the calls that outlive a change of page (R4.11). */
export function abortForNavigation(): void {
  started().abortForNavigation()
}

function started(): Requester {
  if (!requester) throw new Error(NOT_WIRED)
  return requester
}
