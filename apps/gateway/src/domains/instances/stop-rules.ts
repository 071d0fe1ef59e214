import { STOP_AT_DAYS_MAX } from '@berth/contract/limits'
import { microFromCents } from '@berth/contract/money'
import { ApiError } from '../../platform/http/api-error.ts'
import type { InstanceRow } from './rows.ts'

/** The rules by which an instance is stopped by itself (B5): at a moment, or at what it has cost. */
export type StopRules = Pick<InstanceRow, 'stopAt' | 'spendLimitCents' | 'runningMicroPerHour'>

/** The rule that stopped an instance, as its status says it. */
export type StopRule = 'stop_time_reached' | 'spend_limit_reached'

const DAY_MS = 86_400_000
const HOUR_SECONDS = 3_600n

/**
 * Which of its rules stops an instance now; null: none.
 * @param costMicro All that it has cost by then, in micro-units; only looked at where it has a limit.
 */
export function stopRuleOf(rules: StopRules, now: Date, costMicro: bigint): StopRule | null {
  const { stopAt, spendLimitCents } = rules
  if (stopAt && stopAt <= now) return 'stop_time_reached'
  if (spendLimitCents !== null && isUsedUp(spendLimitCents, costMicro)) return 'spend_limit_reached'
  return null
}

/** When a rule stops an instance that goes on running; null: never. As {@link stopRuleOf}, for one that it does not stop now. */
export function nextStop(rules: StopRules, now: Date, costMicro: bigint): Date | null {
  const { stopAt, spendLimitCents, runningMicroPerHour } = rules
  if (spendLimitCents === null || runningMicroPerHour <= 0n) return stopAt
  const leftMicro = microFromCents(spendLimitCents) - costMicro
  // Charges grow by whole seconds.
  const leftSeconds = (leftMicro * HOUR_SECONDS + runningMicroPerHour - 1n) / runningMicroPerHour
  const leftMs = Math.min(Number(leftSeconds) * 1_000, STOP_AT_DAYS_MAX * DAY_MS)
  const limitAt = new Date(now.getTime() + leftMs)
  return stopAt && stopAt < limitAt ? stopAt : limitAt
}

/** Whether something has cost what it may cost. */
export function isUsedUp(spendLimitCents: number, costMicro: bigint): boolean {
  return costMicro >= microFromCents(spendLimitCents)
}

/**
 * Checks a moment at which an instance is to be stopped.
 * @throws ApiError `validation_failed` where it is not ahead, or too far.
 */
export function requireAhead(stopAt: Date, now: Date): void {
  const aheadMs = stopAt.getTime() - now.getTime()
  if (aheadMs > 0 && aheadMs <= STOP_AT_DAYS_MAX * DAY_MS) return
  const rule = aheadMs <= 0 ? 'moment_past' : 'moment_far'
  throw new ApiError('validation_failed', { fields: [{ path: 'stop_at', rule }] })
}
