import { pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { moment } from '../../platform/database/columns.ts'

/** Who has, or had, an account: the row that is locked first by whatever is done in a customer's name. */
export const customer = pgTable('customer', {
  /** The account's id. */
  id: uuid('id').primaryKey(),
  openedAt: moment('opened_at').notNull(),
  /** When the account was deleted; null while it is open. */
  closedAt: moment('closed_at'),
  /** Since when the operator keeps them out; null while nobody does. */
  suspendedAt: moment('suspended_at'),
  /** Why, for operators alone; null while it is not. */
  suspendedReason: text('suspended_reason'),
  /** When what runs is stopped of who is suspended; null once that is done, and while nobody is. */
  machinesUntil: moment('machines_until'),
})
