import { newPassword } from '@berth/contract/fields'
import { and, eq, sql } from 'drizzle-orm'
import type { MailContent, MailOutbox } from '../../../drivers/mail/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Audit } from '../../audit/audit.ts'
import { type FindAddressee, findById, languageOf } from '../accounts/accounts-store.ts'
import type { GuardMails } from '../mails/guard-mails.ts'
import { resetMail } from '../mails/reset-mail.ts'
import type { Passwords } from '../passwords/passwords.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { SignInMethods } from '../sign-in/sign-in-methods.ts'
import { userAccount } from '../tables.ts'
import type { LoginThrottle } from '../throttles/login-throttle.ts'
import type { MailLimits } from '../throttles/mail-limits.ts'
import type { LinkTokens } from './link-tokens.ts'

/** How long a reset link works: it opens the account, so not for longer than a mail takes to be read. */
export const RESET_LINK_HOURS = 1

/** What somebody brings who followed a reset link. */
export interface PasswordReset {
  /** Of the link; empty where the link was cut off. */
  secret: string
  /** The new password, not checked yet. */
  password: string
  /** Network address and user agent of the caller. */
  address: string
  userAgent: string
}

interface PasswordResetDeps {
  db: Database
  clock: Clock
  mail: MailOutbox
  limits: MailLimits
  links: LinkTokens
  passwords: Passwords
  throttle: Pick<LoginThrottle, 'reset'>
  sessions: Pick<Sessions, 'endAll' | 'forget'>
  guardMails: Pick<GuardMails, 'passwordChanged'>
  audit: Pick<Audit, 'note'>
  methods: Pick<SignInMethods, 'unlinkUnproven'>
  /** Whose address it is, when a mail goes out. */
  findAddressee: FindAddressee
  publicUrl: () => string
  brandName: () => string
}

/** Choosing a new password by a mailed link. */
export function createPasswordReset(deps: PasswordResetDeps) {
  const { db, clock, limits, links, passwords, sessions } = deps
  const queue = deps.mail.define('password-reset', compose)

  /** Runs when the mail goes out: only then is it looked up whether there is an account. */
  async function compose({ email }: { email: string }): Promise<MailContent | null> {
    const user = await deps.findAddressee(email)
    if (!user) return null
    const lifeMs = RESET_LINK_HOURS * 3_600_000
    const secret = await links.make(db, { purpose: 'reset_password', userId: user.id, email, lifeMs })
    const link = `${deps.publicUrl().replace(/\/$/, '')}/reset-password?token=${secret}`
    const values = { brand: deps.brandName(), link, hours: RESET_LINK_HOURS }
    return resetMail(email, languageOf(user.language), values)
  }

  /** The new password's hash. The link is not used up by a password that is refused. */
  async function hashFor(userId: string, password: string): Promise<string> {
    checkNewPassword(password)
    const user = await findById(db, userId)
    if (await passwords.check(user?.passwordHash ?? null, password)) {
      throw samePassword()
    }
    return await passwords.hash(password)
  }

  return {
    /**
     * Queues the mail. Known or not, an address is counted, queued and answered the same: neither the answer nor
     * its time tells which it is.
     * @throws ApiError `reset_mail_wait` {seconds}.
     */
    async request(email: string): Promise<void> {
      await db.transaction(async tx => {
        await limits.take(tx, 'reset', email)
        await queue(tx, { email })
      })
    },

    /**
     * Sets the new password and ends every session. Who opened the link reads the address's mail, so the address
     * counts as verified, and wrong passwords of before are forgotten.
     * @throws ApiError `reset_link_invalid` without a secret, `reset_link_expired` for one that is unknown, used or
     * over, `password_too_weak`, or `validation_failed` for the password that it was until now.
     */
    async reset({ secret, password, address, userAgent }: PasswordReset): Promise<void> {
      if (secret === '') throw new ApiError('reset_link_invalid')
      const found = await links.find(db, 'reset_password', secret)
      if (!found) throw new ApiError('reset_link_expired')
      const passwordHash = await hashFor(found.userId, password)
      await db.transaction(async tx => {
        const link = await links.use(tx, 'reset_password', secret)
        if (!link) throw new ApiError('reset_link_expired')
        // Counts are locked before the account, as signing in does.
        await deps.throttle.reset(tx, link.email, address)
        await deps.methods.unlinkUnproven(tx, link.userId)
        const now = sql.param(clock.now(), userAccount.emailVerifiedAt)
        const changed = await tx
          .update(userAccount)
          .set({
            passwordHash,
            needUpdatePassword: false,
            emailVerifiedAt: sql`coalesce(${userAccount.emailVerifiedAt}, ${now})`,
          })
          // A link to an address that is no longer the account's opens nothing.
          .where(and(eq(userAccount.id, link.userId), eq(userAccount.email, link.email)))
          .returning({ id: userAccount.id })
        if (changed.length === 0) throw new ApiError('reset_link_expired')
        // Whoever had a way in by an older secret has none any more.
        await links.void(tx, link.userId, ['reset_password', 'sign_in'])
        await sessions.endAll(tx, link.userId, null)
        await deps.guardMails.passwordChanged(tx, { userId: link.userId, address })
      })
      sessions.forget(found.userId)
      const { userId } = found
      deps.audit.note({ userId, actor: 'customer', action: 'account.reset-password', address, userAgent })
    },
  }
}

/** @throws ApiError `password_too_weak` with the rule that a new password breaks. */
export function checkNewPassword(password: string): void {
  const rule = newPassword.safeParse(password).error?.issues[0]?.message
  if (rule) throw new ApiError('password_too_weak', { fields: [{ path: 'password', rule }] })
}

/** The error of a new password that is the one until now. */
export function samePassword(): ApiError {
  return new ApiError('validation_failed', { fields: [{ path: 'password', rule: 'password_same' }] })
}
