import { and, eq, sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { findById } from '../accounts/accounts-store.ts'
import type { PreparePasswordReset } from '../links/password-reset.ts'
import { checkNewPassword, samePassword } from '../passwords/password-change.ts'
import type { Passwords } from '../passwords/passwords.ts'
import type { SignInMethods } from '../sign-in/sign-in-methods.ts'
import { userAccount } from '../tables.ts'

/** Sets passwords whose hashes are in this database. */
export function prepareEmbeddedReset(deps: {
  db: Database
  clock: Clock
  passwords: Passwords
  methods: Pick<SignInMethods, 'unlinkUnproven'>
}): PreparePasswordReset {
  const { db, clock, passwords } = deps
  return async ({ userId, email }, { password }) => {
    const user = await findById(db, userId)
    checkNewPassword(password, 'password', { email, displayName: user?.displayName ?? '' })
    if (await passwords.check(user?.passwordHash ?? null, password)) throw samePassword('password')
    const passwordHash = await passwords.hash(password)
    return {
      isLinkUsed: false,
      async write(tx) {
        await deps.methods.unlinkUnproven(tx, userId)
        const now = sql.param(clock.now(), userAccount.emailVerifiedAt)
        const changed = await tx
          .update(userAccount)
          .set({
            passwordHash,
            needUpdatePassword: false,
            emailVerifiedAt: sql`coalesce(${userAccount.emailVerifiedAt}, ${now})`,
          })
          // A link to an address that is no longer the account's opens nothing.
          .where(and(eq(userAccount.id, userId), eq(userAccount.email, email)))
          .returning({ id: userAccount.id })
        if (changed.length === 0) throw new ApiError('reset_link_expired')
      },
    }
  }
}
