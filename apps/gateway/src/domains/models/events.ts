import * as z from 'zod'
import { defineEvent } from '../../platform/events/define-event.ts'

/** A customer made an API key. `name` is the customer's own word for it. */
export const apiKeyCreated = defineEvent(
  'api-key.created',
  z.object({ userId: z.uuid(), at: z.iso.datetime(), name: z.string() }),
)

/** A film of a customer's is ready or was not made, who wanted to be told of it by mail. */
export const filmNews = defineEvent(
  'film.news',
  z.object({
    userId: z.uuid(),
    at: z.iso.datetime(),
    /** When it was asked for; what a version before has told does not say it. */
    askedAt: z.iso.datetime().optional(),
    outcome: z.enum(['ready', 'failed']),
    creationId: z.uuid(),
    /** The catalogue's, in English. */
    modelName: z.string(),
  }),
)
