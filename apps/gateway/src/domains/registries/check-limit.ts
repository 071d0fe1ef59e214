import type { Clock } from '../../platform/clock.ts'
import { ApiError } from '../../platform/http/api-error.ts'

/** Checks that one customer may ask for in a minute: enough to try things, too few to look for open ports. */
export const CHECKS_PER_MINUTE_MAX = 20
const WINDOW_MS = 60_000
/** Checks that run at once, of all customers: each waits for somebody else's server. */
const RUNNING_MAX = 32

/** Bounds what customers make this replica ask of other servers. */
export function createCheckLimit({ clock }: { clock: Clock }) {
  const windows = new Map<string, { since: number; checks: number }>()
  let running = 0

  function count(userId: string): void {
    const now = clock.now().getTime()
    for (const [id, { since }] of windows) if (now - since >= WINDOW_MS) windows.delete(id)
    const window = windows.get(userId) ?? { since: now, checks: 0 }
    windows.set(userId, window)
    if (++window.checks > CHECKS_PER_MINUTE_MAX) {
      throw tooMany(Math.max(1, Math.ceil((window.since + WINDOW_MS - now) / 1_000)))
    }
  }

  return {
    /** Runs a check. @throws ApiError `too_many_requests` before it runs. */
    async run<Result>(userId: string, check: () => Promise<Result>): Promise<Result> {
      if (running >= RUNNING_MAX) throw tooMany(1)
      count(userId)
      running++
      try {
        return await check()
      } finally {
        running--
      }
    },
  }
}

function tooMany(seconds: number): ApiError {
  return new ApiError('too_many_requests', { values: { seconds } })
}
