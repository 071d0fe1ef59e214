import { card } from '@berth/contract/billing'
import { CURRENCIES } from '@berth/contract/limits'
import * as z from 'zod'
import { defineEvent } from '../../platform/events/define-event.ts'

const NO_CARD = { brand: '', last4: '' }

/** A top-up was paid and booked: once for each, whoever finished it. */
export const topUpPaid = defineEvent(
  'top-up.paid',
  z.object({
    userId: z.uuid(),
    at: z.iso.datetime(),
    /** As customers see it: `t_…`. */
    transactionId: z.string(),
    amountCents: z.int().positive(),
    currency: z.enum(CURRENCIES),
    /** What was paid with; events of a version before, which may still wait, do not say it. */
    card: card.default(NO_CARD),
  }),
)

/** What auto top-up did that its customer should know of: once for each refusal, its end, and each month's cap. */
export const autoTopupNews = defineEvent(
  'auto-top-up.news',
  z.object({
    userId: z.uuid(),
    at: z.iso.datetime(),
    news: z.enum(['declined', 'turned_off', 'capped']),
    amountCents: z.int().positive(),
    /** What it charges at most in a month, by UTC. */
    capCents: z.int().positive(),
    currency: z.enum(CURRENCIES),
    /** What it would have charged. */
    card,
    /** An error code, for what was refused. */
    failure: z.string().nullable(),
    nextTryAt: z.iso.datetime().nullable(),
  }),
)

/** What is told of a refund or a dispute, or of the part of one that came to us again. */
const ofRefund = z.object({
  userId: z.uuid(),
  at: z.iso.datetime(),
  /** As customers see it: `r_…`. */
  transactionId: z.string(),
  amountCents: z.int().positive(),
  currency: z.enum(CURRENCIES),
  /** What was paid with, and where it goes. */
  card,
})

/** A payment, or a part of one, was given back: once for each refund. */
export const paymentRefunded = defineEvent('payment.refunded', ofRefund)

/** A bank took a payment, or a part of one, because somebody disputes it: once for each time. */
export const paymentDisputed = defineEvent('payment.disputed', ofRefund)

/** A bank gave back what it took for a dispute: once for each time. */
export const disputeWon = defineEvent('dispute.won', ofRefund)

/** What was given back did not arrive, and went back to where it was: once for each time. */
export const refundFailed = defineEvent('refund.failed', ofRefund)

/** Credits are about to end: once a week and once a day before, all that end on the same dates in one. */
export const creditsEnding = defineEvent(
  'credits.ending',
  z.object({
    userId: z.uuid(),
    at: z.iso.datetime(),
    currency: z.enum(CURRENCIES),
    /** The nearest end first; what is left by now of what ends at each moment. */
    credits: z.array(
      z.object({
        endsAt: z.iso.datetime(),
        /** Micro-units, as text. */
        leftMicro: z.string(),
        /** Whether it pays for models alone. */
        modelsOnly: z.boolean(),
      }),
    ),
  }),
)
