import { createAtOnceEach } from '../../platform/at-once.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { createRateCounts, type RateRule } from '../../platform/http/rate-counts.ts'

/** Checks that one customer may ask for in a minute: enough to try things, too few to look for open ports. */
export const CHECKS_PER_MINUTE_MAX = 20
const RULE: RateRule = { max: CHECKS_PER_MINUTE_MAX, windowMs: 60_000 }
/** Checks that run at once in one gateway, of all customers: each waits for somebody else's server. */
const RUNNING_MAX = 32
/** Of one customer: others wait for those, so that whoever asks slow servers takes up few of the places. */
export const RUNNING_PER_CUSTOMER_MAX = 4

/** Bounds what customers make the gateways ask of other servers. */
export function createCheckLimit(deps: { db: Database; clock: Clock }) {
  const count = createRateCounts(deps).exact('registry-check')
  const inTurn = createAtOnceEach(RUNNING_PER_CUSTOMER_MAX)
  let running = 0

  return {
    /** Runs a check. @throws ApiError `too_many_requests` before it runs. */
    run: <Result>(userId: string, check: () => Promise<Result>): Promise<Result> =>
      inTurn(userId, () => runNow(userId, check)),
  }

  async function runNow<Result>(userId: string, check: () => Promise<Result>): Promise<Result> {
    if (running >= RUNNING_MAX) throw tooMany(1_000)
    running++
    try {
      const { current, ttlMs } = await count(userId, RULE)
      if (current > RULE.max) throw tooMany(ttlMs)
      return await check()
    } finally {
      running--
    }
  }
}

function tooMany(waitMs: number): ApiError {
  return new ApiError('too_many_requests', { values: { seconds: Math.max(1, Math.ceil(waitMs / 1_000)) } })
}
