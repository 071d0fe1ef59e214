import { consoleLink } from '@berth/contract/console-links'
import type { Language } from '@berth/contract/limits'
import type { MailContent, MailOutbox } from '../../../drivers/mail/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Queryable } from '../../../platform/database/database.ts'
import { findRecipient } from '../accounts/accounts-store.ts'
import { farewellMail } from './farewell-mail.ts'
import { passwordChangedMail } from './password-changed-mail.ts'
import { suspensionMail } from './suspension-mail.ts'

interface GuardMailsDeps {
  db: Database
  clock: Clock
  mail: MailOutbox
  publicUrl: () => string
  brandName: () => string
}

/**
 * Mails that guard an account: they cannot be switched off. They go to verified addresses only; who signs up with
 * somebody else's address must not be able to fill that mailbox.
 */
export function createGuardMails(deps: GuardMailsDeps) {
  const { db, clock, mail } = deps

  const passwordChanged = mail.define<{ userId: string; address: string; at: string }>(
    'password-changed',
    async ({ userId, address, at }): Promise<MailContent | null> => {
      const to = await findRecipient(db, userId)
      if (!to) return null
      const values = {
        brand: deps.brandName(),
        at: timeText(at),
        address,
        link: consoleLink(deps.publicUrl(), 'sign_in'),
      }
      return passwordChangedMail(to.email, to.language, values)
    },
  )

  /** The account is gone when it goes out, so the job knows where to. */
  const farewell = mail.define<{ email: string; language: Language; at: string }>(
    'farewell',
    async ({ email, language, at }) =>
      farewellMail(email, language, { brand: deps.brandName(), at: timeText(at) }),
  )

  const suspended = mail.define<{ userId: string; at: string }>('suspended', async ({ userId, at }) => {
    const to = await findRecipient(db, userId)
    return to && suspensionMail(to.email, to.language, { brand: deps.brandName(), at: timeText(at) })
  })

  return {
    /** Says that the operator keeps the customer out. @param facts.at When what runs is stopped. */
    suspended: (q: Queryable, facts: { userId: string; at: string }): Promise<void> => suspended(q, facts),

    /** Says that there is a new password, and what to do if it was somebody else. */
    passwordChanged: (q: Queryable, facts: { userId: string; address: string }): Promise<void> =>
      passwordChanged(q, { ...facts, at: clock.now().toISOString() }),

    /** Says to the address of an account that the account was deleted. */
    farewell: (q: Queryable, to: { email: string; language: Language }): Promise<void> =>
      farewell(q, { ...to, at: clock.now().toISOString() }),
  }
}
export type GuardMails = ReturnType<typeof createGuardMails>

/** A moment for people, the same in every language: `2026-03-01 14:05 UTC`. */
function timeText(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`
}
