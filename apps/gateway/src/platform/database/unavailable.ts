/** SQLSTATE classes and codes that pass by themselves: connections, shutdowns, starts, too many clients, timeouts. */
const PASSING_CODE = /^(08...|57P0[123]|53[0-9]{3}|57014|55P03|40001|40P01|25P0[34])$/
const PASSING_SYSTEM_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])
/** The driver's own errors carry no code. */
const PASSING_MESSAGE =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|timeout expired|Cannot use a pool after calling end)/
const CAUSES_MAX = 5

/**
 * Whether an error says that the database cannot answer now, so that the same call may work a little later.
 * @param error Anything thrown; its causes are looked at too.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  let current = error
  for (let depth = 0; depth < CAUSES_MAX && current instanceof Error; depth++) {
    const { code, syscall } = current as NodeJS.ErrnoException
    if (typeof code === 'string') {
      if (PASSING_CODE.test(code)) return true
      // Only a socket's: a file that is not there is no sign of the database.
      if (
        PASSING_SYSTEM_CODES.has(code) &&
        (syscall === undefined || /connect|read|write|getaddrinfo/.test(syscall))
      )
        return true
    } else if (PASSING_MESSAGE.test(current.message)) {
      return true
    }
    current = current.cause
  }
  return false
}
