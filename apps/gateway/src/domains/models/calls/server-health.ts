import type { ModelServer } from '../../../drivers/models/port.ts'
import type { Clock } from '../../../platform/clock.ts'

/** After so many failures in a row a server is left alone for a while. */
const FAILURES_MAX = 5
const LEFT_ALONE_MS = 15_000

/** What is known of a server that has failed since it last answered. */
interface Trouble {
  failures: number
  /** Until when it is left alone; 0 while it has not failed often enough. */
  againAtMs: number
  /** A call is out to see whether it answers again. */
  isProbed: boolean
}

/** What is known of servers, for all calls of a gateway. */
export type ServerHealth = ReturnType<typeof createServerHealth>

/**
 * Which servers are asked: each server by itself, whatever models it answers for. One that fails again and again is left
 * alone; then one call at a time tries it, until it answers.
 */
export function createServerHealth(clock: Clock) {
  const troubles = new Map<string, Trouble>()

  return {
    /**
     * Whether a call may ask a server now. Say of each that may how it went: `answered`, `failed` or `over`.
     * @returns `probe` where it is the one call that tries whether the server is well again; null where it may not.
     */
    enter(server: Pick<ModelServer, 'name'>): 'ask' | 'probe' | null {
      const trouble = troubles.get(server.name)
      if (!trouble || trouble.failures < FAILURES_MAX) return 'ask'
      if (trouble.isProbed || trouble.againAtMs > clock.now().getTime()) return null
      trouble.isProbed = true
      return 'probe'
    },
    answered(server: Pick<ModelServer, 'name'>): void {
      troubles.delete(server.name)
    },
    failed(server: Pick<ModelServer, 'name'>): void {
      const { failures = 0, isProbed = false } = troubles.get(server.name) ?? {}
      const againAtMs = failures + 1 >= FAILURES_MAX ? clock.now().getTime() + LEFT_ALONE_MS : 0
      troubles.set(server.name, { failures: failures + 1, againAtMs, isProbed })
    },
    /** A probe is over, however it went: whoever asked may have left. */
    over(server: Pick<ModelServer, 'name'>): void {
      const trouble = troubles.get(server.name)
      if (trouble) trouble.isProbed = false
    },
  }
}
