import { REFERRAL_CODE_CHARS_MAX } from '@berth/contract/limits'

/** The names under which a link may carry the code. */
const NAMES = ['referral_code', 'referralCode', 'ref'] as const

/**
 * The referral code that an address brings along (R2.11).
 * @param search The query string.
 * @returns The code, cut to 200 characters; null when there is none.
 */
export function referralCodeOf(search: string): string | null {
  const query = new URLSearchParams(search)
  const code = NAMES.map(name => query.get(name)).find(value => value)
  return code ? code.slice(0, REFERRAL_CODE_CHARS_MAX) : null
}
