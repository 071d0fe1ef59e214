import { sql } from 'drizzle-orm'
import { index, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { moment } from '../../platform/database/columns.ts'

/** The local mailbox: mails that no SMTP server took because none is set. */
export const mailboxMail = pgTable(
  'mailbox_mail',
  {
    id: uuid('id').primaryKey(),
    to: text('to').notNull(),
    subject: text('subject').notNull(),
    text: text('text').notNull(),
    sentAt: moment('sent_at').notNull(),
  },
  table => [index('mailbox_mail_sent').on(sql`${table.sentAt} desc`)],
)
