import { boolean, integer, pgTable, primaryKey, uuid } from 'drizzle-orm/pg-core'
import { moment } from '../../platform/database/columns.ts'

/** Which mails a customer wants; no row means what a new account gets. */
export const notificationChoice = pgTable('notification_choice', {
  userId: uuid('user_id').primaryKey(),
  newSignIn: boolean('new_sign_in').notNull(),
  keyAdded: boolean('key_added').notNull(),
  topUpReceipt: boolean('top_up_receipt').notNull(),
  instanceTrouble: boolean('instance_trouble').notNull(),
  balanceLow: boolean('balance_low').notNull(),
  offerWatch: boolean('offer_watch').notNull().default(true),
  alertHours: integer('alert_hours').array().notNull(),
})

/** Alerts that were sent, until the balance lasts longer again: each is sent once on the way down (B4). */
export const balanceAlert = pgTable(
  'balance_alert',
  {
    userId: uuid('user_id').notNull(),
    hours: integer('hours').notNull(),
    sentAt: moment('sent_at').notNull(),
  },
  table => [primaryKey({ columns: [table.userId, table.hours] })],
)
