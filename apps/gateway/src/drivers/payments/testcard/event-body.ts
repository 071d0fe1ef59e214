import * as z from 'zod'

/** Of names and of amounts: what the test platform writes is far shorter, and fits the database. */
const NAME_CHARS_MAX = 200
const name = z.string().min(1).max(NAME_CHARS_MAX)
const cents = z.int().min(0).max(2_147_483_647)

/** What an event's JSON holds; what it says of the intent is as it was then. */
export const eventBody = z.object({
  id: name,
  type: z.enum([
    'intent.moved',
    'intent.refunded',
    'intent.refund_failed',
    'intent.disputed',
    'intent.dispute_won',
  ]),
  created: z.iso.datetime(),
  intent: z.object({
    id: name,
    reference: name,
    status: z.enum(['created', 'requires_action', 'processing', 'succeeded', 'failed', 'canceled']),
    failure: name.nullable(),
    refunded_cents: cents,
    // Events of a version before say nothing of it.
    refunds_failed_cents: cents.default(0),
    disputed_cents: cents.default(0),
    disputes_won_cents: cents.default(0),
  }),
})
export type EventBody = z.output<typeof eventBody>
