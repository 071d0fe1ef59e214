import { index, integer, pgTable, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { moment } from '../../platform/database/columns.ts'

/** Tickets that open one terminal socket each, or one download. */
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
    protocol: text('protocol', { enum: ['tcp', 'udp'] })
      .notNull()
      .default('tcp'),
    port: integer('port').notNull(),
    publicPort: integer('public_port').notNull(),
  },
  table => [
    primaryKey({ columns: [table.instanceId, table.protocol, table.port] }),
    uniqueIndex('direct_port_public').on(table.protocol, table.publicPort),
  ],
)

/** How the last client fared that asked for an instance by SSH: the codes by which the connection doctor says it. */
export const SSH_OUTCOMES = [
  'signed_in',
  'key_unknown',
  'key_not_chosen',
  'key_not_offered',
  'too_many_keys',
  'key_signature_old',
  'key_signature_wrong',
] as const

/** The last client that asked for each instance by SSH: one row an instance, for a day. */
export const sshAttempt = pgTable(
  'ssh_attempt',
  {
    instanceId: text('instance_id').primaryKey(),
    /** Whose instance it is, not who asked. */
    userId: uuid('user_id').notNull(),
    at: moment('at').notNull(),
    address: text('address').notNull(),
    outcome: text('outcome', { enum: SSH_OUTCOMES }).notNull(),
    /** The key that was offered last; null where none was. */
    fingerprint: text('fingerprint'),
    keyType: text('key_type'),
  },
  table => [index('ssh_attempt_at').on(table.at)],
)
