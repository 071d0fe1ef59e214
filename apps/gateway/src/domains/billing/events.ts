import { CURRENCIES } from '@berth/contract/limits'
import * as z from 'zod'
import { defineEvent } from '../../platform/events/define-event.ts'

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
    /** Such as `Visa ending 4242`. */
    paidWith: z.string(),
  }),
)
