import { useSyncExternalStore } from 'react'
import type { Session, SessionState } from './session-store.ts'

let current: Session | null = null

/**
 * Wires the session once, at start-up.
 * @param session Made by `createSession`.
 */
export function startSession(session: Session): void {
  current = session
}

/** The session of this page. */
export function session(): Session {
  if (!current) throw new Error('The session is used before startSession wired it.')
  return current
}

/** Who is signed in; the component follows changes. */
export function useSession(): SessionState {
  return useSyncExternalStore(session().subscribe, session().getState)
}
