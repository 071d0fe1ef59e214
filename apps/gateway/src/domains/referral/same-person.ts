import { inArray } from 'drizzle-orm'
import type { Transaction } from '../../platform/database/database.ts'
import type { ReferralDeps } from './referral-deps.ts'
import { paypalAccount, type SAME_PERSON_BY } from './tables.ts'

type Pair = { friendId: string; referrerId: string }

/**
 * By what referrer and friend are known to be one person: they have paid with one card, are paid to one PayPal account, or
 * were signed in from one browser.
 * @returns Null where nothing says so.
 */
export async function samePersonBy(
  tx: Transaction,
  deps: Pick<ReferralDeps, 'billing' | 'shareDevice' | 'contactOf'>,
  { friendId, referrerId }: Pair,
): Promise<(typeof SAME_PERSON_BY)[number] | null> {
  const pair = [friendId, referrerId] as const
  if (await deps.billing.shareCard(tx, pair)) return 'card'
  if (await sharePaypal(tx, deps, pair)) return 'paypal'
  return (await deps.shareDevice(tx, pair)) ? 'device' : null
}

/** One has the other's PayPal account, or is paid to the other's address. */
async function sharePaypal(
  tx: Transaction,
  { contactOf }: Pick<ReferralDeps, 'contactOf'>,
  pair: readonly [string, string],
): Promise<boolean> {
  const accounts = await tx
    .select({ userId: paypalAccount.userId, email: paypalAccount.email })
    .from(paypalAccount)
    .where(inArray(paypalAccount.userId, [...pair]))
  if (new Set(accounts.map(({ email }) => email)).size < accounts.length) return true
  for (const { userId, email } of accounts) {
    const other = pair.find(id => id !== userId)
    if (other !== undefined && (await contactOf(tx, other))?.email === email) return true
  }
  return false
}
