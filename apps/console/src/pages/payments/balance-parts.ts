import type { Balance } from '@berth/contract/billing'

/** What a balance is made of; all of them together are all that is there. */
export type BalancePart = 'cash' | 'credits' | 'free' | 'reserved'

/**
 * A balance by its parts, in cents: what was paid, what was given, what pays for models alone, and what is set aside for
 * what runs. Machines are paid with credits before cash, and never with what is for models alone, so what is set aside
 * is taken off the credits first.
 * @param account As the gateway tells it, in cents.
 * @returns The parts in the order in which they are shown; the first three come to what is available, none is negative.
 */
export function balanceParts(account: Balance['account_balance']): { key: BalancePart; cents: number }[] {
  const { amount_available, amount_credits, amount_free, amount_freeze } = account
  const free = Math.min(amount_free, amount_available)
  const ofMachines = Math.max(0, amount_credits - free - amount_freeze)
  const credits = Math.min(ofMachines, amount_available - free)
  return [
    { key: 'cash', cents: amount_available - free - credits },
    { key: 'credits', cents: credits },
    { key: 'free', cents: free },
    { key: 'reserved', cents: amount_freeze },
  ]
}
