import { and, eq, isNotNull, isNull, lte, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { notify } from '../../platform/database/open-database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { customer } from './tables.ts'

/**
 * Begins a change on behalf of a customer: makes sure that the account is open, and holds back its deletion until the
 * transaction ends. It comes before every other lock: then the wallet's, then an instance's.
 * @throws ApiError `login_expired` where the account was deleted: whoever asks holds a session of before;
 *   `account_suspended` while the operator keeps them out.
 */
export async function forCustomer(tx: Transaction, userId: string): Promise<void> {
  const [open] = await tx
    .select({ suspendedAt: customer.suspendedAt })
    .from(customer)
    .where(and(eq(customer.id, userId), isNull(customer.closedAt)))
    .for('share')
  if (!open) throw new ApiError('login_expired')
  if (open.suspendedAt !== null) throw new ApiError('account_suspended')
}

/** Told when a customer is kept out or let in again; the payload is their id. */
export const CUSTOMER_CHANNEL = 'customer'

/** How the operator keeps a customer out. */
export interface Suspension {
  since: Date
  reason: string
  /** When what runs is stopped; null once that is done. */
  machinesUntil: Date | null
}

/** How a customer is kept out; null where nobody does. */
export async function suspensionOf(q: Queryable, userId: string): Promise<Suspension | null> {
  const [row] = await q.select().from(customer).where(eq(customer.id, userId))
  if (!row?.suspendedAt) return null
  return { since: row.suspendedAt, reason: row.suspendedReason ?? '', machinesUntil: row.machinesUntil }
}

/**
 * Keeps a customer out, or says anew why and until when what runs goes on (R6.5). It begins its transaction, as a deletion
 * does: what is under way on the customer's behalf ends first.
 * @throws ApiError `login_expired` where the account was deleted.
 */
export async function suspendCustomer(
  tx: Transaction,
  input: { userId: string; at: Date; reason: string; machinesUntil: Date },
): Promise<void> {
  const changed = await tx
    .update(customer)
    .set({
      suspendedAt: sql`coalesce(${customer.suspendedAt}, ${input.at.toISOString()}::timestamptz)`,
      suspendedReason: input.reason,
      machinesUntil: input.machinesUntil,
    })
    .where(and(eq(customer.id, input.userId), isNull(customer.closedAt)))
    .returning({ id: customer.id })
  if (changed.length === 0) throw new ApiError('login_expired')
  await notify(tx, CUSTOMER_CHANNEL, input.userId)
}

/** Lets a customer in again. What was stopped stays stopped. @returns Whether anybody kept them out. */
export async function readmitCustomer(tx: Transaction, userId: string): Promise<boolean> {
  const changed = await tx
    .update(customer)
    .set({ suspendedAt: null, suspendedReason: null, machinesUntil: null })
    .where(and(eq(customer.id, userId), isNotNull(customer.suspendedAt)))
    .returning({ id: customer.id })
  await notify(tx, CUSTOMER_CHANNEL, userId)
  return changed.length > 0
}

/** Customers that one round looks at. */
const DUE_MAX = 50

/** Suspended customers whose machines are to be stopped by now, those who wait longest first. @param now As the loop has it. */
export async function machinesDue(q: Queryable, now: Date): Promise<string[]> {
  const rows = await q
    .select({ id: customer.id })
    .from(customer)
    .where(lte(customer.machinesUntil, now))
    .orderBy(customer.machinesUntil)
    .limit(DUE_MAX)
  return rows.map(({ id }) => id)
}

/**
 * Notes that what ran of a suspended customer is being stopped.
 * @returns False where they were let in again meanwhile, or have more time: then nothing is to be stopped.
 */
export async function noteMachinesStopped(tx: Transaction, userId: string, now: Date): Promise<boolean> {
  const changed = await tx
    .update(customer)
    .set({ machinesUntil: null })
    .where(and(eq(customer.id, userId), isNotNull(customer.suspendedAt), lte(customer.machinesUntil, now)))
    .returning({ id: customer.id })
  return changed.length > 0
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

/** Whether the account of that id is open and nobody is kept out, as a condition of a query: for what only looks and holds nothing back. */
export function isOpen(userId: SQLWrapper): SQL<boolean> {
  return sql<boolean>`exists (select 1 from ${customer} where ${customer.id} = ${userId} and ${customer.closedAt} is null and ${customer.suspendedAt} is null)`
}

/** Whether the operator keeps an account out, as a condition of a query; one that is gone is not. */
export function isSuspended(userId: SQLWrapper): SQL<boolean> {
  return sql<boolean>`exists (select 1 from ${customer} where ${customer.id} = ${userId} and ${customer.closedAt} is null and ${customer.suspendedAt} is not null)`
}

/** Whether an account is there, as it stands now; one that is kept out is. */
export async function isThereNow(q: Pick<Queryable, 'select'>, userId: string): Promise<boolean> {
  const rows = await q
    .select({ id: customer.id })
    .from(customer)
    .where(and(eq(customer.id, userId), isNull(customer.closedAt)))
  return rows.length > 0
}
