import { S3_KEY_ACCESS } from '@berth/contract/volume-s3'
import { index, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { bytes, moment } from '../../platform/database/columns.ts'

/** S3 keys, each to one network volume. Signatures are checked with the secret itself, so it is kept, sealed. */
export const s3Key = pgTable(
  's3_key',
  {
    accessKeyId: text('access_key_id').primaryKey(),
    userId: uuid('user_id').notNull(),
    volumeId: text('volume_id').notNull(),
    access: text('access', { enum: S3_KEY_ACCESS }).notNull(),
    /** Sealed: nonce, ciphertext and tag, bound to the row. */
    secret: bytes('secret').notNull(),
    /** Names the key that it is sealed under. */
    keyId: text('key_id').notNull(),
    secretEnd: text('secret_end').notNull(),
    createdAt: moment('created_at').notNull(),
    lastUsedAt: moment('last_used_at'),
    lastUsedFrom: text('last_used_from'),
    /** When it ends, since another has taken its place; null: it does not. */
    endsAt: moment('ends_at'),
  },
  table => [index('s3_key_volume').on(table.volumeId), index('s3_key_user').on(table.userId)],
)
