import { STOP_AT_DAYS_MAX } from '@berth/contract/limits'
import { microFromCents } from '@berth/contract/money'
import { ApiError } from '../../platform/http/api-error.ts'
import type { InstanceRow } from './rows.ts'

/** The rules by which an instance is stopped by itself (B5): at a moment, at what it has cost, or when it was idle. */
export type StopRules = Pick<
  InstanceRow,
  'stopAt' | 'spendLimitCents' | 'idleStopMinutes' | 'runningMicroPerHour' | 'billingType'
>

/** What the rules are held against. */
export interface Spent {
  /** All that it has cost by now, in micro-units; only looked at where it has a limit. */
  costMicro: bigint
  /** Since when nobody uses it; null: it is used, it does not run, or nobody can tell. */
  idleSince: Date | null
}

/** The rule that stopped an instance, as its status says it. */
export type StopRule = 'stop_time_reached' | 'spend_limit_reached' | 'idle'

const DAY_MS = 86_400_000
const HOUR_SECONDS = 3_600n
const MINUTE_MS = 60_000

/** Which of its rules stops an instance now; null: none. */
export function stopRuleOf(rules: StopRules, now: Date, spent: Spent): StopRule | null {
  const { stopAt, spendLimitCents } = rules
  if (stopAt && stopAt <= now) return 'stop_time_reached'
  if (isMetered(rules) && spendLimitCents !== null && isUsedUp(spendLimitCents, spent.costMicro)) {
    return 'spend_limit_reached'
  }
  const idleUntil = idleStopOf(rules, spent)
  return idleUntil && idleUntil <= now ? 'idle' : null
}

/** When an instance that goes on being idle is stopped for it; null: it is not. */
function idleStopOf({ idleStopMinutes }: StopRules, { idleSince }: Spent): Date | null {
  if (idleStopMinutes === null || idleSince === null) return null
  return new Date(idleSince.getTime() + idleStopMinutes * MINUTE_MS)
}

/** When a rule stops an instance that goes on running; null: never. As {@link stopRuleOf}, for one that it does not stop now. */
export function nextStop(rules: StopRules, now: Date, spent: Spent): Date | null {
  const stops = [rules.stopAt, limitStopOf(rules, now, spent), idleStopOf(rules, spent)].filter(
    stop => stop !== null,
  )
  return stops.length === 0 ? null : new Date(Math.min(...stops.map(stop => stop.getTime())))
}

/** When an instance that goes on running has cost what it may; null: never. */
function limitStopOf(rules: StopRules, now: Date, { costMicro }: Spent): Date | null {
  const { spendLimitCents, runningMicroPerHour } = rules
  if (!isMetered(rules) || spendLimitCents === null || runningMicroPerHour <= 0n) return null
  const leftMicro = microFromCents(spendLimitCents) - costMicro
  // Charges grow by whole seconds.
  const leftSeconds = (leftMicro * HOUR_SECONDS + runningMicroPerHour - 1n) / runningMicroPerHour
  const leftMs = Math.min(Number(leftSeconds) * 1_000, STOP_AT_DAYS_MAX * DAY_MS)
  return new Date(now.getTime() + leftMs)
}

/** What is paid for in advance costs nothing more while it runs: a limit keeps it from terms beyond it. */
function isMetered({ billingType }: StopRules): boolean {
  return billingType === 'postpay'
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
