import { type ApiError, isLoginLost } from '../api/api-error.ts'
import type { FailureContext } from '../api/request.ts'
import type { LeaveNote } from './session/leave-note.ts'

/** What the reactions need from their surroundings. */
export interface FailureDeps {
  isOpenPage: () => boolean
  isLoggedIn: () => boolean
  /** Ends the session here, for the gateway has ended it already; the log-in form says why. */
  leave: (note: LeaveNote) => void
  /** Ends the session at the gateway too: it has asked for that. */
  signOutFirst: () => void
  /** Says whether a cause may be shown now (R8.2). */
  mayShow: (cause: string) => boolean
  toast: (message: string) => void
}

/**
 * What the console does when a call fails (R8.1): a lost login leaves the pages that need one, an expired
 * password leaves every page, one who must sign out first is signed out, and everything else is toasted unless its
 * caller shows it.
 * @param deps See FailureDeps.
 * @returns The request layer's `onFailure`.
 */
export function createFailureReactions(deps: FailureDeps) {
  return (error: ApiError, { silent, aboutSession }: FailureContext): void => {
    const lost = isLoginLost(error) && !aboutSession
    const note = error.code === 'password_expired' ? 'password_expired' : lost ? 'login_expired' : null
    if (note !== null) {
      if (note === 'login_expired' && deps.isOpenPage()) return
      // Ten calls that fail at once end one session: the first has ended it for the others.
      if (deps.isLoggedIn()) deps.leave(note)
      return
    }
    // The identity service holds another session than this one: the log-in form makes a new one (R8.1).
    if (error.code === 'sign_out_first' && !aboutSession && deps.isLoggedIn()) {
      deps.signOutFirst()
      return
    }
    if (silent) return
    if (deps.mayShow(`${error.code}:${error.message}`)) deps.toast(error.message)
  }
}
