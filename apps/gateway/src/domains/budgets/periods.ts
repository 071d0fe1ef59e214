import { BUDGET_SHARES, type BudgetPeriod, type BudgetShare } from '@berth/contract/budgets'
import { microFromCents } from '@berth/contract/money'

/** The day or month of UTC in which a moment is: from when, and until when. */
export function periodAt(period: BudgetPeriod, now: Date): { since: Date; until: Date } {
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()]
  return period === 'day'
    ? { since: new Date(Date.UTC(year, month, day)), until: new Date(Date.UTC(year, month, day + 1)) }
    : { since: new Date(Date.UTC(year, month)), until: new Date(Date.UTC(year, month + 1)) }
}

/** Whether all of a budget is spent. */
export function isSpent(amountCents: number, spentMicro: bigint): boolean {
  return spentMicro >= microFromCents(amountCents)
}

/** The shares of a budget that its spending has come to, the least first (B16). */
export function sharesPassed(amountCents: number, spentMicro: bigint): BudgetShare[] {
  return BUDGET_SHARES.filter(share => spentMicro * 100n >= microFromCents(amountCents) * BigInt(share))
}
