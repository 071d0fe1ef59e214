import { eq } from 'drizzle-orm'
import type { Transaction } from '../../platform/database/database.ts'
import { instance, terminalTicket } from './tables.ts'

/**
 * Removes what a customer whose account is deleted wrote into instances: variables, which often hold secrets, and
 * commands. Rows and events stay, for receipts.
 */
export async function forgetUser(tx: Transaction, userId: string): Promise<void> {
  await tx.update(instance).set({ env: {}, startCommand: '' }).where(eq(instance.userId, userId))
  await tx.delete(terminalTicket).where(eq(terminalTicket.userId, userId))
}
