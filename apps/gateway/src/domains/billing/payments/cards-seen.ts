import { and, eq, inArray } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Queryable, Transaction } from '../../../platform/database/database.ts'
import { sha256Hex } from '../../../platform/hash.ts'
import { cardSeen } from './tables.ts'

/**
 * Notes that a customer has paid with a card, or kept it, once.
 * @param seen.fingerprint What tells the card apart at its platform; null where that is not known.
 */
export async function noteCard(
  tx: Transaction,
  { clock }: { clock: Clock },
  seen: { userId: string; platformName: string; fingerprint: string | null },
): Promise<void> {
  const { userId, platformName, fingerprint } = seen
  if (fingerprint === null) return
  const cardHash = sha256Hex(`${platformName} ${fingerprint}`)
  await tx.insert(cardSeen).values({ userId, cardHash, seenAt: clock.now() }).onConflictDoNothing()
}

/** Whether two customers have used one card. */
export async function shareCard(
  q: Pick<Queryable, 'select'>,
  [one, other]: readonly [string, string],
): Promise<boolean> {
  const ofOther = q.select({ cardHash: cardSeen.cardHash }).from(cardSeen).where(eq(cardSeen.userId, other))
  const shared = await q
    .select({ userId: cardSeen.userId })
    .from(cardSeen)
    .where(and(eq(cardSeen.userId, one), inArray(cardSeen.cardHash, ofOther)))
    .limit(1)
  return shared.length > 0
}
