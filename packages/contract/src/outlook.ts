import * as z from 'zod'
import { transaction } from './billing.ts'
import { defineCall } from './call.ts'
import { currency, micro, timestamp } from './fields.ts'

/** What is deleted some days after the balance was used up, on a day that mails name beforehand (B4, R9.6). */
export const DELETED_UNPAID = ['public_ips', 'volumes', 'images', 'machines'] as const

/** What uses a balance now, and what becomes of it when nothing is added (R2.27, B4). */
export const outlook = z.object({
  currency,
  /** By what is used most; together they are `burn_micro_per_hour` of the balance. */
  uses: z.array(
    z.object({
      usage: transaction.shape.about.shape.usage.unwrap(),
      /** The instance, where the row is that of one machine. */
      instance_id: z.string().nullable(),
      instance_name: z.string().nullable(),
      /** How many machines, volumes, images … the row is the sum of. */
      count: z.number().int(),
      rate_micro_per_hour: micro,
    }),
  ),
  /** When the balance is used up; null while nothing uses it. */
  empty_at: timestamp.nullable(),
  /** What would be deleted then, and when at the earliest; soonest first. */
  deletions: z.array(z.object({ what: z.enum(DELETED_UNPAID), at: timestamp })),
})
z.globalRegistry.add(outlook, { id: 'Outlook' })
export type Outlook = z.infer<typeof outlook>

export const getOutlook = defineCall({
  operation: 'bill.outlook',
  method: 'GET',
  path: '/api/bill/outlook',
  summary: 'What uses the balance by the hour, when it is used up, and what is deleted how long after that.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  data: outlook,
})

export const outlookCalls = [getOutlook] as const
