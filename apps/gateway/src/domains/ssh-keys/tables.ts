import { index, integer, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { moment } from '../../platform/database/columns.ts'

/** Public SSH keys of customers. */
export const sshKey = pgTable(
  'ssh_key',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    name: text('name').notNull(),
    type: text('type').notNull(),
    bits: integer('bits'),
    fingerprint: text('fingerprint').notNull(),
    /** Type, key and comment, in one line. */
    publicKey: text('public_key').notNull(),
    createdAt: moment('created_at').notNull(),
  },
  table => [
    index('ssh_key_user').on(table.userId),
    // Whoever connects by SSH shows a key before anything else.
    index('ssh_key_by_fingerprint').on(table.fingerprint),
    uniqueIndex('ssh_key_fingerprint').on(table.userId, table.fingerprint),
  ],
)
