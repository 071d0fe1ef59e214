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

/** What operators have changed by their command line (R6.5). Begun before the change, so that one that died is there too. */
export const operatorEntry = pgTable(
  'operator_entry',
  {
    /** Version 7, so that ids are in the order of time. */
    id: uuid('id').primaryKey(),
    /** `user@host` of whoever typed it. */
    who: text('who').notNull(),
    /** Such as `coupons create`. */
    command: text('command').notNull(),
    /** What it was done to. */
    target: text('target').notNull(),
    /** Whose account it concerned; no foreign key, as above. */
    userId: uuid('user_id'),
    outcome: text('outcome', { enum: ['begun', 'done', 'failed'] }).notNull(),
    /** What was done, in words, or why it was not. */
    detail: text('detail').notNull(),
    at: moment('at').notNull(),
    endedAt: moment('ended_at'),
  },
  table => [index('operator_entry_user').on(table.userId, table.id), index('operator_entry_at').on(table.at)],
)
