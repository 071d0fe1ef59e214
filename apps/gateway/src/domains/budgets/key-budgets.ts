import { BUDGET_SHARES, type BudgetPeriod } from '@berth/contract/budgets'
import { and, eq, inArray } from 'drizzle-orm'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import type { BudgetsDeps } from './budgets-deps.ts'
import { createCovered } from './covered.ts'
import { forgetAhead } from './forget-ahead.ts'
import { periodAt } from './periods.ts'
import { budget, budgetCrossing } from './tables.ts'
import { tellShares } from './tell.ts'

/** What a key's calls are meant to cost. */
export interface KeyBudget {
  amountCents: number
  period: BudgetPeriod
  /** Whether calls that may cost more than what is left are refused. */
  stops: boolean
}

/** Budgets of API keys: a key has one at the most, by day or by month. */
export function createKeyBudgets(deps: BudgetsDeps) {
  const { db, clock, billing, ids } = deps
  const covered = createCovered(deps)

  return {
    /** The budgets of keys by the keys' ids, each with its period that runs. */
    async of(
      q: Pick<Queryable, 'select'>,
      keyIds: string[],
    ): Promise<Map<string, KeyBudget & { since: Date; until: Date }>> {
      if (keyIds.length === 0) return new Map()
      const rows = await q.select().from(budget).where(inArray(budget.keyId, keyIds))
      const now = clock.now()
      return new Map(
        rows.map(({ keyId, amountCents, period, stops }) => [
          keyId ?? '',
          { amountCents, period, stops, ...periodAt(period, now) },
        ]),
      )
    },

    /**
     * Gives a key the budget that its form says, in place of the one that it has. Call it under the wallet's lock.
     * @param wanted Null: none.
     */
    async set(tx: Transaction, key: { id: string; userId: string }, wanted: KeyBudget | null): Promise<void> {
      const ofKey = eq(budget.keyId, key.id)
      const [held] = await tx.select().from(budget).where(ofKey)
      if (!wanted) {
        if (held) await tx.delete(budget).where(ofKey)
      } else if (held) {
        const row = { ...held, ...wanted }
        await tx.update(budget).set(row).where(ofKey)
        await forgetAhead(tx, row, { spentMicro: await covered.spent(tx, row), now: clock.now() })
      } else {
        const { id: keyId, userId } = key
        await tx.insert(budget).values({ id: ids.uuid(), userId, keyId, ...wanted, createdAt: clock.now() })
      }
    },

    /**
     * Tells that a key's budget stops its calls, once a period: one of them was refused, since it may cost more than what is
     * left. Little is left then and no more may be spent, so that 100 % would be told by nobody.
     */
    async tellStopped(keyId: string): Promise<void> {
      const ofKey = and(eq(budget.keyId, keyId), eq(budget.stops, true))
      const [known] = await db.select().from(budget).where(ofKey)
      if (!known) return
      const { since } = periodAt(known.period, clock.now())
      const isTold = and(
        eq(budgetCrossing.budgetId, known.id),
        eq(budgetCrossing.since, since),
        eq(budgetCrossing.share, 100),
      )
      // Refused calls are many, and only the first of them waits for the wallet.
      if ((await db.select().from(budgetCrossing).where(isTold)).length > 0) return
      await db.transaction(async tx => {
        const { currency } = await billing.lockWallet(tx, known.userId)
        const [row] = await tx.select().from(budget).where(ofKey)
        const names = row && (await covered.names(tx, [row])).get(row.id)
        if (!row || !names) return
        const spentMicro = await covered.spent(tx, row)
        await tellShares(tx, deps, row, { shares: BUDGET_SHARES, spentMicro, currency, names })
      })
    },
  }
}
