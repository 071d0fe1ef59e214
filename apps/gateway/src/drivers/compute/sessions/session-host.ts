import type { Duplex } from 'node:stream'
import { encodeJson, type Failure, FRAME, SESSION_NAME, type SessionRequest } from './frames.ts'
import { createSession, type PtyEvents, type PtyProcess, refuse, type Session, type Size } from './session.ts'
import { SESSION_LIMITS, type SessionLimits } from './session-limits.ts'

/** What is told of a session to whoever asks. */
interface SessionListing {
  session: string
  viewers: number
}

/** The shells of one machine, by name. They outlive whoever looks at them. */
export interface SessionHost {
  /** How many shells there are, opening ones included. */
  readonly size: number
  /** Carries out a request that came over a stream, and answers it there. */
  serve(stream: Duplex, request: SessionRequest): void
  /** Names of the shells that there are. */
  names(): string[]
  /** Ends every shell. */
  closeAll(): void
}

export interface SessionHostDeps {
  /** Makes the shell of a name, on a pty of that size. */
  open(
    options: Size & { session: string; env: Record<string, string> },
    events: PtyEvents,
  ): PtyProcess | Promise<PtyProcess>
  /** What a caller is told of a shell that could not be made. */
  failureOf(error: unknown): Failure
  limits?: Partial<SessionLimits>
  /** Whether one more shell may be opened, beside the limit of this host. */
  mayOpen?(): boolean
  /** Called after a session has ended. */
  onEnd?(): void
}

/** Makes a host without sessions. */
export function createSessionHost(deps: SessionHostDeps): SessionHost {
  const limits = { ...SESSION_LIMITS, ...deps.limits }
  const sessions = new Map<string, Session>()

  function attach(stream: Duplex, request: Extract<SessionRequest, { op: 'attach' }>): void {
    const { session: name, env } = request
    if (!SESSION_NAME.test(name)) {
      stream.end(encodeJson(FRAME.error, { code: 'failed', message: 'no name for a session' }))
      return
    }
    const known = sessions.get(name)
    if (known) {
      known.attach(stream, request)
      return
    }
    if (sessions.size >= limits.sessionsMax || deps.mayOpen?.() === false) {
      refuse(stream, { reason: 'too_many_sessions', code: null })
      return
    }
    const session = createSession({
      limits,
      open: (size, events) => deps.open({ ...size, session: name, env }, events),
      failureOf: deps.failureOf,
      onEnd: () => {
        sessions.delete(name)
        deps.onEnd?.()
      },
    })
    sessions.set(name, session)
    session.attach(stream, request)
  }

  return {
    get size() {
      return sessions.size
    },
    serve: (stream, request) => {
      switch (request.op) {
        case 'attach':
          attach(stream, request)
          break
        case 'sessions': {
          const listed: SessionListing[] = [...sessions].map(([session, { viewers }]) => ({
            session,
            viewers,
          }))
          stream.end(encodeJson(FRAME.ok, { sessions: listed }))
          break
        }
        case 'close_session':
          sessions.get(request.session)?.end('closed')
          stream.end(encodeJson(FRAME.ok, {}))
          break
      }
    },
    names: () => [...sessions.keys()],
    closeAll: () => {
      for (const session of [...sessions.values()]) session.end('closed')
    },
  }
}
