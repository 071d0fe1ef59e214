import type { Budget } from '@berth/contract/budgets'
import { microFromCents } from '@berth/contract/money'

/** How far a budget is: below its second warning, past it, or used up. */
export type BudgetState = 'fine' | 'near' | 'used_up'

/** From here on it is said to be near its end; its customer is warned there (B16). */
const NEAR_PERCENT = 80

type Spent = Pick<Budget, 'amount' | 'spent_micro'>

/** How much of a budget is spent, in whole percent: 100 only once all of it is. */
export function percentSpent({ amount, spent_micro }: Spent): number {
  return Number((BigInt(spent_micro) * 100n) / microFromCents(amount))
}

/** How far a budget is. */
export function stateOf(budget: Spent): BudgetState {
  const percent = percentSpent(budget)
  if (percent >= 100) return 'used_up'
  return percent >= NEAR_PERCENT ? 'near' : 'fine'
}
