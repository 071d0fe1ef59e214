import { desc, eq } from 'drizzle-orm'
import type { Transaction } from '../../../platform/database/database.ts'
import { session } from '../tables.ts'
import { networkOf } from '../throttles/network.ts'
import { browserOf } from './browser.ts'

/** Of the newest sessions; more than anybody has places. */
const SESSIONS_LOOKED_AT_MAX = 500

/** From where somebody signs in. */
interface Place {
  address: string
  userAgent: string
}

/**
 * Whether an account has not been signed in to from that network, or by that kind of browser, in any session that is
 * remembered. Ask before the session is opened.
 * @returns `first` when it has no sessions at all.
 */
export async function placeOf(
  tx: Transaction,
  userId: string,
  place: Place,
): Promise<'first' | 'known' | 'new'> {
  const earlier = await tx
    .select({ address: session.address, userAgent: session.userAgent })
    .from(session)
    .where(eq(session.userId, userId))
    .orderBy(desc(session.createdAt))
    .limit(SESSIONS_LOOKED_AT_MAX)
  if (earlier.length === 0) return 'first'
  const network = networkOf(place.address)
  const kind = kindOf(place)
  const isKnown =
    earlier.some(({ address }) => networkOf(address) === network) && earlier.some(one => kindOf(one) === kind)
  return isKnown ? 'known' : 'new'
}

function kindOf({ userAgent }: Pick<Place, 'userAgent'>): string {
  const { browser, system } = browserOf(userAgent)
  // Programs that are no browser are told apart by their own name.
  return browser === '' ? userAgent.replace(/[\d.]+/g, '') : `${browser} ${system}`
}
