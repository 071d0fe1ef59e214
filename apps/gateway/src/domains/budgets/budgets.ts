import {
  type AddBudgetBody,
  type Budget,
  budget as budgetEntity,
  type EditBudgetBody,
} from '@berth/contract/budgets'
import { BUDGETS_PER_USER_MAX, type Currency } from '@berth/contract/limits'
import { and, asc, count, eq, ne } from 'drizzle-orm'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { wireOf } from '../../platform/http/wire.ts'
import { createLoop } from '../../platform/loop.ts'
import { forCustomer } from '../customers/customers.ts'
import { accountDeleted } from '../identity/events.ts'
import { type BudgetRow, instanceIdsOf } from './budget-rows.ts'
import type { BudgetsDeps } from './budgets-deps.ts'
import { createLook } from './look.ts'
import { isSpent, periodAt, sharesPassed } from './periods.ts'
import { budget, budgetCrossing } from './tables.ts'

const budgetOf = wireOf(budgetEntity)
/** In one snapshot, so that a posting beside it is counted once. */
const SNAPSHOT = { isolationLevel: 'repeatable read', accessMode: 'read only' } as const

/**
 * Customers' budgets (B16): what the account, or one instance, is meant to cost in a day or a month. They are changed
 * under the wallet's lock, so that a start either comes before a change and is seen, or is held against it.
 */
export function createBudgets(deps: BudgetsDeps) {
  const { db, clock, billing } = deps
  deps.events.on(accountDeleted, 'budgets', async (tx, { userId }) => {
    await tx.delete(budget).where(eq(budget.userId, userId))
  })
  const look = createLook(deps)
  const loop = createLoop({
    name: 'budgets',
    pauseMs: deps.lookMs,
    lease: deps,
    log: deps.log,
    run: look,
  })

  const spentOf = (q: Queryable, row: BudgetRow): Promise<bigint> =>
    billing.spentSince(q, { ...row, since: periodAt(row.period, clock.now()).since })

  async function shown(q: Queryable, row: BudgetRow, name: string | null, currency: Currency) {
    return budgetOf({
      ...row,
      ...periodAt(row.period, clock.now()),
      amount: row.amountCents,
      instanceName: name,
      currency,
      spentMicro: await spentOf(q, row),
    })
  }

  /** The name of a customer's own instance that is there. @throws ApiError `not_found` (R6.4). */
  async function nameOf(q: Queryable, userId: string, instanceId: string | null): Promise<string | null> {
    if (instanceId === null) return null
    const found = (await deps.instancesThere(q, [instanceId])).get(instanceId)
    if (found?.userId !== userId) throw new ApiError('not_found')
    return found.name
  }

  /** One scope has one budget by day and one by month. */
  async function requireFree(
    tx: Transaction,
    wanted: Pick<BudgetRow, 'id' | 'userId' | 'instanceId' | 'period'>,
  ) {
    const rows = await tx
      .select({ instanceId: budget.instanceId })
      .from(budget)
      .where(
        and(eq(budget.userId, wanted.userId), eq(budget.period, wanted.period), ne(budget.id, wanted.id)),
      )
    if (rows.some(({ instanceId }) => instanceId === wanted.instanceId)) throw new ApiError('budget_exists')
  }

  /** Those of a customer's budgets that stop what they cover, and are used up. Call it under the wallet's lock. */
  async function usedUp(tx: Transaction, userId: string, instanceId?: string | null): Promise<BudgetRow[]> {
    const rows = await tx
      .select()
      .from(budget)
      .where(and(eq(budget.userId, userId), eq(budget.stops, true)))
    const found: BudgetRow[] = []
    for (const row of rows) {
      const isMeant = instanceId === undefined || row.instanceId === null || row.instanceId === instanceId
      if (isMeant && isSpent(row.amountCents, await spentOf(tx, row))) found.push(row)
    }
    return found
  }

  return {
    start: loop.start,
    stop: loop.stop,

    /** One look at all budgets, as the loop makes it. */
    look,

    /** A customer's budgets: the account's own, then those of instances that are there. */
    list: (userId: string): Promise<Budget[]> =>
      db.transaction(async tx => {
        const { currency } = await billing.totals(tx, userId)
        const rows = await tx
          .select()
          .from(budget)
          .where(eq(budget.userId, userId))
          .orderBy(asc(budget.createdAt), asc(budget.id))
        const there = await deps.instancesThere(tx, instanceIdsOf(rows))
        const listed: Budget[] = []
        for (const row of rows.toSorted((a, b) => scopeOrder(a) - scopeOrder(b))) {
          const name = row.instanceId === null ? null : there.get(row.instanceId)?.name
          // Of an instance that is gone it is removed with the next look.
          if (name !== undefined) listed.push(await shown(tx, row, name, currency))
        }
        return listed
      }, SNAPSHOT),

    /**
     * Sets a budget.
     * @throws ApiError `not_found` for another's instance, `budget_exists` or `budget_limit`.
     */
    add: (userId: string, { instance_id, period, amount, stops }: AddBudgetBody): Promise<Budget> =>
      db.transaction(async tx => {
        await forCustomer(tx, userId)
        const { currency } = await billing.lockWallet(tx, userId)
        const name = await nameOf(tx, userId, instance_id)
        const row = {
          id: deps.ids.uuid(),
          ...{ userId, instanceId: instance_id, period, amountCents: amount, stops },
          createdAt: clock.now(),
        }
        await requireFree(tx, row)
        const [held] = await tx.select({ budgets: count() }).from(budget).where(eq(budget.userId, userId))
        if ((held?.budgets ?? 0) >= BUDGETS_PER_USER_MAX) {
          throw new ApiError('budget_limit', { values: { limit: BUDGETS_PER_USER_MAX } })
        }
        await tx.insert(budget).values(row)
        return await shown(tx, row, name, currency)
      }),

    /**
     * Changes a budget. Shares that it has passed by the new amount stay told; those that lie ahead again are told
     * when they are passed.
     * @throws ApiError `not_found` or `budget_exists`.
     */
    edit: (userId: string, id: string, { period, amount, stops }: EditBudgetBody): Promise<Budget> =>
      db.transaction(async tx => {
        await forCustomer(tx, userId)
        const { currency } = await billing.lockWallet(tx, userId)
        const [held] = await tx.select().from(budget).where(isOwn(userId, id))
        if (!held) throw new ApiError('not_found')
        const row = { ...held, period, amountCents: amount, stops }
        await requireFree(tx, row)
        await tx.update(budget).set(row).where(eq(budget.id, id))
        await forgetAhead(tx, row, await spentOf(tx, row))
        return await shown(tx, row, await nameOf(tx, userId, row.instanceId), currency)
      }),

    /** Removes a budget. @throws ApiError `not_found`. */
    remove: (userId: string, id: string): Promise<void> =>
      db.transaction(async tx => {
        await forCustomer(tx, userId)
        await billing.lockWallet(tx, userId)
        const removed = await tx.delete(budget).where(isOwn(userId, id)).returning({ id: budget.id })
        if (removed.length === 0) throw new ApiError('not_found')
      }),

    /** Whether something that is deployed now would be refused for a budget. */
    hasRoom: (userId: string): Promise<boolean> =>
      db.transaction(async tx => (await usedUp(tx, userId, null)).length === 0, SNAPSHOT),

    /**
     * Refuses to let begin what a used-up budget would stop. Call it under the wallet's lock.
     * @param of.instanceId What starts; null for one that is deployed.
     * @throws ApiError `budget_reached`.
     */
    async requireRoom(tx: Transaction, of: { userId: string; instanceId: string | null }): Promise<void> {
      if ((await usedUp(tx, of.userId, of.instanceId)).length > 0) throw new ApiError('budget_reached')
    },

    /** What a customer's budgets let run no longer: `all`, or instances by id. Call it under the wallet's lock. */
    async stopped(tx: Transaction, userId: string): Promise<'all' | string[]> {
      const rows = await usedUp(tx, userId)
      return rows.some(({ instanceId }) => instanceId === null) ? 'all' : instanceIdsOf(rows)
    },
  }

  /** Shares that lie ahead, and periods that are over, are told anew or never. */
  async function forgetAhead(tx: Transaction, row: BudgetRow, spentMicro: bigint): Promise<void> {
    const { since } = periodAt(row.period, clock.now())
    const passed = sharesPassed(row.amountCents, spentMicro)
    const told = await tx.select().from(budgetCrossing).where(eq(budgetCrossing.budgetId, row.id))
    for (const { since: began, share } of told) {
      if (began.getTime() === since.getTime() && passed.some(one => one === share)) continue
      await tx
        .delete(budgetCrossing)
        .where(
          and(
            eq(budgetCrossing.budgetId, row.id),
            eq(budgetCrossing.since, began),
            eq(budgetCrossing.share, share),
          ),
        )
    }
  }
}
export type Budgets = ReturnType<typeof createBudgets>

function isOwn(userId: string, id: string) {
  return and(eq(budget.userId, userId), eq(budget.id, id))
}

/** The account's own before those of instances. */
function scopeOrder({ instanceId }: BudgetRow): number {
  return instanceId === null ? 0 : 1
}
