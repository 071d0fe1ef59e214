import { CURRENCIES } from '@berth/contract/limits'
import { QUARTER } from '@berth/contract/referral'
import * as z from 'zod'
import { defineEvent } from '../../platform/events/define-event.ts'

/** What a customer is told of what they have earned. */
export const REFERRAL_NEWS = [
  // A friend's first top-ups have earned something.
  'earned',
  // A quarter has ended: how is it to be paid? And once more before that is decided by itself.
  'choose',
  'reminder',
  'credited',
  // Money is to be paid from `until` on; was paid; did not arrive.
  'scheduled',
  'paid',
  'failed',
  // The account that money is paid to is another one now.
  'paypal_changed',
] as const
export type ReferralNews = (typeof REFERRAL_NEWS)[number]

/** Something happened to what a customer has earned by referring: once for each. */
export const referralNews = defineEvent(
  'referral.news',
  z.object({
    /** The referrer. */
    userId: z.uuid(),
    at: z.iso.datetime(),
    news: z.enum(REFERRAL_NEWS),
    /** Null of what belongs to none. */
    quarter: z.string().regex(QUARTER).nullable(),
    currency: z.enum(CURRENCIES),
    /** What was earned, is to be chosen, was credited or is paid after the fee; micro-units as text. */
    amountMicro: z.string(),
    /** Of money the fee. */
    feeMicro: z.string().nullable(),
    /** Until when it is chosen, or when it is paid. */
    until: z.iso.datetime().nullable(),
    /** The friend as the referrer sees them, or the account that it goes to. */
    about: z.string().nullable(),
  }),
)
