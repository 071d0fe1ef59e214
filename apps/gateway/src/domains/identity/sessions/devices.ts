import { and, desc, eq, notInArray } from 'drizzle-orm'
import type { Queryable, Transaction } from '../../../platform/database/database.ts'
import { sha256Hex } from '../../../platform/hash.ts'
import { accountDevice } from '../tables.ts'

/** Browsers that are remembered of one account: more than a person has. */
const DEVICES_PER_USER_MAX = 20

/**
 * Notes that an account was signed in from a browser; of the mark only a hash is kept.
 * @param seen.mark What the browser says of itself; null where it says nothing.
 */
export async function noteDevice(
  tx: Transaction,
  { userId, mark, at }: { userId: string; mark: string | null; at: Date },
): Promise<void> {
  if (mark === null) return
  await tx
    .insert(accountDevice)
    .values({ userId, markHash: sha256Hex(mark), seenAt: at })
    .onConflictDoUpdate({ target: [accountDevice.userId, accountDevice.markHash], set: { seenAt: at } })
  const newest = tx
    .select({ markHash: accountDevice.markHash })
    .from(accountDevice)
    .where(eq(accountDevice.userId, userId))
    .orderBy(desc(accountDevice.seenAt))
    .limit(DEVICES_PER_USER_MAX)
  await tx
    .delete(accountDevice)
    .where(and(eq(accountDevice.userId, userId), notInArray(accountDevice.markHash, newest)))
}

/** Browsers that an account was signed in from, as hashes of their marks. */
export async function devicesOf(q: Pick<Queryable, 'select'>, userId: string): Promise<string[]> {
  const seen = await q
    .select({ hash: accountDevice.markHash })
    .from(accountDevice)
    .where(eq(accountDevice.userId, userId))
  return seen.map(({ hash }) => hash)
}
