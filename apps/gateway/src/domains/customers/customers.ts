import { and, eq, isNull, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Transaction } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { customer } from './tables.ts'

/**
 * Begins a change on behalf of a customer: makes sure that the account is open, and holds back its deletion until the
 * transaction ends. It comes before every other lock: then the wallet's, then an instance's.
 * @throws ApiError `login_expired` where the account was deleted: whoever asks holds a session of before.
 */
export async function forCustomer(tx: Transaction, userId: string): Promise<void> {
  const [open] = await tx
    .select({ id: customer.id })
    .from(customer)
    .where(and(eq(customer.id, userId), isNull(customer.closedAt)))
    .for('share')
  if (!open) throw new ApiError('login_expired')
}

/** Opens a customer, in the transaction that makes the account. @param input.at Now. */
export async function openCustomer(tx: Transaction, input: { userId: string; at: Date }): Promise<void> {
  await tx.insert(customer).values({ id: input.userId, openedAt: input.at })
}

/**
 * Closes a customer for good. It begins the transaction that deletes the account: whatever is under way on the
 * customer's behalf ends first and is seen, whatever comes later is refused.
 * @param input.at Now.
 * @throws ApiError `login_expired` where it is closed already.
 */
export async function closeCustomer(tx: Transaction, input: { userId: string; at: Date }): Promise<void> {
  const closed = await tx
    .update(customer)
    .set({ closedAt: input.at })
    .where(and(eq(customer.id, input.userId), isNull(customer.closedAt)))
    .returning({ id: customer.id })
  if (closed.length === 0) throw new ApiError('login_expired')
}

/** Whether the account of that id is open, as a condition of a query: for what only looks and holds nothing back. */
export function isOpen(userId: SQLWrapper): SQL<boolean> {
  return sql<boolean>`exists (select 1 from ${customer} where ${customer.id} = ${userId} and ${customer.closedAt} is null)`
}
