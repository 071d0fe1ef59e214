import { index, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { moment } from '../../platform/database/columns.ts'

/** What was done with accounts (B12). Entries are added and, when they are old enough, removed; never changed. */
export const auditEntry = pgTable(
  'audit_entry',
  {
    /** Version 7, so that ids are in the order of time. */
    id: uuid('id').primaryKey(),
    /** No foreign key: an entry outlives what it names. */
    userId: uuid('user_id').notNull(),
    actor: text('actor', { enum: ['customer', 'operator', 'system'] }).notNull(),
    action: text('action').notNull(),
    target: text('target').notNull().default(''),
    /** The code of the error that refused it; empty when it was done. */
    refused: text('refused').notNull().default(''),
    sessionId: uuid('session_id'),
    address: text('address').notNull().default(''),
    userAgent: text('user_agent').notNull().default(''),
    at: moment('at').notNull(),
  },
  table => [index('audit_entry_user').on(table.userId, table.id), index('audit_entry_at').on(table.at)],
)
