import { pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { bytes, moment } from '../../platform/database/columns.ts'

/** Credentials of container registries (R3.12). */
export const registryCredential = pgTable(
  'registry_credential',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    name: text('name').notNull(),
    registry: text('registry').notNull(),
    username: text('username').notNull(),
    /** Sealed: nonce, ciphertext and tag, bound to the row. */
    password: bytes('password').notNull(),
    /** Names the key that it is sealed under, so that keys can be changed. */
    keyId: text('key_id').notNull(),
    createdAt: moment('created_at').notNull(),
    updatedAt: moment('updated_at').notNull(),
    checkedAt: moment('checked_at'),
    checkResult: text('check_result', { enum: ['accepted', 'refused', 'unreachable', 'not_a_registry'] }),
  },
  table => [uniqueIndex('registry_credential_name').on(table.userId, table.name)],
)
