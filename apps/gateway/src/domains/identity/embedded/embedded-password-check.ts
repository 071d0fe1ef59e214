import type { Database } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { findByEmail, findByIdShared } from '../accounts/accounts-store.ts'
import type { CheckPassword } from '../passwords/password-check.ts'
import type { Passwords } from '../passwords/passwords.ts'

/** Checks passwords against the hashes of this database. */
export function createEmbeddedPasswordCheck(deps: {
  db: Database
  passwords: Pick<Passwords, 'check'>
}): CheckPassword {
  const { db, passwords } = deps
  return async ({ email, password }) => {
    const user = await findByEmail(db, email)
    const isRight = await passwords.check(user?.passwordHash ?? null, password)
    if (!user || !isRight) return { isRight: false, user, refusal: counted => counted }
    return {
      isRight: true,
      async confirm(tx) {
        const current = await findByIdShared(tx, user.id)
        // The password was changed while this one was looked at: it is the old one.
        if (!current || current.passwordHash !== user.passwordHash) throw new ApiError('login_failed')
        return current
      },
    }
  }
}
