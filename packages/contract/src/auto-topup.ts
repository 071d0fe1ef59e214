import * as z from 'zod'
import { card } from './billing.ts'
import { defineCall } from './call.ts'
import { by, centsBetween, currency, timestamp } from './fields.ts'
import {
  AUTO_TOPUP_CAP_CENTS_MAX,
  AUTO_TOPUP_THRESHOLD_CENTS_MAX,
  TOPUP_CENTS_MAX,
  TOPUP_CENTS_MIN,
} from './limits.ts'

/** What a customer says of it: all of it each time, so that nothing is ever half saved. */
export const autoTopupBody = z
  .object({
    enabled: z.boolean(by('wrong_type')),
    /** Below this it charges, in cents of what is available. */
    threshold: centsBetween(1, AUTO_TOPUP_THRESHOLD_CENTS_MAX),
    /** What it charges each time. */
    amount: centsBetween(TOPUP_CENTS_MIN, TOPUP_CENTS_MAX),
    /** What it charges at most in one month, by UTC; never less than one charge. */
    monthly_cap: centsBetween(TOPUP_CENTS_MIN, AUTO_TOPUP_CAP_CENTS_MAX),
    /** A saved method; null: whichever is the default. */
    payment_method_id: z.string(by('wrong_type')).max(80, by('too_long')).nullable(),
  })
  .refine(({ monthly_cap, amount }) => monthly_cap >= amount, {
    path: ['monthly_cap'],
    ...by('cap_below_amount'),
  })
z.globalRegistry.add(autoTopupBody, { id: 'AutoTopupBody' })

/** Auto top-up (R3.9) as it is, and what it did. */
export const autoTopup = z.object({
  enabled: z.boolean(),
  threshold: z.number().int(),
  amount: z.number().int(),
  monthly_cap: z.number().int(),
  payment_method_id: z.string().nullable(),
  currency,
  /**
   * `waiting` for the balance to fall; `charging` now; `backing_off` after a refusal until `next_try_at`; `capped` until
   * then because the month's cap is reached; `declined`: it turned itself off.
   */
  status: z.enum(['off', 'waiting', 'charging', 'backing_off', 'capped', 'declined']),
  /** What would be charged now; null where there is nothing to charge. */
  card: card.nullable(),
  /** What it has charged in this month, by UTC, with what is under way. */
  charged_this_month: z.number().int(),
  next_try_at: timestamp.nullable(),
  /** The last refusal since a charge succeeded: when, of what, and why as an error code. */
  refused_at: timestamp.nullable(),
  refused_card: card.nullable(),
  refused_for: z.string().nullable(),
})
z.globalRegistry.add(autoTopup, { id: 'AutoTopup' })
export type AutoTopup = z.infer<typeof autoTopup>

export const getAutoTopup = defineCall({
  operation: 'bill.auto-topup',
  method: 'GET',
  path: '/api/bill/auto-topup',
  summary: 'Auto top-up as it is set, and what it did.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  data: autoTopup,
})

export const setAutoTopup = defineCall({
  operation: 'bill.auto-topup-set',
  method: 'POST',
  path: '/api/bill/auto-topup',
  summary: 'Sets auto top-up, all of it at once. Turning it on needs a method that can be charged.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: [] },
  stales: ['bill.auto-topup', 'bill.payment-method'],
  body: autoTopupBody,
  data: autoTopup,
})

export const autoTopupCalls = [getAutoTopup, setAutoTopup] as const
