import { pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { moment } from '../../platform/database/columns.ts'

/** Tickets that open one terminal socket each. */
export const terminalTicket = pgTable('terminal_ticket', {
  hash: text('hash').primaryKey(),
  userId: uuid('user_id').notNull(),
  /** Whose sign-out closes the socket again. */
  sessionId: uuid('session_id').notNull(),
  instanceId: text('instance_id').notNull(),
  expiresAt: moment('expires_at').notNull(),
  usedAt: moment('used_at'),
})
