import { eq, sql } from 'drizzle-orm'
import { expect } from 'vitest'
import { userAccount } from '../src/domains/identity/tables.ts'
import type { Database } from '../src/platform/database/database.ts'

/**
 * Lets two calls about an account meet: its row is held until both wait in the database, the first one in front. What
 * the second one has looked at by then is from before the first one's change, which no two calls at once can be made to
 * do by luck alone.
 * @param email The account's address.
 * @returns What both came to.
 */
export async function inTurn<First, Second>(
  db: Database,
  email: string,
  first: () => Promise<First>,
  second: () => Promise<Second>,
): Promise<[First, Second]> {
  const begun = await db.transaction(async tx => {
    const held = await tx
      .select({ id: userAccount.id })
      .from(userAccount)
      .where(eq(userAccount.email, email))
      .for('update')
    expect(held).toHaveLength(1)
    const one = first()
    await expect.poll(() => countWaiting(db)).toBe(1)
    const other = second()
    await expect.poll(() => countWaiting(db)).toBe(2)
    return { both: Promise.all([one, other]) }
  })
  return await begun.both
}

/** Statements on a database that wait for a lock. */
async function countWaiting(db: Database): Promise<number> {
  const { rows } = await db.execute<{ waiting: number }>(
    sql`select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows[0]?.waiting ?? 0
}
