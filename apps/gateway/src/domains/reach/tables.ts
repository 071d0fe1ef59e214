import { integer, pgTable, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
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

/** Ports by which ports of instances are reached from outside: for as long as their instances are there. */
export const directPort = pgTable(
  'direct_port',
  {
    instanceId: text('instance_id').notNull(),
    port: integer('port').notNull(),
    publicPort: integer('public_port').notNull(),
  },
  table => [
    primaryKey({ columns: [table.instanceId, table.port] }),
    uniqueIndex('direct_port_public').on(table.publicPort),
  ],
)
