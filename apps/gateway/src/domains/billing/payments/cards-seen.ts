import { eq } from 'drizzle-orm'
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

/** What tells the cards apart that a customer has paid with or kept, as hashes. */
export async function cardsOf(q: Pick<Queryable, 'select'>, userId: string): Promise<string[]> {
  const seen = await q.select({ hash: cardSeen.cardHash }).from(cardSeen).where(eq(cardSeen.userId, userId))
  return seen.map(({ hash }) => hash)
}
