import type { Queryable } from '../../platform/database/database.ts'
import { type BudgetRow, instanceIdsOf, keyIdsOf } from './budget-rows.ts'
import type { BudgetsDeps } from './budgets-deps.ts'
import { periodAt } from './periods.ts'

/** What a budget is for; both null: the account. */
export interface CoveredNames {
  instanceName: string | null
  keyName: string | null
}

/** What budgets are for, and what that has spent: an account or an instance by its bills, an API key by its calls. */
export function createCovered({ clock, billing, instancesThere, keysThere, keysSpent }: BudgetsDeps) {
  const sinceOf = ({ period }: Pick<BudgetRow, 'period'>) => periodAt(period, clock.now()).since
  const ofKeys = (q: Queryable, rows: readonly BudgetRow[]) =>
    keysSpent(
      q,
      rows.flatMap(row =>
        row.keyId === null ? [] : [{ id: row.keyId, period: row.period, since: sinceOf(row) }],
      ),
    )

  return {
    /** What counts towards a budget in the period that runs. */
    async spent(q: Queryable, row: BudgetRow): Promise<bigint> {
      if (row.keyId === null) return await billing.spentSince(q, { ...row, since: sinceOf(row) })
      return (await ofKeys(q, [row])).get(row.keyId) ?? 0n
    },

    /** The most that each may have spent, in the order of the budgets: never less than {@link spent}. */
    async spentAtMost(q: Queryable, rows: readonly BudgetRow[]): Promise<bigint[]> {
      const billed = rows.filter(({ keyId }) => keyId === null)
      const most = await billing.spentAtMost(
        q,
        billed.map(row => ({ ...row, since: sinceOf(row) })),
      )
      const byId = new Map(
        billed.map(({ id }, at) => [id, (most[at]?.postedMicro ?? 0n) + (most[at]?.dueMicro ?? 0n)]),
      )
      const byKey = await ofKeys(q, rows)
      return rows.map(({ id, keyId }) => (keyId === null ? byId.get(id) : byKey.get(keyId)) ?? 0n)
    },

    /** What each budget is for, by its id: those of which that is gone are left out. */
    async names(q: Queryable, rows: readonly BudgetRow[]): Promise<Map<string, CoveredNames>> {
      const [instances, keys] = [
        await instancesThere(q, instanceIdsOf(rows)),
        await keysThere(q, keyIdsOf(rows)),
      ]
      const named = new Map<string, CoveredNames>()
      for (const { id, userId, instanceId, keyId } of rows) {
        const instance = instanceId === null ? null : instances.get(instanceId)
        const key = keyId === null ? null : keys.get(keyId)
        if (instance === undefined || key === undefined) continue
        if ([instance, key].some(one => one !== null && one.userId !== userId)) continue
        named.set(id, { instanceName: instance?.name ?? null, keyName: key?.name ?? null })
      }
      return named
    },
  }
}
