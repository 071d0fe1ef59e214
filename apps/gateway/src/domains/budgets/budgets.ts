import {
  type AddBudgetBody,
  type Budget,
  budget as budgetEntity,
  type EditBudgetBody,
} from '@berth/contract/budgets'
import { BUDGETS_PER_USER_MAX, type Currency } from '@berth/contract/limits'
import { and, asc, count, eq, isNull, ne, type SQL, sql } from 'drizzle-orm'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { wireOf } from '../../platform/http/wire.ts'
import { createLoop } from '../../platform/loop.ts'
import { forCustomer } from '../customers/customers.ts'
import { accountDeleted } from '../identity/events.ts'
import { type BudgetRow, instanceIdsOf } from './budget-rows.ts'
import type { BudgetsDeps } from './budgets-deps.ts'
import { type CoveredNames, createCovered } from './covered.ts'
import { forgetAhead } from './forget-ahead.ts'
import { createKeyBudgets } from './key-budgets.ts'
import { createLook } from './look.ts'
import { isSpent, periodAt } from './periods.ts'
import { budget } from './tables.ts'

const budgetOf = wireOf(budgetEntity)
/** In one snapshot, so that a posting beside it is counted once. */
const SNAPSHOT = { isolationLevel: 'repeatable read', accessMode: 'read only' } as const

/**
 * Customers' budgets (B16): what the account, an instance or an API key is meant to cost in a day or a month. They are
 * changed under the wallet's lock, so that a start or a call either comes before a change and is seen, or is held against it.
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

  const covered = createCovered(deps)

  async function shown(q: Queryable, row: BudgetRow, names: CoveredNames, currency: Currency) {
    return budgetOf({
      ...row,
      ...periodAt(row.period, clock.now()),
      ...names,
      amount: row.amountCents,
      currency,
      spentMicro: await covered.spent(q, row),
    })
  }

  /** What a budget is for, of what is the customer's own and there. @throws ApiError `not_found` (R6.4). */
  async function namesOf(q: Queryable, row: BudgetRow): Promise<CoveredNames> {
    const names = (await covered.names(q, [row])).get(row.id)
    if (!names) throw new ApiError('not_found')
    return names
  }

  /** The account and each instance have one budget by day and one by month; a key has one, by day or by month. */
  async function requireFree(
    tx: Transaction,
    wanted: Pick<BudgetRow, 'id' | 'userId' | 'instanceId' | 'keyId' | 'period'>,
  ) {
    const rows = await tx
      .select()
      .from(budget)
      .where(and(eq(budget.userId, wanted.userId), ne(budget.id, wanted.id)))
    const isTaken = rows.some(
      ({ instanceId, keyId, period }) =>
        instanceId === wanted.instanceId &&
        keyId === wanted.keyId &&
        (keyId !== null || period === wanted.period),
    )
    if (isTaken) throw new ApiError('budget_exists')
  }

  /** Budgets of keys are not counted: each has one, and there are so many keys at the most. */
  async function requireFewer(tx: Transaction, userId: string): Promise<void> {
    const [held] = await tx
      .select({ budgets: count() })
      .from(budget)
      .where(and(eq(budget.userId, userId), isNull(budget.keyId)))
    if ((held?.budgets ?? 0) < BUDGETS_PER_USER_MAX) return
    throw new ApiError('budget_limit', { values: { limit: BUDGETS_PER_USER_MAX } })
  }

  /** Those of a customer's budgets that stop instances, and are used up. Call it under the wallet's lock. */
  async function usedUp(tx: Transaction, userId: string, instanceId?: string | null): Promise<BudgetRow[]> {
    const rows = await tx
      .select()
      .from(budget)
      .where(and(eq(budget.userId, userId), eq(budget.stops, true), isNull(budget.keyId)))
    const found: BudgetRow[] = []
    for (const row of rows) {
      const isMeant = instanceId === undefined || row.instanceId === null || row.instanceId === instanceId
      if (isMeant && isSpent(row.amountCents, await covered.spent(tx, row))) found.push(row)
    }
    return found
  }

  return {
    start: loop.start,
    stop: loop.stop,

    /** One look at all budgets, as the loop makes it. */
    look,

    /** Those of API keys, as the models domain needs them. */
    keys: createKeyBudgets(deps),

    /** A customer's budgets: the account's own, then those of instances and of API keys that are there. */
    list: (userId: string): Promise<Budget[]> =>
      db.transaction(async tx => {
        const { currency } = await billing.totals(tx, userId)
        const rows = await tx
          .select()
          .from(budget)
          .where(eq(budget.userId, userId))
          .orderBy(asc(budget.createdAt), asc(budget.id))
        const there = await covered.names(tx, rows)
        const listed: Budget[] = []
        for (const row of rows.toSorted((a, b) => scopeOrder(a) - scopeOrder(b))) {
          const names = there.get(row.id)
          // Of what is gone it is removed with the next look.
          if (names) listed.push(await shown(tx, row, names, currency))
        }
        return listed
      }, SNAPSHOT),

    /**
     * Sets a budget.
     * @throws ApiError `not_found` for what is another's, `validation_failed` where it names an instance and a key,
     *   `budget_exists` or `budget_limit`.
     */
    add: (userId: string, { instance_id, key_id, period, amount, stops }: AddBudgetBody): Promise<Budget> =>
      db.transaction(async tx => {
        await forCustomer(tx, userId)
        const { currency } = await billing.lockWallet(tx, userId)
        if (instance_id !== null && key_id !== null) {
          throw new ApiError('validation_failed', { fields: [{ path: 'key_id', rule: 'not_allowed' }] })
        }
        const row = {
          id: deps.ids.uuid(),
          ...{ userId, instanceId: instance_id, keyId: key_id, period, amountCents: amount, stops },
          createdAt: clock.now(),
        }
        const names = await namesOf(tx, row)
        await requireFree(tx, row)
        if (key_id === null) await requireFewer(tx, userId)
        await tx.insert(budget).values(row)
        return await shown(tx, row, names, currency)
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
        await forgetAhead(tx, row, { spentMicro: await covered.spent(tx, row), now: clock.now() })
        return await shown(tx, row, await namesOf(tx, row), currency)
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

    /** Whether a budget of the account itself is set to stop what runs, used up or not. */
    async stopsAccount(q: Pick<Queryable, 'select'>, userId: string): Promise<boolean> {
      const ofAccount = and(isNull(budget.instanceId), isNull(budget.keyId))
      const rows = await q
        .select({ id: budget.id })
        .from(budget)
        .where(and(eq(budget.userId, userId), eq(budget.stops, true), ofAccount))
        .limit(1)
      return rows.length > 0
    },

    /** What a customer's budgets let run no longer: `all`, or instances by id. Call it under the wallet's lock. */
    async stopped(tx: Transaction, userId: string): Promise<'all' | string[]> {
      const rows = await usedUp(tx, userId)
      return rows.some(({ instanceId }) => instanceId === null) ? 'all' : instanceIdsOf(rows)
    },
  }
}
export type Budgets = ReturnType<typeof createBudgets>

/**
 * Whether a budget of an API key is set to stop it, used up or not.
 * @param keyId As a query of the caller's names the key's id, with its table.
 */
export function stopsKey(keyId: SQL): SQL<boolean> {
  return sql<boolean>`exists (select 1 from ${budget} b where b.key_id = ${keyId} and b.stops)`
}

function isOwn(userId: string, id: string) {
  return and(eq(budget.userId, userId), eq(budget.id, id))
}

/** The account's own, then those of instances, then those of keys. */
function scopeOrder({ instanceId, keyId }: BudgetRow): number {
  if (keyId !== null) return 2
  return instanceId === null ? 0 : 1
}
