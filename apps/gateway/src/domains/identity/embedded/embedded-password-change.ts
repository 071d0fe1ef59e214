import { ORGANIZATION } from '@berth/contract/account'
import { eq } from 'drizzle-orm'
import type { Database } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { findById } from '../accounts/accounts-store.ts'
import { checkNewPassword, type PreparePasswordChange, samePassword } from '../passwords/password-change.ts'
import type { PasswordProof } from '../passwords/password-proof.ts'
import type { Passwords } from '../passwords/passwords.ts'
import { userAccount } from '../tables.ts'

/** Changes passwords whose hashes are in this database. */
export function prepareEmbeddedChange(deps: {
  db: Database
  proof: PasswordProof
  passwords: Pick<Passwords, 'hash'>
}): PreparePasswordChange {
  const { db, proof } = deps
  return async ({ caller, userOwner, userName, oldPassword, newPassword, address }) => {
    const user = await findById(db, caller.userId)
    const isOwn = userOwner === ORGANIZATION && userName.trim().toLowerCase() === user?.email
    if (!user || !isOwn) throw new ApiError('not_found')
    if (user.passwordHash === null) throw new ApiError('first_password_by_mail')
    checkNewPassword(newPassword, 'newPassword', user)
    const asked = { user, typed: oldPassword, address, field: 'oldPassword' }
    await proof.check(asked)
    // The old one is known to be right here, so that nothing is told by comparing.
    if (newPassword === oldPassword) throw samePassword('newPassword')
    const passwordHash = await deps.passwords.hash(newPassword)
    return async tx => {
      await proof.accept(tx, asked)
      await tx
        .update(userAccount)
        .set({ passwordHash, needUpdatePassword: false })
        .where(eq(userAccount.id, user.id))
    }
  }
}
