import { and, eq } from 'drizzle-orm'
import type { Transaction } from './database/database.ts'
import { idempotency } from './database/tables.ts'

/** What names one intent of a customer (B3): the row of `idempotency` that also keeps the call's answer. */
export interface CallKey {
  userId: string
  /** Of the call, so that one key under two calls is two intents. */
  operation: string
  key: string
}

/**
 * Of a row that no call over HTTP has made. The first that comes with the key takes the row, and what it did; whether
 * it asks for the same is for the domain to say.
 */
export const UNKNOWN_HASH = ''

/**
 * What an earlier try with this key has done, as it was kept by `keepResult`; null when nothing was. The key is held
 * until the transaction ends: of two tries at once the second sees what the first did.
 * @param at Now. Whoever asks without having come over HTTP has no row yet; it is made here.
 */
export async function earlierResult(tx: Transaction, call: CallKey, at: Date): Promise<string | null> {
  await tx
    .insert(idempotency)
    .values({ ...call, bodyHash: UNKNOWN_HASH, state: 'running', leaseUntil: at, createdAt: at })
    .onConflictDoNothing()
  const [row] = await tx
    .select({ result: idempotency.result })
    .from(idempotency)
    .where(isRowOf(call))
    .for('update')
  return row?.result ?? null
}

/**
 * Keeps what a call has done, in the transaction that does it: either both are there after a crash, or neither is.
 * @param result What finds it again, such as the id of what was made.
 */
export async function keepResult(tx: Transaction, call: CallKey, result: string): Promise<void> {
  await tx.update(idempotency).set({ result }).where(isRowOf(call))
}

/** The condition that finds the row of a key. */
export function isRowOf({ userId, operation, key }: CallKey) {
  return and(eq(idempotency.userId, userId), eq(idempotency.operation, operation), eq(idempotency.key, key))
}
