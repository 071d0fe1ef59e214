import * as z from 'zod'
import { defineEvent } from '../../platform/events/define-event.ts'

/** A customer added a credential of a registry. `name` is the customer's own word for it. */
export const registryCredentialAdded = defineEvent(
  'registry-credential.added',
  z.object({ userId: z.uuid(), at: z.iso.datetime(), name: z.string() }),
)
