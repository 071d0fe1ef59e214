import { and, eq, ne, notInArray, or } from 'drizzle-orm'
import type { Transaction } from '../../platform/database/database.ts'
import type { BudgetRow } from './budget-rows.ts'
import { periodAt, sharesPassed } from './periods.ts'
import { budgetCrossing } from './tables.ts'

/** After a change of a budget: shares that lie ahead, and periods that are over, are told anew or never. */
export async function forgetAhead(
  tx: Transaction,
  row: BudgetRow,
  { spentMicro, now }: { spentMicro: bigint; now: Date },
): Promise<void> {
  const { since } = periodAt(row.period, now)
  const passed = sharesPassed(row.amountCents, spentMicro)
  await tx
    .delete(budgetCrossing)
    .where(
      and(
        eq(budgetCrossing.budgetId, row.id),
        or(ne(budgetCrossing.since, since), notInArray(budgetCrossing.share, passed)),
      ),
    )
}
