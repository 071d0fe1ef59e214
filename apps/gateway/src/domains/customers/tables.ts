import { pgTable, uuid } from 'drizzle-orm/pg-core'
import { moment } from '../../platform/database/columns.ts'

/** Who has, or had, an account: the row that is locked first by whatever is done in a customer's name. */
export const customer = pgTable('customer', {
  /** The account's id. */
  id: uuid('id').primaryKey(),
  openedAt: moment('opened_at').notNull(),
  /** When the account was deleted; null while it is open. */
  closedAt: moment('closed_at'),
})
