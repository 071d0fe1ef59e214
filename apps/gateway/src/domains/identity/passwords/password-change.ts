import { ORGANIZATION } from '@berth/contract/account'
import { newPassword as rules } from '@berth/contract/fields'
import { eq } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Caller } from '../../../platform/http/handler.ts'
import { forCustomer } from '../../customers/customers.ts'
import { findById } from '../accounts/accounts-store.ts'
import type { LinkTokens } from '../links/link-tokens.ts'
import type { GuardMails } from '../mails/guard-mails.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { userAccount } from '../tables.ts'
import type { PasswordProof } from './password-proof.ts'
import type { Passwords } from './passwords.ts'

/** A new password that a customer chose in the settings. */
export interface PasswordChange {
  caller: Pick<Caller, 'userId' | 'sessionId'>
  /** Organization and login name of the account that is meant, as Casdoor's form names it. */
  userOwner: string
  userName: string
  /** Not looked at where the account has none. */
  oldPassword: string
  newPassword: string
  /** Network address of the caller. */
  address: string
}

interface PasswordChangeDeps {
  db: Database
  clock: Clock
  proof: PasswordProof
  links: Pick<LinkTokens, 'void'>
  passwords: Pick<Passwords, 'hash'>
  sessions: Pick<Sessions, 'endAll' | 'forget'>
  guardMails: Pick<GuardMails, 'passwordChanged'>
}

/** Choosing a new password, or a first one, by somebody who is signed in. */
export function createPasswordChange(deps: PasswordChangeDeps) {
  const { db, proof } = deps
  return {
    /**
     * Sets the caller's own password, ends the other sessions, and makes older links worthless: whoever got in by
     * what was known before is out.
     * @throws ApiError `not_found` for any other account, whether or not there is one; `password_too_weak`;
     * `validation_failed` {password_wrong, password_same}; `login_frozen`.
     */
    async change(input: PasswordChange): Promise<void> {
      const { caller, oldPassword, newPassword, address } = input
      const user = await findById(db, caller.userId)
      const isOwn = input.userOwner === ORGANIZATION && input.userName.trim().toLowerCase() === user?.email
      if (!user || !isOwn) throw new ApiError('not_found')
      const rule = rules.safeParse(newPassword).error?.issues[0]?.message
      if (rule) throw new ApiError('password_too_weak', { fields: [{ path: 'newPassword', rule }] })
      const asked = { user, typed: oldPassword, address, field: 'oldPassword' }
      await proof.check(asked)
      // The old one is known to be right here, so that nothing is told by comparing.
      if (user.passwordHash !== null && newPassword === oldPassword) {
        throw new ApiError('validation_failed', { fields: [{ path: 'newPassword', rule: 'password_same' }] })
      }
      const passwordHash = await deps.passwords.hash(newPassword)
      await db.transaction(async tx => {
        await forCustomer(tx, user.id)
        // Links before the account: using one locks them in that order.
        await deps.links.void(tx, user.id, ['reset_password', 'sign_in'])
        await proof.accept(tx, asked)
        await tx
          .update(userAccount)
          .set({ passwordHash, needUpdatePassword: false })
          .where(eq(userAccount.id, user.id))
        await deps.sessions.endAll(tx, user.id, caller.sessionId)
        await deps.guardMails.passwordChanged(tx, { userId: user.id, address })
      })
      deps.sessions.forget(user.id)
    },
  }
}
