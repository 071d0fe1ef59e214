import * as z from 'zod'
import { defineEvent } from '../../platform/events/define-event.ts'

/** A customer added an SSH key. `name` is the customer's own word for it. */
export const sshKeyAdded = defineEvent(
  'ssh-key.added',
  z.object({ userId: z.uuid(), at: z.iso.datetime(), name: z.string() }),
)
