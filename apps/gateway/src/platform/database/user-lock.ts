import { sql } from 'drizzle-orm'
import type { Transaction } from './database.ts'

/**
 * Lets one transaction at a time, on all replicas, change what a customer has of a kind, until it ends: so that a
 * limit is counted once and a name is looked up once.
 * @param kind What is changed, such as `ssh_key`.
 */
export async function lockForUser(tx: Transaction, kind: string, userId: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`${kind} ${userId}`}, 0))`)
}
