import { consoleLink } from '@berth/contract/console-links'
import type { MailContent, MailOutbox } from '../../../drivers/mail/port.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Audit } from '../../audit/audit.ts'
import { type FindAddressee, languageOf } from '../accounts/accounts-store.ts'
import type { GuardMails } from '../mails/guard-mails.ts'
import { resetMail } from '../mails/reset-mail.ts'
import type { Sessions } from '../sessions/sessions.ts'
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

/** A new password that is ready where it is kept, or set there. */
interface PreparedReset {
  /** The link was used up before, since the password is set already. */
  isLinkUsed: boolean
  /** Writes it down in the transaction that ends what the old one opened. @throws ApiError `reset_link_expired`. */
  write(tx: Transaction): Promise<void>
  /** Runs after the commit. */
  done?(): Promise<void>
}

/**
 * Looks at the new password, and makes it ready where it is kept, or sets it. A password that is refused leaves the
 * link good.
 * @param link Whose link it is.
 * @throws ApiError `password_too_weak`, `reset_link_expired`, or `validation_failed` for the password that it was
 * until now.
 */
export type PreparePasswordReset = (
  link: { userId: string; email: string },
  input: PasswordReset,
) => Promise<PreparedReset>

interface PasswordResetDeps {
  db: Database
  mail: MailOutbox
  limits: MailLimits
  links: LinkTokens
  throttle: Pick<LoginThrottle, 'reset'>
  sessions: Pick<Sessions, 'endAll' | 'forget'>
  guardMails: Pick<GuardMails, 'passwordChanged'>
  audit: Pick<Audit, 'note'>
  prepare: PreparePasswordReset
  /** Whose address it is, when a mail goes out. */
  findAddressee: FindAddressee
  publicUrl: () => string
  brandName: () => string
}

/** Choosing a new password by a mailed link. */
export function createPasswordReset(deps: PasswordResetDeps) {
  const { db, limits, links, sessions } = deps
  const queue = deps.mail.define('password-reset', compose)

  /** Runs when the mail goes out: only then is it looked up whether there is an account. */
  async function compose({ email }: { email: string }): Promise<MailContent | null> {
    const user = await deps.findAddressee(email)
    if (!user) return null
    const lifeMs = RESET_LINK_HOURS * 3_600_000
    const secret = await links.make(db, { purpose: 'reset_password', userId: user.id, email, lifeMs })
    const link = consoleLink(deps.publicUrl(), 'reset_password', { token: secret })
    const values = { brand: deps.brandName(), link, hours: RESET_LINK_HOURS }
    return resetMail(email, languageOf(user.language), values)
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
    async reset(input: PasswordReset): Promise<void> {
      const { secret, address, userAgent } = input
      if (secret === '') throw new ApiError('reset_link_invalid')
      const link = await links.find(db, 'reset_password', secret)
      if (!link) throw new ApiError('reset_link_expired')
      const { userId } = link
      const prepared = await deps.prepare(link, input)
      await db.transaction(async tx => {
        const isTaken = prepared.isLinkUsed || (await links.use(tx, 'reset_password', secret)) !== null
        if (!isTaken) throw new ApiError('reset_link_expired')
        // Counts are locked before the account, as signing in does.
        await deps.throttle.reset(tx, link.email, address)
        await prepared.write(tx)
        // Whoever had a way in by an older secret has none any more.
        await links.void(tx, userId, ['reset_password', 'sign_in'])
        await sessions.endAll(tx, userId, null)
        await deps.guardMails.passwordChanged(tx, { userId, address })
      })
      sessions.forget(userId)
      deps.audit.note({ userId, actor: 'customer', action: 'account.reset-password', address, userAgent })
      await prepared.done?.()
    },
  }
}
