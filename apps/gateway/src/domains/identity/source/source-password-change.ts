import { ORGANIZATION } from '@berth/contract/account'
import { newPassword as rules } from '@berth/contract/fields'
import { eq, sql } from 'drizzle-orm'
import type { IdentitySource, SourcePasswordAnswer, SourceProfile } from '../../../drivers/identity/port.ts'
import type { Database } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { forCustomer } from '../../customers/customers.ts'
import { findById } from '../accounts/accounts-store.ts'
import type { LinkTokens } from '../links/link-tokens.ts'
import type { GuardMails } from '../mails/guard-mails.ts'
import type { PasswordChange } from '../passwords/password-change.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { userAccount } from '../tables.ts'
import type { LoginThrottle } from '../throttles/login-throttle.ts'
import { wrongPassword } from './source-password-proof.ts'

const FROZEN_MINUTES = 15

interface SourcePasswordChangeDeps {
  db: Database
  source: Pick<IdentitySource, 'findById' | 'setPassword'>
  throttle: Pick<LoginThrottle, 'admit' | 'refuse'>
  links: Pick<LinkTokens, 'void'>
  sessions: Pick<Sessions, 'endAll' | 'forget'>
  guardMails: Pick<GuardMails, 'passwordChanged'>
}

/** Choosing a new password, or a first one, by somebody who is signed in, where a source keeps the passwords. */
export function createSourcePasswordChange(deps: SourcePasswordChangeDeps) {
  const { db, source, throttle } = deps

  /** The caller's own account at the source. @throws ApiError `not_found` where another one is named. */
  async function ownProfile({ caller, userOwner, userName }: PasswordChange): Promise<SourceProfile> {
    const row = await findById(db, caller.userId)
    const profile = row?.externalId ? await source.findById(row.externalId) : null
    if (!profile || profile.blocked) throw new ApiError('not_found')
    const name = userName.trim().toLowerCase()
    const isOwn =
      [ORGANIZATION, profile.owner].includes(userOwner) &&
      [profile.name.toLowerCase(), profile.email].includes(name)
    if (!isOwn) throw new ApiError('not_found')
    return profile
  }

  async function ask(profile: SourceProfile, input: PasswordChange): Promise<SourcePasswordAnswer> {
    const { oldPassword, newPassword: password, address } = input
    if (!profile.hasPassword)
      return await source.setPassword(profile, { password, oldPassword: null, address })
    // To the application, the source would set a password without the old one.
    if (oldPassword === '') return 'wrong'
    return await source.setPassword(profile, { password, oldPassword, address })
  }

  return {
    /**
     * Sets the caller's own password at the source, and ends the other sessions and older links.
     * @throws ApiError as the embedded identity's, and `identity_unavailable`.
     */
    async changePassword(input: PasswordChange): Promise<void> {
      const { caller, newPassword, address } = input
      const profile = await ownProfile(input)
      const rule = rules.safeParse(newPassword).error?.issues[0]?.message
      if (rule) throw tooWeak(rule)
      const admitted = await throttle.admit(profile.email, address)
      const answer = await ask(profile, input)
      if (answer === 'wrong') {
        const refusal = await throttle.refuse(profile.email, address, admitted)
        throw refusal.code === 'login_frozen' ? refusal : wrongPassword('oldPassword')
      }
      if (answer !== 'changed') throw refusalOf(answer)
      await db.transaction(async tx => {
        await forCustomer(tx, caller.userId)
        // Links before the account: using one locks them in that order.
        await deps.links.void(tx, caller.userId, ['reset_password', 'sign_in'])
        await tx
          .update(userAccount)
          .set({ externalPasswordAt: sql`clock_timestamp()`, needUpdatePassword: false })
          .where(eq(userAccount.id, caller.userId))
        await deps.sessions.endAll(tx, caller.userId, caller.sessionId)
        await deps.guardMails.passwordChanged(tx, { userId: caller.userId, address })
      })
      deps.sessions.forget(caller.userId)
    },
  }
}

function refusalOf(answer: 'weak' | 'same' | 'frozen'): ApiError {
  if (answer === 'weak') return tooWeak('password')
  if (answer === 'frozen') return new ApiError('login_frozen', { values: { minutes: FROZEN_MINUTES } })
  return new ApiError('validation_failed', { fields: [{ path: 'newPassword', rule: 'password_same' }] })
}

function tooWeak(rule: string): ApiError {
  return new ApiError('password_too_weak', { fields: [{ path: 'newPassword', rule }] })
}
