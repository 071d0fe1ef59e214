import { sql } from 'drizzle-orm'
import { expect, vi } from 'vitest'
import type { Transaction } from '../../platform/database/database.ts'
import type { BillingFixture } from './billing-fixture.ts'

/**
 * Changes something under a customer's lock, and commits it only when something else, which has looked at what was before,
 * waits for that lock.
 * @param race.change What changes.
 * @param race.meanwhile What comes to wait: it decides anew once the lock is its own.
 * @returns What that gives. @throws What it throws.
 */
export async function whileLocked<Answer>(
  { db, billing }: Pick<BillingFixture, 'db' | 'billing'>,
  userId: string,
  { change, meanwhile }: { change(tx: Transaction): Promise<unknown>; meanwhile(): Promise<Answer> },
): Promise<Answer> {
  const answer = await db.transaction(async tx => {
    await billing.lockWallet(tx, userId)
    await change(tx)
    const waiting = meanwhile()
    // It is looked at once the lock is let go.
    waiting.catch(() => undefined)
    await vi.waitFor(async () => {
      const { rows } = await db.execute(
        sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      expect(rows).not.toEqual([])
    })
    return { waiting }
  })
  return await answer.waiting
}
