import * as z from 'zod'
import { defineCall } from './call.ts'
import { by, currency, micro, page, pageOf, timestamp } from './fields.ts'
import { COUPON_CODE_CHARS_MAX } from './limits.ts'
import { MONEY_READS } from './money-reads.ts'

/** What credits are given for. */
export const CREDIT_KINDS = ['bonus', 'free', 'check_in', 'referral', 'coupon', 'sla', 'demo'] as const

/** `used`: nothing is left. `expired`: it has ended, and what was left then is gone. */
export const CREDIT_STATUSES = ['active', 'used', 'expired'] as const

/** What is said of everything that has credits left or had. */
const creditFacts = {
  currency,
  status: z.enum(CREDIT_STATUSES),
  /** What is left of it now. */
  left_micro: micro,
  /** Since when it is there, and from when on it is not; null where it has no end. */
  effect_date: timestamp,
  expiration_date: timestamp.nullable(),
  /** Only what models cost is paid from it. */
  models_only: z.boolean(),
}

/** A coupon that the customer has redeemed (R3.8). */
export const coupon = z.object({
  code: z.string(),
  /** What it gave, in cents. */
  amount: z.number().int(),
  ...creditFacts,
})
z.globalRegistry.add(coupon, { id: 'Coupon' })
export type Coupon = z.infer<typeof coupon>

/** Credits that were given at once: they are spent by themselves, the nearest end first, and before cash. */
export const creditLot = z.object({
  id: z.string(),
  kind: z.enum(CREDIT_KINDS),
  /** Why it was given; of a coupon its code. */
  reason: z.string(),
  amount_micro: micro,
  /** What of it has paid for something. */
  used_micro: micro,
  ...creditFacts,
})
z.globalRegistry.add(creditLot, { id: 'CreditLot' })
export type CreditLot = z.infer<typeof creditLot>

export const listCoupons = defineCall({
  operation: 'bill.coupon',
  method: 'GET',
  path: '/api/bill/coupon',
  summary: 'Coupons that the customer has redeemed, newest first.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  query: z.object(page),
  data: pageOf(coupon),
})

/** What the field for a coupon holds. */
export const couponBody = z.object({
  code: z.string(by('required')).trim().min(1, by('required')).max(COUPON_CODE_CHARS_MAX, by('too_long')),
})
z.globalRegistry.add(couponBody, { id: 'CouponBody' })

export const applyCoupon = defineCall({
  operation: 'bill.coupon-apply',
  method: 'POST',
  path: '/api/bill/coupon/apply',
  summary: 'Redeems a coupon: its amount is credit from then on. Upper and lower case are the same.',
  audience: 'verified',
  timeout: 'normal',
  rateClass: 'coupon',
  spends: true,
  audit: { target: ['data.id'] },
  stales: [...MONEY_READS, 'instance.price', 'netvolume.price', 'netvolume.list', 'instance.check-resource'],
  body: couponBody,
  data: creditLot,
})

export const listCredits = defineCall({
  operation: 'bill.credit',
  method: 'GET',
  path: '/api/bill/credit',
  summary:
    'Credits as they were given: those that are there in the order in which they are spent, then the others.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  query: z.object(page),
  data: pageOf(creditLot).extend({
    currency,
    /** What is left of all of them. */
    left_micro: micro,
  }),
})

export const creditCalls = [listCoupons, applyCoupon, listCredits] as const
