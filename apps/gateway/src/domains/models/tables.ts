import { sql } from 'drizzle-orm'
import { boolean, check, index, integer, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { amount, moment } from '../../platform/database/columns.ts'

/** Keys for the model endpoints (B10): only a hash of each is kept. */
export const apiKey = pgTable(
  'api_key',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    name: text('name').notNull(),
    prefix: text('prefix').notNull(),
    hash: text('hash').notNull(),
    createdAt: moment('created_at').notNull(),
    lastUsedAt: moment('last_used_at'),
    expiresAt: moment('expires_at'),
    revokedAt: moment('revoked_at'),
  },
  table => [uniqueIndex('api_key_hash').on(table.hash), index('api_key_user').on(table.userId)],
)

/**
 * A call of a model: written down before the model is asked, with what is set aside for it, and finished when it is paid
 * for. What was asked and answered is kept nowhere.
 */
export const modelCall = pgTable(
  'model_call',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    /** The key that it was made with; null by a session. The key's row may be gone by now. */
    keyId: uuid('key_id'),
    modelId: text('model_id').notNull(),
    streamed: boolean('streamed').notNull(),
    /** `lost` where its gateway ended before it did: nothing was charged. */
    status: text('status', { enum: ['running', 'done', 'left', 'failed', 'lost'] }).notNull(),
    startedAt: moment('started_at').notNull(),
    endedAt: moment('ended_at'),
    /** From the call to the first byte of its answer; null where there was none. */
    firstByteMs: integer('first_byte_ms'),
    /** Of those, `cachedTokens` were in the server's cache. */
    inputTokens: integer('input_tokens').notNull().default(0),
    cachedTokens: integer('cached_tokens').notNull().default(0),
    outputTokens: integer('output_tokens').notNull().default(0),
    costMicro: amount('cost_micro').notNull().default(sql`0`),
  },
  table => [
    index('model_call_user').on(table.userId, table.startedAt, table.id),
    index('model_call_running').on(table.startedAt).where(sql`${table.status} = 'running'`),
    check(
      'model_call_tokens',
      sql`${table.inputTokens} >= 0 and ${table.outputTokens} >= 0
        and ${table.cachedTokens} between 0 and ${table.inputTokens} and ${table.costMicro} >= 0`,
    ),
    check('model_call_ends', sql`(${table.endedAt} is null) = (${table.status} = 'running')`),
  ],
)
