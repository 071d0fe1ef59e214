import { eq, sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { IdentitySource, SourceProfile } from '../../../drivers/identity/port.ts'
import type { Database } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { findById } from '../accounts/accounts-store.ts'
import type { LinkTokens } from '../links/link-tokens.ts'
import type { PreparePasswordReset } from '../links/password-reset.ts'
import { checkNewPassword, samePassword, tooWeakPassword } from '../passwords/password-change.ts'
import { userAccount } from '../tables.ts'
import type { Mirror } from './mirror.ts'

interface SourcePasswordResetDeps {
  db: Database
  log: Pick<Logger, 'warn'>
  source: IdentitySource
  mirror: Mirror
  links: Pick<LinkTokens, 'use' | 'giveBack'>
}

/**
 * Sets passwords that a source keeps by a mailed link. The link is taken first, so that of clicks at once one reaches
 * the source, and given back where the password is refused.
 * @returns A function that throws `identity_unavailable` and `reset_failed` too.
 */
export function prepareSourceReset(deps: SourcePasswordResetDeps): PreparePasswordReset {
  const { db, source, mirror, links } = deps

  /** Whose link it is at the source. @throws ApiError `reset_link_expired` where it is nobody's any more. */
  async function ownerOf(link: { userId: string; email: string }): Promise<SourceProfile> {
    const row = await findById(db, link.userId)
    const profile = row?.externalId ? await source.findById(row.externalId) : null
    if (!profile || profile.blocked || profile.email !== link.email) throw new ApiError('reset_link_expired')
    return profile
  }

  async function setPassword(profile: SourceProfile, password: string, address: string): Promise<void> {
    const answer = await source.setPassword(profile, { password, oldPassword: null, address })
    if (answer === 'same') throw samePassword('password')
    if (answer === 'changed') return
    if (answer === 'weak') throw tooWeakPassword('password', 'password')
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

  return async (link, { secret, password, address }) => {
    const profile = await ownerOf(link)
    checkNewPassword(password, 'password', profile)
    if (!(await links.use(db, 'reset_password', secret))) throw new ApiError('reset_link_expired')
    try {
      await setPassword(profile, password, address)
    } catch (error) {
      await links.giveBack(db, secret)
      throw error
    }
    return {
      isLinkUsed: true,
      async write(tx) {
        await tx
          .update(userAccount)
          .set({ externalPasswordAt: sql`clock_timestamp()`, needUpdatePassword: false })
          .where(eq(userAccount.id, link.userId))
      },
      done: () => confirm(link.userId, profile),
    }
  }
}
