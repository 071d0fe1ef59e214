import type { BudgetShare } from '@berth/contract/budgets'
import type { Currency } from '@berth/contract/limits'
import type { Transaction } from '../../platform/database/database.ts'
import type { BudgetRow } from './budget-rows.ts'
import type { BudgetsDeps } from './budgets-deps.ts'
import type { CoveredNames } from './covered.ts'
import { budgetCrossed } from './events.ts'
import { periodAt } from './periods.ts'
import { budgetCrossing } from './tables.ts'

/**
 * Tells that shares of a budget are passed, of those that were not told in this period the highest. The caller holds the
 * wallet's lock.
 * @param passed The least first.
 */
export async function tellShares(
  tx: Transaction,
  { clock, events }: Pick<BudgetsDeps, 'clock' | 'events'>,
  row: BudgetRow,
  passed: { shares: readonly BudgetShare[]; spentMicro: bigint; currency: Currency; names: CoveredNames },
): Promise<void> {
  const at = clock.now()
  const { since, until } = periodAt(row.period, at)
  const told = await tx
    .insert(budgetCrossing)
    .values(passed.shares.map(share => ({ budgetId: row.id, since, share, at })))
    .onConflictDoNothing()
    .returning({ share: budgetCrossing.share })
  const highest = passed.shares.findLast(share => told.some(one => one.share === share))
  if (highest === undefined) return
  await events.emit(tx, budgetCrossed, {
    userId: row.userId,
    ...{ at: at.toISOString(), until: until.toISOString(), share: highest, period: row.period },
    ...{ amountCents: row.amountCents, spentMicro: passed.spentMicro.toString(), currency: passed.currency },
    ...{ stops: row.stops, ...passed.names },
  })
}
