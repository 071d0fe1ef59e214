import { eq } from 'drizzle-orm'
import type { Queryable } from '../../platform/database/database.ts'
import { forCustomer } from '../customers/customers.ts'
import type { ReferralDeps } from './referral-deps.ts'
import { referralCode } from './tables.ts'

/** Of a display name so much stands in the code, and after it so many characters by chance. */
const NAME_CHARS_MAX = 12
const CHANCE_CHARS = 6
/** Codes that are tried before something must be wrong. */
const TRIES_MAX = 8
/** What a code can be: what else is asked for leads to a sign-up without one. */
export const CODE_PATTERN = /^[a-z0-9]+(?:-[a-z0-9]+)?$/

/** The link of an account: a code that is short, can be read out, and says nothing that its owner does not. */
export function createLinks({ db, clock, ids, displayNameOf, publicUrl }: ReferralDeps) {
  return {
    /** An account's code, made at the first look for it and the same from then on. */
    async codeOf(userId: string): Promise<string> {
      const [known] = await db.select().from(referralCode).where(eq(referralCode.userId, userId))
      if (known) return known.code
      const name = nameIn((await displayNameOf(userId)) ?? '')
      for (let tries = 0; tries < TRIES_MAX; tries += 1) {
        const chance = ids.readable(CHANCE_CHARS)
        const code = name === '' ? chance : `${name}-${chance}`
        const found = await db.transaction(async tx => {
          await forCustomer(tx, userId)
          await tx.insert(referralCode).values({ userId, code, createdAt: clock.now() }).onConflictDoNothing()
          const [row] = await tx.select().from(referralCode).where(eq(referralCode.userId, userId))
          return row?.code ?? null
        })
        if (found !== null) return found
      }
      throw new Error('no code was free')
    },

    /** The account that has a code, however it is written; null where none has, as after its account is gone. */
    async ownerOf(q: Pick<Queryable, 'select'>, code: string): Promise<string | null> {
      const [owner] = await q
        .select({ userId: referralCode.userId })
        .from(referralCode)
        .where(eq(referralCode.code, code.trim().toLowerCase()))
      return owner?.userId ?? null
    },

    /** Where a code leads friends. */
    linkOf: (code: string): string => new URL(`/r/${code}`, publicUrl()).href,
  }
}
export type Links = ReturnType<typeof createLinks>

/** What of a name fits a code: its first letters and digits of ASCII, without accents. */
function nameIn(displayName: string): string {
  const plain = displayName.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  const [first = ''] = plain.split(/[^a-z0-9]+/).filter(part => part !== '')
  return first.slice(0, NAME_CHARS_MAX)
}
