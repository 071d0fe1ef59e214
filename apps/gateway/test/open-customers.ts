import { randomUUID } from 'node:crypto'
import { customer } from '../src/domains/customers/tables.ts'
import type { Database } from '../src/platform/database/database.ts'

/** Opens customers by their ids, without accounts, for tests of a domain alone; those that are open already stay so. */
export async function openCustomers(db: Database, ...userIds: string[]): Promise<void> {
  const openedAt = new Date('2026-01-01T00:00:00Z')
  await db
    .insert(customer)
    .values(userIds.map(id => ({ id, openedAt })))
    .onConflictDoNothing()
}

/** Opens a customer without an account. @returns The id. */
export async function newCustomer(db: Database): Promise<string> {
  const userId = randomUUID()
  await openCustomers(db, userId)
  return userId
}
