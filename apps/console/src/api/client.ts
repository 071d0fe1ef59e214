import type { Call, CallData, CallInput, ChangingCall, ReadingCall } from '@berth/contract/call'
import { createRequester, type RequestDeps, type Requester, type RequestOptions } from './request.ts'

let requester: Requester | null = null

/**
 * Wires the request layer once, at start-up.
 * @param deps See RequestDeps.
 */
export function startApi(deps: RequestDeps): void {
  requester = createRequester(deps)
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

/** Cancels what is under way, but for the calls that outlive a change of page (R4.11). */
export function abortForNavigation(): void {
  started().abortForNavigation()
}

function started(): Requester {
  if (!requester) throw new Error('The request layer is used before startApi wired it.')
  return requester
}
