import { eq, sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { IdentitySource, SourceProfile } from '../../../drivers/identity/port.ts'
import type { Database } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Audit } from '../../audit/audit.ts'
import { findById } from '../accounts/accounts-store.ts'
import type { LinkTokens } from '../links/link-tokens.ts'
import { checkNewPassword, type PasswordReset, samePassword } from '../links/password-reset.ts'
import type { GuardMails } from '../mails/guard-mails.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { userAccount } from '../tables.ts'
import type { LoginThrottle } from '../throttles/login-throttle.ts'
import type { Mirror } from './mirror.ts'

interface SourcePasswordResetDeps {
  db: Database
  log: Pick<Logger, 'warn'>
  source: IdentitySource
  mirror: Mirror
  links: LinkTokens
  throttle: Pick<LoginThrottle, 'reset'>
  sessions: Pick<Sessions, 'endAll' | 'forget'>
  guardMails: Pick<GuardMails, 'passwordChanged'>
  audit: Pick<Audit, 'note'>
}

/** Choosing a new password by a mailed link, where a source keeps the passwords. */
export function createSourcePasswordReset(deps: SourcePasswordResetDeps) {
  const { db, source, mirror, links, sessions } = deps

  /** Whose link it is at the source. @throws ApiError `reset_link_expired` where it is nobody's any more. */
  async function ownerOf(link: { userId: string; email: string }): Promise<SourceProfile> {
    const row = await findById(db, link.userId)
    const profile = row?.externalId ? await source.findById(row.externalId) : null
    if (!profile || profile.blocked || profile.email !== link.email) throw new ApiError('reset_link_expired')
    return profile
  }

  async function setPassword(profile: SourceProfile, { password, address }: PasswordReset): Promise<void> {
    const answer = await source.setPassword(profile, { password, oldPassword: null, address })
    if (answer === 'same') throw samePassword()
    if (answer === 'changed') return
    if (answer === 'weak') {
      throw new ApiError('password_too_weak', { fields: [{ path: 'password', rule: 'password' }] })
    }
    throw new ApiError('reset_failed')
  }

  /** Whoever opened the link reads the address's mail. The password is set, so a failure here is not the caller's. */
  async function confirm(userId: string, profile: SourceProfile): Promise<void> {
    try {
      await source.confirmEmail(profile, { forgiveWrongPasswords: true })
      await mirror.keepKnown(userId, { ...profile, emailVerified: true, mustChangePassword: false })
    } catch (error) {
      deps.log.warn({ err: error }, 'an address that a reset link was opened at was not confirmed')
    }
  }

  /**
   * Sets the new password at the source and ends every session. The link is taken first, so that of clicks at once
   * one reaches the source, and given back where the password is refused.
   * @throws ApiError as the embedded identity's, and `identity_unavailable`.
   */
  return async function reset(input: PasswordReset): Promise<void> {
    const { secret, password, address, userAgent } = input
    if (secret === '') throw new ApiError('reset_link_invalid')
    const found = await links.find(db, 'reset_password', secret)
    if (!found) throw new ApiError('reset_link_expired')
    checkNewPassword(password)
    const profile = await ownerOf(found)
    if (!(await links.use(db, 'reset_password', secret))) throw new ApiError('reset_link_expired')
    try {
      await setPassword(profile, input)
    } catch (error) {
      await links.giveBack(db, secret)
      throw error
    }
    await db.transaction(async tx => {
      await deps.throttle.reset(tx, found.email, address)
      await tx
        .update(userAccount)
        .set({ externalPasswordAt: sql`clock_timestamp()`, needUpdatePassword: false })
        .where(eq(userAccount.id, found.userId))
      await links.void(tx, found.userId, ['reset_password', 'sign_in'])
      await sessions.endAll(tx, found.userId, null)
      await deps.guardMails.passwordChanged(tx, { userId: found.userId, address })
    })
    sessions.forget(found.userId)
    const { userId } = found
    deps.audit.note({ userId, actor: 'customer', action: 'account.reset-password', address, userAgent })
    await confirm(userId, profile)
  }
}
