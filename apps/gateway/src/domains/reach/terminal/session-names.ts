import { TERMINAL_SERIAL } from '@berth/contract/instances'
import { TERMINAL_SESSIONS_MAX } from '@berth/contract/limits'
import { SERIAL_SESSION } from '../../../drivers/compute/port/serial-session.ts'

/**
 * The name that a shell of the web terminal has among all sessions of its machine. The first one's is older than the
 * others: shells that ran before there were others are still found by it.
 * @param session From 1 to TERMINAL_SESSIONS_MAX; TERMINAL_SERIAL for a virtual machine's serial console.
 */
export function sessionName(session: number): string {
  if (session === TERMINAL_SERIAL) return SERIAL_SESSION
  return session === 1 ? 'web' : `web-${session}`
}

const BY_NAME = new Map(
  Array.from({ length: TERMINAL_SESSIONS_MAX }, (_, at) => [sessionName(at + 1), at + 1] as const),
)

/**
 * Which shells of the web terminal are among a machine's sessions: what else it names is not the browser's.
 * @param names As the machine's side gives them.
 * @returns Their numbers, each once, the lowest first.
 */
export function sessionsAmong(names: readonly string[]): number[] {
  const found = names.flatMap(name => BY_NAME.get(name) ?? [])
  return [...new Set(found)].sort((one, other) => one - other)
}

/**
 * The shell, or the serial console, that a socket's address asks for.
 * @param value Of its `session`; null where there is none, which is the first shell.
 * @returns Null where it is no such number.
 */
export function sessionOf(value: string | null): number | null {
  if (value === String(TERMINAL_SERIAL)) return TERMINAL_SERIAL
  return BY_NAME.get(value === null ? sessionName(1) : `web-${value}`) ?? null
}
