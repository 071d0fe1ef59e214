import * as z from 'zod'
import { defineEvent } from '../../platform/events/define-event.ts'

/** A customer made an API key. `name` is the customer's own word for it. */
export const apiKeyCreated = defineEvent(
  'api-key.created',
  z.object({ userId: z.uuid(), at: z.iso.datetime(), name: z.string() }),
)
