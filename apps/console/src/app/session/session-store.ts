import type { User } from '@berth/contract/account'
import { ApiError, isLoginLost } from '../../api/api-error.ts'

/** `isLoggedIn` is null until the first look at the account has an answer (R2.8). */
export type SessionState =
  | { isLoggedIn: null; user: null; failed: boolean }
  | { isLoggedIn: false; user: null; failed: false }
  | { isLoggedIn: true; user: User; failed: false }

/** What the session needs from its surroundings. */
export interface SessionDeps {
  readToken: () => string | null
  writeToken: (token: string | null) => void
  /** Fetches the account of the stored token; fails with `password_expired` where it needs a new password. */
  fetchUser: () => Promise<User>
  /** Tells the gateway that the session of the stored token ends. */
  endSession: () => Promise<unknown>
  writeCookies: (user: User) => void
  clearCookies: () => void
  /** Forgets everything that belongs to the customer who leaves. */
  forget: () => void
  /** A stored token whose account is gone. */
  onUserGone: () => void
  /** A stored token whose account needs a new password first (R4.10). */
  onPasswordExpired: () => void
  reload: () => void
  goHome: () => void
}

export interface Session {
  getState: () => SessionState
  subscribe: (listener: () => void) => () => void
  /** Looks at the stored token and settles `isLoggedIn` (R4.1). */
  start: () => Promise<void>
  /** Keeps a token that a sign-in gave and fetches its account. Fails like the fetch does. */
  signIn: (token: string) => Promise<void>
  /** Ends the session here, and at the gateway unless it has ended there already (R2.7). */
  signOut: (options?: { ended: boolean }) => Promise<void>
  /** Fetches the account again, after something about it changed. */
  refresh: () => Promise<void>
  /** Compares with the account that other tabs left behind (R4.12). One look at a time. */
  catchUp: () => Promise<void>
}

const OUT: SessionState = { isLoggedIn: false, user: null, failed: false }

/**
 * Makes the session: the one place that knows who is signed in.
 * @param deps See SessionDeps.
 */
export function createSession(deps: SessionDeps): Session {
  let state: SessionState = { isLoggedIn: null, user: null, failed: false }
  const listeners = new Set<() => void>()
  const set = (next: SessionState) => {
    state = next
    for (const listener of listeners) listener()
  }
  const enter = (user: User) => {
    deps.writeCookies(user)
    set({ isLoggedIn: true, user, failed: false })
  }
  let looking: Promise<void> | null = null
  const leave = () => {
    deps.writeToken(null)
    deps.clearCookies()
    deps.forget()
    set(OUT)
  }

  return {
    getState: () => state,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async start() {
      if (deps.readToken() === null) return set(OUT)
      try {
        enter(await deps.fetchUser())
      } catch (error) {
        // No answer says nothing about the account: the page offers to try again (R2.19).
        if (!isVerdict(error)) return set({ isLoggedIn: null, user: null, failed: true })
        if (isExpired(error)) {
          deps.onPasswordExpired()
          await deps.endSession().catch(() => undefined)
        } else deps.onUserGone()
        leave()
      }
    },
    async signIn(token) {
      deps.writeToken(token)
      try {
        enter(await deps.fetchUser())
      } catch (error) {
        deps.writeToken(null)
        throw error
      }
    },
    async signOut({ ended } = { ended: false }) {
      if (!ended) await deps.endSession().catch(() => undefined)
      leave()
    },
    async refresh() {
      if (state.isLoggedIn === true) enter(await deps.fetchUser())
    },
    catchUp() {
      looking ??= compareWithStored(deps, () => state, enter).finally(() => {
        looking = null
      })
      return looking
    },
  }
}

/** R4.12: none → reload, another user → reload, a new login → home. */
async function compareWithStored(
  deps: SessionDeps,
  getState: () => SessionState,
  enter: (user: User) => void,
): Promise<void> {
  if (getState().isLoggedIn === null) return
  const token = deps.readToken()
  if (token === null) {
    if (getState().isLoggedIn) deps.reload()
    return
  }
  const answer = await deps.fetchUser().catch((error: unknown) => ({ error }))
  // Meanwhile it may have changed again, here or in another tab: what was asked for is then no longer the question.
  if (deps.readToken() !== token) return compareWithStored(deps, getState, enter)
  const state = getState()
  if ('error' in answer) {
    if (isVerdict(answer.error) && state.isLoggedIn) deps.reload()
    return
  }
  const user = answer
  if (!state.isLoggedIn) {
    enter(user)
    deps.goHome()
  } else if (user.id !== state.user.id) deps.reload()
  else enter(user)
}

function isExpired(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'password_expired'
}

/** Whether a failed account fetch speaks about the account, and not about the way to it. */
function isVerdict(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.code === 'request_failed') return false
  return isLoginLost(error) || (error.status > 0 && error.status < 500 && error.status !== 429)
}
