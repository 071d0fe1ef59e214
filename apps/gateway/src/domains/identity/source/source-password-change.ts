import { ORGANIZATION } from '@berth/contract/account'
import { eq, sql } from 'drizzle-orm'
import type { IdentitySource, SourcePasswordAnswer, SourceProfile } from '../../../drivers/identity/port.ts'
import type { Database } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { findById } from '../accounts/accounts-store.ts'
import {
  checkNewPassword,
  type PasswordChange,
  type PreparePasswordChange,
  samePassword,
  tooWeakPassword,
} from '../passwords/password-change.ts'
import { wrongPassword } from '../passwords/password-proof.ts'
import { userAccount } from '../tables.ts'
import type { LoginThrottle } from '../throttles/login-throttle.ts'

const FROZEN_MINUTES = 15

interface SourcePasswordChangeDeps {
  db: Database
  source: Pick<IdentitySource, 'findById' | 'setPassword'>
  throttle: Pick<LoginThrottle, 'admit' | 'refuse'>
}

/**
 * Sets passwords that a source keeps: it has the new one before the transaction begins.
 * @returns A function that throws `identity_unavailable` too.
 */
export function prepareSourceChange({
  db,
  source,
  throttle,
}: SourcePasswordChangeDeps): PreparePasswordChange {
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
    // To the application, the source would set a password without the old one.
    if (oldPassword === '') return 'wrong'
    return await source.setPassword(profile, { password, oldPassword, address })
  }

  return async input => {
    const { caller, newPassword, address } = input
    const profile = await ownProfile(input)
    if (!profile.hasPassword) throw new ApiError('first_password_by_mail')
    checkNewPassword(newPassword, 'newPassword', profile)
    const admitted = await throttle.admit(profile.email, address)
    const answer = await ask(profile, input)
    if (answer === 'wrong') {
      const refusal = await throttle.refuse(profile.email, address, admitted)
      throw refusal.code === 'login_frozen' ? refusal : wrongPassword('oldPassword')
    }
    if (answer !== 'changed') throw refusalOf(answer)
    return async tx => {
      await tx
        .update(userAccount)
        .set({ externalPasswordAt: sql`clock_timestamp()`, needUpdatePassword: false })
        .where(eq(userAccount.id, caller.userId))
    }
  }
}

function refusalOf(answer: 'weak' | 'same' | 'frozen'): ApiError {
  if (answer === 'weak') return tooWeakPassword('newPassword', 'password')
  if (answer === 'frozen') return new ApiError('login_frozen', { values: { minutes: FROZEN_MINUTES } })
  return samePassword('newPassword')
}
