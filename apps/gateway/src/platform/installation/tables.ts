import { sql } from 'drizzle-orm'
import { check, pgTable, text } from 'drizzle-orm/pg-core'
import { bytes, moment } from '../database/columns.ts'

/**
 * What all gateways of this installation share and nobody else may read: sealed under the operator's key, or under one
 * in the data folder of the only gateway. `awaited` stands where a version before kept it in a data folder.
 */
export const keptSecret = pgTable(
  'kept_secret',
  {
    /** `root`, `installation`, or the name of a key that tokens are signed with. */
    id: text('id').primaryKey(),
    purpose: text('purpose', { enum: ['root', 'installation', 'token', 'awaited'] }).notNull(),
    box: bytes('box').notNull(),
    /** Names the key that it is sealed under. */
    keyId: text('key_id').notNull(),
    createdAt: moment('created_at').notNull(),
    /** Until when a key that was replaced is believed; null while it is the one that signs. */
    endsAt: moment('ends_at'),
  },
  table => [
    check('kept_secret_purpose', sql`${table.purpose} in ('root', 'installation', 'token', 'awaited')`),
    check('kept_secret_ends', sql`${table.endsAt} is null or ${table.purpose} = 'token'`),
  ],
)
