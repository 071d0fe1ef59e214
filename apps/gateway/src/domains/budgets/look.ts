import { and, asc, eq, gt, lt, sql } from 'drizzle-orm'
import type { BudgetRow } from './budget-rows.ts'
import type { BudgetsDeps } from './budgets-deps.ts'
import { type CoveredNames, createCovered } from './covered.ts'
import { isSpent, periodAt, sharesPassed } from './periods.ts'
import { budget, budgetCrossing } from './tables.ts'
import { tellShares } from './tell.ts'

/** Budgets that are read at once; a page keeps the memory bounded whatever their number. */
const PAGE = 500
const NO_NAMES: CoveredNames = { instanceName: null, keyName: null }

/** Calls of a key are refused when they are made; there is nothing to stop. */
const stopsInstances = ({ stops, keyId }: BudgetRow): boolean => stops && keyId === null

interface Listed extends BudgetRow {
  /** The highest share that was told in this period, in percent; 0: none. */
  told: number
}

/**
 * One look at all budgets: what was passed is told, what is used up stops what it covers. Any number of looks may run
 * at once: a share is told by the transaction that writes its row. Each budget is looked at in a transaction of its own,
 * so that one that fails never stops the rest; those of which nothing is to be done cost a part of one query.
 */
export function createLook(deps: BudgetsDeps): (signal?: AbortSignal) => Promise<void> {
  const { db, clock, billing, log } = deps
  const covered = createCovered(deps)

  /** @param after The last id of the page before; null for the first page. */
  async function readPage(after: string | null): Promise<Listed[]> {
    const [day, month] = [periodAt('day', clock.now()).since, periodAt('month', clock.now()).since]
    const since = sql`case ${budget.period} when 'day' then ${day.toISOString()}::timestamptz
      else ${month.toISOString()}::timestamptz end`
    const told = sql<number>`(select coalesce(max(c.share), 0) from budget_crossing c
      where c.budget_id = ${budget.id} and c.since = ${since})`
    const rows = await db
      .select({ row: budget, told: told.mapWith(Number) })
      .from(budget)
      .where(after === null ? undefined : gt(budget.id, after))
      .orderBy(asc(budget.id))
      .limit(PAGE)
    return rows.map(({ row, told }) => ({ ...row, told }))
  }

  /** Those for which there is something to do, by what they have spent at most. */
  async function due(page: Listed[]): Promise<Listed[]> {
    const spent = await covered.spentAtMost(db, page)
    return page.filter((row, index) => {
      const micro = spent[index] ?? 0n
      const highest = sharesPassed(row.amountCents, micro).at(-1) ?? 0
      return highest > row.told || (stopsInstances(row) && isSpent(row.amountCents, micro))
    })
  }

  /**
   * Tells what a budget has passed since the last look.
   * @returns Whether instances that it covers are to be stopped.
   */
  async function settle({ id, userId }: BudgetRow, names: CoveredNames): Promise<boolean> {
    return await db.transaction(async tx => {
      const { currency } = await billing.lockWallet(tx, userId)
      // It may have been changed since, or removed.
      const [row] = await tx.select().from(budget).where(eq(budget.id, id))
      if (!row) return false
      const spentMicro = await covered.spent(tx, row)
      const shares = sharesPassed(row.amountCents, spentMicro)
      const { since } = periodAt(row.period, clock.now())
      const isOver = and(eq(budgetCrossing.budgetId, id), lt(budgetCrossing.since, since))
      await tx.delete(budgetCrossing).where(isOver)
      if (shares.length === 0) return false
      await tellShares(tx, deps, row, { shares, spentMicro, currency, names })
      return stopsInstances(row) && isSpent(row.amountCents, spentMicro)
    })
  }

  async function lookAt(page: Listed[], signal?: AbortSignal): Promise<void> {
    const names = await covered.names(db, page)
    const stopping = new Set<string>()
    const gone = page.filter(({ id }) => !names.has(id))
    for (const { id } of gone) await db.delete(budget).where(eq(budget.id, id))
    for (const row of await due(page.filter(one => !gone.includes(one)))) {
      if (signal?.aborted) return
      try {
        if (await settle(row, names.get(row.id) ?? NO_NAMES)) stopping.add(row.userId)
      } catch (error) {
        log.error(
          { err: error, budget: row.id },
          'a budget could not be looked at; the next look tries again',
        )
      }
    }
    for (const userId of stopping) {
      if (signal?.aborted) return
      try {
        await deps.stop(userId)
      } catch (error) {
        log.error({ err: error, userId }, 'a budget could not stop what it covers; the next look tries again')
      }
    }
  }

  return async signal => {
    let after: string | null = null
    for (;;) {
      const page: Listed[] = await readPage(after)
      await lookAt(page, signal)
      after = page.at(-1)?.id ?? null
      if (page.length < PAGE || signal?.aborted) return
    }
  }
}
