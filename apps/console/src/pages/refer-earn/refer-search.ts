import { QUARTER, REFERRAL_REWARD_KINDS, REFERRAL_STATES } from '@berth/contract/referral'
import * as z from 'zod'
import { findText, pageNumber } from '../../lists/use-filters.ts'

/** What the page keeps in its address: which of its two lists is shown, and what narrows them. */
export const referSearch = z.object({
  list: z.enum(['users', 'orders']).catch('users'),
  state: z.enum(['any', ...REFERRAL_STATES]).catch('any'),
  kind: z.enum(['any', ...REFERRAL_REWARD_KINDS]).catch('any'),
  quarter: z.string().regex(QUARTER).or(z.literal('')).catch(''),
  q: findText,
  page: pageNumber,
})
export type ReferSearch = z.infer<typeof referSearch>

/** What the list of invited users, and its file, are narrowed by. */
export function recordQuery({ state, quarter, q }: ReferSearch) {
  return {
    ...(state === 'any' ? {} : { state }),
    ...(quarter ? { quarter } : {}),
    ...(q ? { search: q } : {}),
  }
}

/** The same of order rewards. */
export function orderQuery(search: ReferSearch) {
  return { ...recordQuery(search), ...(search.kind === 'any' ? {} : { kind: search.kind }) }
}

/** The token of the link that was mailed to a PayPal account; empty where the page was opened without one. */
export const confirmSearch = z.object({ paypal: z.string().max(200).catch('') })
