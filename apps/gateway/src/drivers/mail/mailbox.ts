import { desc, sql } from 'drizzle-orm'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database/database.ts'
import type { Mailbox, MailDriver } from './port.ts'
import { mailboxMail } from './tables.ts'

/** Mails that are kept: what one person reads on one machine; older ones make room. */
export const MAILBOX_MAILS_MAX = 200

/**
 * The mailbox: stands in for a mail server on one machine, and keeps mails in the database for the console's
 * mailbox page.
 */
export function createMailboxDriver(deps: { db: Database; clock: Clock }): MailDriver & Mailbox {
  const { db, clock } = deps
  return {
    name: 'mailbox',
    async send({ id, to, subject, text }) {
      await db.transaction(async tx => {
        await tx
          .insert(mailboxMail)
          .values({ id, to, subject, text, sentAt: clock.now() })
          .onConflictDoNothing()
        await tx.execute(
          sql`delete from ${mailboxMail} where id in (
                select id from ${mailboxMail} order by sent_at desc, id desc offset ${MAILBOX_MAILS_MAX})`,
        )
      })
    },
    list: () =>
      db
        .select()
        .from(mailboxMail)
        .orderBy(desc(mailboxMail.sentAt), desc(mailboxMail.id))
        .limit(MAILBOX_MAILS_MAX),
  }
}
