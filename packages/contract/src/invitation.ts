import * as z from 'zod'
import { defineCall } from './call.ts'
import { by } from './fields.ts'
import { REFERRAL_CODE_CHARS_MAX } from './limits.ts'

/** What whoever follows a friend's link is told before there is an account. */
export const invitation = z.object({
  /** Whether an account has this code; a sign-up by a code that none has is one without. */
  known: z.boolean(),
  /** What the invited account gets once it has paid in `first_topup`; both in cents of its own currency (R9.7). */
  friend_reward: z.number().int(),
  first_topup: z.number().int(),
})
z.globalRegistry.add(invitation, { id: 'Invitation' })
export type Invitation = z.infer<typeof invitation>

export const getInvitation = defineCall({
  operation: 'referral.invitation',
  method: 'GET',
  path: '/api/referral/invitation',
  summary: 'Whether a referral code is known, and what whoever signs up by it gets.',
  audience: 'guest',
  timeout: 'fast',
  retry: true,
  query: z.object({
    code: z.string(by('required')).min(1, by('required')).max(REFERRAL_CODE_CHARS_MAX, by('too_long')),
  }),
  data: invitation,
})

export const invitationCalls = [getInvitation] as const
