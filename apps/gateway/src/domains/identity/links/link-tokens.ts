import { and, eq, gt, inArray, isNull, lt } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Queryable } from '../../../platform/database/database.ts'
import { sha256Hex } from '../../../platform/hash.ts'
import type { Ids } from '../../../platform/ids.ts'
import { linkToken } from '../tables.ts'

/** 256 bits: nobody guesses one, so that a fast hash is enough to store it. */
const SECRET_BYTES = 32

export type LinkPurpose = 'verify_email' | 'sign_in' | 'reset_password'

interface NewLink {
  purpose: LinkPurpose
  userId: string
  /** The address that it is made for. */
  email: string
  lifeMs: number
}

/** Secrets of links: for one purpose, good once, for a while; only their hash is stored. */
export function createLinkTokens({ clock, ids }: { clock: Clock; ids: Ids }) {
  return {
    /**
     * Makes a link's secret. Older links of the same person stay good.
     * @returns The secret, for the link alone.
     */
    async make(q: Queryable, { purpose, userId, email, lifeMs }: NewLink): Promise<string> {
      const secret = ids.secret(SECRET_BYTES)
      const createdAt = clock.now()
      const expiresAt = new Date(createdAt.getTime() + lifeMs)
      await q
        .insert(linkToken)
        .values({ hash: sha256Hex(secret), purpose, userId, email, createdAt, expiresAt })
      return secret
    },

    /**
     * Looks at a link without using it up.
     * @returns Whose it is, or null when `use` would not take it either.
     */
    async find(
      q: Pick<Queryable, 'select'>,
      purpose: LinkPurpose,
      secret: string,
    ): Promise<{ userId: string; email: string } | null> {
      const [row] = await q
        .select({ userId: linkToken.userId, email: linkToken.email })
        .from(linkToken)
        .where(isGood(purpose, secret, clock.now()))
      return row ?? null
    },

    /** Uses up what somebody still has of some purposes. */
    async void(q: Pick<Queryable, 'update'>, userId: string, purposes: LinkPurpose[]): Promise<void> {
      await q
        .update(linkToken)
        .set({ usedAt: clock.now() })
        .where(
          and(eq(linkToken.userId, userId), inArray(linkToken.purpose, purposes), isNull(linkToken.usedAt)),
        )
    },

    /**
     * Uses a link up. The one statement lets one of any number of parallel clicks through.
     * @returns Whose it is, or null when it is unknown, used, over, or for something else.
     */
    async use(
      q: Queryable,
      purpose: LinkPurpose,
      secret: string,
    ): Promise<{ userId: string; email: string } | null> {
      const now = clock.now()
      const [row] = await q
        .update(linkToken)
        .set({ usedAt: now })
        .where(isGood(purpose, secret, now))
        .returning({ userId: linkToken.userId, email: linkToken.email })
      return row ?? null
    },

    /** Makes a link that was just used up good again, because what it was used for was refused. */
    async giveBack(q: Pick<Queryable, 'update'>, secret: string): Promise<void> {
      await q
        .update(linkToken)
        .set({ usedAt: null })
        .where(eq(linkToken.hash, sha256Hex(secret)))
    },

    async purge(q: Pick<Queryable, 'delete'>): Promise<void> {
      await q.delete(linkToken).where(lt(linkToken.expiresAt, clock.now()))
    },
  }
}
export type LinkTokens = ReturnType<typeof createLinkTokens>

function isGood(purpose: LinkPurpose, secret: string, now: Date) {
  return and(
    eq(linkToken.hash, sha256Hex(secret)),
    eq(linkToken.purpose, purpose),
    isNull(linkToken.usedAt),
    gt(linkToken.expiresAt, now),
  )
}
