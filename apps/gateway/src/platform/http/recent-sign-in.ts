import { RECENT_SIGN_IN_MS } from '@berth/contract/limits'
import type { Clock } from '../clock.ts'
import { ApiError } from './api-error.ts'
import type { Caller } from './handler.ts'

/**
 * Holds back what a stolen session must not do: the caller has signed in, or confirmed who they are, not long ago.
 * @throws ApiError `recent_sign_in_required`.
 */
export function requireRecentSignIn({ provenAt }: Pick<Caller, 'provenAt'>, clock: Clock): void {
  if (clock.now().getTime() - provenAt.getTime() > RECENT_SIGN_IN_MS) {
    throw new ApiError('recent_sign_in_required')
  }
}
