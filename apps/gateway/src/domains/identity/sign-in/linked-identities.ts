import { and, asc, eq, lt, type SQL } from 'drizzle-orm'
import type { ProviderIdentity } from '../../../drivers/sign-in/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Queryable, Transaction } from '../../../platform/database/database.ts'
import type { Ids } from '../../../platform/ids.ts'
import { linkedIdentity } from '../tables.ts'

export type LinkedIdentity = typeof linkedIdentity.$inferSelect

const USERNAME_CHARS_MAX = 200

/** Identities at other services that open accounts. They are found by the service's own id and by nothing else. */
export function createLinkedIdentities({ clock, ids }: { clock: Clock; ids: Ids }) {
  return {
    /** Whose identity that is; null for nobody's. */
    async ownerOf(q: Pick<Queryable, 'select'>, provider: string, subject: string): Promise<string | null> {
      const [row] = await q
        .select({ userId: linkedIdentity.userId })
        .from(linkedIdentity)
        .where(isIdentity(provider, subject))
      return row?.userId ?? null
    },

    /** What is linked to an account, the oldest first. */
    async of(q: Pick<Queryable, 'select'>, userId: string): Promise<LinkedIdentity[]> {
      return await q
        .select()
        .from(linkedIdentity)
        .where(eq(linkedIdentity.userId, userId))
        .orderBy(asc(linkedIdentity.linkedAt), asc(linkedIdentity.id))
    },

    /**
     * Links an identity to an account.
     * @returns False when it is linked already, or the account has another one of that service; nothing changed then.
     */
    async add(
      tx: Transaction,
      userId: string,
      provider: string,
      { subject, username, email }: ProviderIdentity,
    ): Promise<boolean> {
      const rows = await tx
        .insert(linkedIdentity)
        .values({
          id: ids.uuid(),
          userId,
          provider,
          subject,
          username: username.slice(0, USERNAME_CHARS_MAX),
          email,
          linkedAt: clock.now(),
        })
        .onConflictDoNothing()
        .returning({ id: linkedIdentity.id })
      return rows.length > 0
    },

    /** Unlinks. */
    async remove(tx: Transaction, userId: string, provider: string): Promise<void> {
      await removeWhere(tx, userId, eq(linkedIdentity.provider, provider))
    },

    /**
     * Unlinks what was linked to an account while nobody had proven that its address is theirs: whoever made it
     * with somebody else's address must not keep a way in.
     * @param verifiedAt When the address was proven first; null for not before now.
     * @returns Names of the providers.
     */
    async removeUnproven(tx: Transaction, userId: string, verifiedAt: Date | null): Promise<string[]> {
      return await removeWhere(
        tx,
        userId,
        verifiedAt === null ? undefined : lt(linkedIdentity.linkedAt, verifiedAt),
      )
    },
  }
}
export type LinkedIdentities = ReturnType<typeof createLinkedIdentities>

async function removeWhere(tx: Transaction, userId: string, which: SQL | undefined): Promise<string[]> {
  const rows = await tx
    .delete(linkedIdentity)
    .where(and(eq(linkedIdentity.userId, userId), which))
    .returning({ provider: linkedIdentity.provider })
  return rows.map(({ provider }) => provider)
}

function isIdentity(provider: string, subject: string) {
  return and(eq(linkedIdentity.provider, provider), eq(linkedIdentity.subject, subject))
}
