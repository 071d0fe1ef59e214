import { createRequester, type Request, type RequestDeps, type Requester } from './request.ts'

let requester: Requester | null = null

/**
 * Wires the request layer once, at start-up.
 * @param deps See RequestDeps.
 */
export function startApi(deps: RequestDeps): void {
  requester = createRequester(deps)
}

/** Carries out a call of the contract; fails with an `ApiError`, which is toasted unless `silent` is set. */
export const request: Request = (call, input, options) => started().request(call, input, options)

/** Cancels what is under way, but for the calls that outlive a change of page (R4.11). */
export function abortForNavigation(): void {
  started().abortForNavigation()
}

function started(): Requester {
  if (!requester) throw new Error('The request layer is used before startApi wired it.')
  return requester
}
