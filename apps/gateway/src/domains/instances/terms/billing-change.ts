import { type ChargeCycle, TERM_AHEAD_DAYS_MAX } from '@berth/contract/charge-terms'
import type { BillingChange } from '@berth/contract/instance-terms'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { BillingPatch } from '../change-status.ts'
import type { Quotes } from '../offer/quotes.ts'
import type { InstanceRow } from '../rows.ts'
import { hourly, nextTerm } from './term-price.ts'
import { renewalStart, termEnd } from './term-rules.ts'

/** What is to be changed about how an instance is paid for, and to what. */
export interface BillingWanted {
  change: BillingChange
  /** Null is on demand; a renewal keeps the cycle that it has. */
  cycle: ChargeCycle | null
}

/** What a change comes to: its preview and the change itself are made from the same one. */
export interface PlannedChange {
  /** Of the term that is bought, or of an hour on demand. */
  priceMicro: bigint
  /** Where a term begins that is bought with it; null: none. */
  termFrom: Date | null
  /** What is left of the terms that it has is given back. */
  endsTerm: boolean
  patch: BillingPatch
}

/** How an instance is paid for that has no terms. */
export const ON_DEMAND = {
  billingType: 'postpay',
  chargeCycle: null,
  expiryTime: null,
  autoRenew: false,
  termMicro: null,
  termDiskMicro: null,
  termNoticeDay: null,
} as const

const DAY_MS = 86_400_000

/**
 * What a change of how an instance is paid for comes to now. Nothing is changed.
 * @throws ApiError `charge_type_same`, `term_not_begun`, `term_too_far`, or `region_not_supported` or `gpu_spec_unknown`
 *   where it is not offered any more.
 */
export function planChange(
  quotes: Pick<Quotes, 'rates' | 'term'>,
  row: InstanceRow,
  { change, cycle }: BillingWanted,
  at: Date,
): PlannedChange {
  if (change === 'renew') return planRenewal(quotes, row, at)
  if (cycle === row.chargeCycle) throw new ApiError('charge_type_same')
  const endsTerm = change === 'convert'
  if (cycle === null) {
    const rates = hourly(quotes, row)
    const patch = { ...ON_DEMAND, ...rates }
    return { priceMicro: rates.runningMicroPerHour, termFrom: null, endsTerm, patch }
  }
  const next = nextTerm(quotes, { ...row, chargeCycle: cycle })
  const expiryTime = termEnd(cycle, at)
  const patch = {
    ...next,
    billingType: 'prepay',
    chargeCycle: cycle,
    expiryTime,
    termNoticeDay: null,
  } as const
  return { priceMicro: next.termMicro, termFrom: at, endsTerm, patch }
}

/** The term that follows on what is paid for: at its end, whenever it is bought. */
function planRenewal(quotes: Pick<Quotes, 'rates' | 'term'>, row: InstanceRow, at: Date): PlannedChange {
  if (!row.expiryTime || !row.chargeCycle) throw new ApiError('term_not_begun')
  const next = nextTerm(quotes, row)
  const termFrom = row.expiryTime > at ? row.expiryTime : renewalStart(row, row.expiryTime, at)
  const expiryTime = termEnd(row.chargeCycle, termFrom)
  if (expiryTime.getTime() - at.getTime() > TERM_AHEAD_DAYS_MAX * DAY_MS) {
    throw new ApiError('term_too_far', { values: { days: TERM_AHEAD_DAYS_MAX } })
  }
  return {
    priceMicro: next.termMicro,
    termFrom,
    endsTerm: false,
    patch: { ...next, expiryTime, termNoticeDay: null },
  }
}
