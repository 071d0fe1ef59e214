import * as z from 'zod'
import { defineEvent } from '../../platform/events/define-event.ts'

const userId = z.uuid()

/** An account was deleted for good. Who keeps something of customers removes it; it may be told more than once. */
export const accountDeleted = defineEvent('account.deleted', z.object({ userId }))

/** Somebody signed in from a browser or network that the account has not had. */
export const signedInAnew = defineEvent(
  'account.signed-in-anew',
  z.object({
    userId,
    at: z.iso.datetime(),
    /** Network address. */
    address: z.string(),
    /** Such as `Firefox`; empty when it is none that is known. */
    browser: z.string(),
    /** Such as `Linux`; empty when it is none that is known. */
    system: z.string(),
  }),
)

/** A session was ended because its customer has too many. */
export const sessionPushedOut = defineEvent(
  'account.session-pushed-out',
  z.object({ userId, sessionId: z.uuid() }),
)
