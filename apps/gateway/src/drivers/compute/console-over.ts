import type { Socket } from 'node:net'
import { fieldsOf } from './port/answers.ts'
import type { MachineConsole } from './port/console.ts'
import { SESSION_NAME, type SessionRequest } from './sessions/frames.ts'
import { terminalSide } from './sessions/session-limits.ts'

/** Names that one machine is believed to have. */
const SESSIONS_MAX = 100

/**
 * The part of a console that speaks with whatever keeps the shells of a machine.
 * @param ask Sends a request; for `attach` the socket then is the line. Null: nothing is kept there at all.
 */
export function consoleOver(
  ask: (id: string, request: SessionRequest) => Promise<{ answer: unknown; socket: Socket } | null>,
): Pick<MachineConsole, 'attach' | 'sessions' | 'closeSession'> {
  const askOnly = async (id: string, request: SessionRequest): Promise<unknown> => {
    const asked = await ask(id, request)
    asked?.socket.destroy()
    return asked?.answer
  }
  return {
    attach: async (id, session, { cols, rows, env = {} }) => {
      const size = { cols: terminalSide(cols), rows: terminalSide(rows) }
      const asked = await ask(id, { op: 'attach', session, ...size, env })
      if (!asked) throw new Error('nobody keeps shells here')
      return asked.socket
    },
    sessions: async id => {
      const { sessions } = fieldsOf(await askOnly(id, { op: 'sessions' }))
      return Array.isArray(sessions) ? sessions.slice(0, SESSIONS_MAX).flatMap(nameOf) : []
    },
    closeSession: async (id, session) => {
      await askOnly(id, { op: 'close_session', session })
    },
  }
}

function nameOf(listing: unknown): string[] {
  const { session } = fieldsOf(listing)
  return typeof session === 'string' && SESSION_NAME.test(session) ? [session] : []
}
