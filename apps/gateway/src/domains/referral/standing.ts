import type { ReferralReason, ReferralState } from '@berth/contract/referral'

/** What is known of a friend, from which follows whether they count (R4.9). */
export interface FriendFacts {
  /** Null where the account is gone. */
  isVerified: boolean | null
  sameCurrency: boolean
  samePerson: boolean
  /** Paid in by settled payments, less what went back. */
  paidMicro: bigint
  /** Whether it has counted before. */
  hasReached: boolean
}

export interface Standing {
  state: ReferralState
  reason: ReferralReason | null
}

/**
 * Where a friend stands. Of several reasons that somebody does not count the first is said; none of them accuses anybody.
 * @param firstTopupMicro What is to be paid in.
 */
export function standingOf(facts: FriendFacts, firstTopupMicro: bigint): Standing {
  const { isVerified, sameCurrency, samePerson, paidMicro, hasReached } = facts
  if (samePerson) return invalid('not_eligible')
  if (!sameCurrency) return invalid('other_currency')
  if (isVerified === null && !hasReached) return invalid('account_deleted')
  if (isVerified === false) return valid('not_activated')
  if (paidMicro >= firstTopupMicro) return valid('recharged')
  return hasReached ? invalid('topup_returned') : valid('not_recharged')
}

function valid(state: Exclude<ReferralState, 'invalid'>): Standing {
  return { state, reason: null }
}

function invalid(reason: ReferralReason): Standing {
  return { state: 'invalid', reason }
}
