import { consoleLink } from '@berth/contract/console-links'
import { and, eq, sql } from 'drizzle-orm'
import type { MailContent, MailOutbox } from '../../../drivers/mail/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import type { Events } from '../../../platform/events/events.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Audit } from '../../audit/audit.ts'
import { type FindAddressee, languageOf } from '../accounts/accounts-store.ts'
import { accountVerified } from '../events.ts'
import { activationMail } from '../mails/activation-mail.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { userAccount } from '../tables.ts'
import type { MailLimits } from '../throttles/mail-limits.ts'
import type { LinkTokens } from './link-tokens.ts'

const HOUR_MS = 3_600_000
/** How long an activation link works. */
export const ACTIVATION_LINK_HOURS = 24

interface EmailVerificationDeps {
  db: Database
  clock: Clock
  mail: MailOutbox
  limits: MailLimits
  links: LinkTokens
  sessions: Pick<Sessions, 'announce' | 'forget'>
  audit: Pick<Audit, 'note'>
  events: Pick<Events, 'emit'>
  /** Whose address it is, when a mail goes out. */
  findAddressee: FindAddressee
  publicUrl: () => string
  brandName: () => string
}

/** Activation: the mail with the link, and the link. */
export function createEmailVerification(deps: EmailVerificationDeps) {
  const { db, clock, limits, links, sessions } = deps
  const queue = deps.mail.define('activation', compose)

  /** Runs when the mail goes out: only then is it looked up whether there is an account to activate. */
  async function compose({ email }: { email: string }): Promise<MailContent | null> {
    const user = await deps.findAddressee(email)
    if (!user || user.emailVerifiedAt) return null
    const lifeMs = ACTIVATION_LINK_HOURS * HOUR_MS
    const secret = await links.make(db, { purpose: 'verify_email', userId: user.id, email, lifeMs })
    // The path is the one that the console has always had.
    const link = consoleLink(deps.publicUrl(), 'activation', { token: secret })
    const values = { brand: deps.brandName(), link, hours: ACTIVATION_LINK_HOURS }
    return activationMail(email, languageOf(user.language), values)
  }

  return {
    /** Queues the first mail to a new account, in the transaction that makes it; none where there were enough. */
    async begin(tx: Transaction, email: string): Promise<void> {
      // An address can be signed up again once its account is deleted: not in order to fill its mailbox.
      if (await limits.first(tx, 'activation', email)) await queue(tx, { email })
    },

    /**
     * Queues the mail again. Known or not, verified or not, an address is counted, queued and answered the same:
     * neither the answer nor its time tells which it is.
     * @throws ApiError `verify_mail_wait` {seconds}.
     */
    async request(email: string): Promise<void> {
      await db.transaction(async tx => {
        await limits.take(tx, 'activation', email)
        await queue(tx, { email })
      })
    },

    /**
     * Uses an activation link up.
     * @param place From where.
     * @returns The address that is verified now.
     * @throws ApiError `verify_link_invalid`, also at the second click.
     */
    async verify(secret: string, place: { address: string; userAgent: string }): Promise<string> {
      const user = await db.transaction(async tx => {
        const link = await links.use(tx, 'verify_email', secret)
        if (!link) throw new ApiError('verify_link_invalid')
        const verifiedAt = sql`coalesce(${userAccount.emailVerifiedAt}, ${sql.param(clock.now(), userAccount.emailVerifiedAt)})`
        const [verified] = await tx
          .update(userAccount)
          .set({ emailVerifiedAt: verifiedAt })
          // A link to an address that is no longer the account's verifies nothing.
          .where(and(eq(userAccount.id, link.userId), eq(userAccount.email, link.email)))
          .returning({ id: userAccount.id, email: userAccount.email })
        if (!verified) throw new ApiError('verify_link_invalid')
        await sessions.announce(tx, verified.id)
        await deps.events.emit(tx, accountVerified, { userId: verified.id })
        return verified
      })
      sessions.forget(user.id)
      const { address, userAgent } = place
      const action = 'account.verify-email'
      deps.audit.note({ userId: user.id, actor: 'customer', action, address, userAgent })
      return user.email
    },
  }
}
export type EmailVerification = ReturnType<typeof createEmailVerification>
