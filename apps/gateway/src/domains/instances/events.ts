import * as z from 'zod'
import { defineEvent } from '../../platform/events/define-event.ts'

/** Instances do not run though their customer wanted them to: they failed, ended by themselves, or were stopped. */
export const instancesInTrouble = defineEvent(
  'instances.in-trouble',
  z.object({
    userId: z.uuid(),
    at: z.iso.datetime(),
    cause: z.enum(['error', 'exited', 'balance_used_up', 'spend_limit_reached']),
    instances: z.array(z.object({ id: z.string(), name: z.string() })).min(1),
  }),
)
