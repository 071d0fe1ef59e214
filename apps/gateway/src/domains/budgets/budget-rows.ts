import type { budget } from './tables.ts'

export type BudgetRow = typeof budget.$inferSelect

/** The instances that budgets are for. */
export function instanceIdsOf(rows: readonly Pick<BudgetRow, 'instanceId'>[]): string[] {
  return rows.map(({ instanceId }) => instanceId).filter(id => id !== null)
}

/** The API keys that budgets are for. */
export function keyIdsOf(rows: readonly Pick<BudgetRow, 'keyId'>[]): string[] {
  return rows.map(({ keyId }) => keyId).filter(id => id !== null)
}
