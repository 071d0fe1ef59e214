import { microFromCents } from '@berth/contract/money'
import { ApiError } from '../../../platform/http/api-error.ts'

/**
 * Refuses what would cost something else than the customer was shown.
 * @param shownMicro As the customer was shown it, in digits.
 * @throws ApiError `price_changed`.
 */
export function requirePrice(shownMicro: string, priceMicro: bigint): void {
  if (BigInt(shownMicro) !== priceMicro) throw new ApiError('price_changed')
}

/**
 * Refuses a term that would cost more than its instance may cost in all (B5).
 * @param costMicro All of it, with what the instance has cost before.
 * @throws ApiError `validation_failed`.
 */
export function requireUnderLimit(spendLimitCents: number | null, costMicro: bigint): void {
  if (isUnderLimit(spendLimitCents, costMicro)) return
  throw new ApiError('validation_failed', { fields: [{ path: 'spend_limit_cents', rule: 'below_cost' }] })
}

/** Whether an instance may cost so much in all. */
export function isUnderLimit(spendLimitCents: number | null, costMicro: bigint): boolean {
  return spendLimitCents === null || costMicro <= microFromCents(spendLimitCents)
}
