import { REFERRAL_CODE_CHARS_MAX } from '@berth/contract/limits'
import * as z from 'zod'
import type { Transaction } from '../../platform/database/database.ts'
import { defineEvent } from '../../platform/events/define-event.ts'
import type { Events } from '../../platform/events/events.ts'

const userId = z.uuid()

/** An account was deleted for good. Who keeps something of customers removes it; it may be told more than once. */
export const accountDeleted = defineEvent('account.deleted', z.object({ userId }))

/** Somebody signed up by a referral code: once for each account, and for none without a code. */
export const accountReferred = defineEvent(
  'account.referred',
  z.object({ userId, at: z.iso.datetime(), code: z.string().max(REFERRAL_CODE_CHARS_MAX) }),
)

/**
 * Tells that somebody signed up by a code, in the transaction that makes the account.
 * @param account.code As the sign-up brought it; none tells nothing.
 */
export async function tellReferred(
  tx: Transaction,
  events: Pick<Events, 'emit'>,
  { userId, code, at }: { userId: string; code: string | null | undefined; at: Date },
): Promise<void> {
  if (code) await events.emit(tx, accountReferred, { userId, code, at: at.toISOString() })
}

/** An account's address was verified by the link that was mailed to it. */
export const accountVerified = defineEvent('account.verified', z.object({ userId }))

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
