import { CALL_ERRORS, CALL_STATUSES } from '@berth/contract/session-log'
import { sql } from 'drizzle-orm'
import {
  boolean,
  check,
  date,
  index,
  integer,
  pgTable,
  primaryKey,
  smallint,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { amount, bytes, moment } from '../../platform/database/columns.ts'

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
    /** The models that it may name; null all of them, also those that come later. */
    models: text('models').array(),
    /** Null where only the installation's own limit holds. */
    requestsPerMinute: integer('requests_per_minute'),
    tokensPerMinute: integer('tokens_per_minute'),
  },
  table => [
    uniqueIndex('api_key_hash').on(table.hash),
    index('api_key_user').on(table.userId),
    check(
      'api_key_limits',
      sql`(${table.requestsPerMinute} is null or ${table.requestsPerMinute} > 0)
        and (${table.tokensPerMinute} is null or ${table.tokensPerMinute} > 0)
        and (${table.models} is null or cardinality(${table.models}) > 0)`,
    ),
  ],
)

/**
 * What the calls of a key that began on one day (of UTC) have cost, and what is set aside for those that run: by this its
 * budget holds, whichever period it is for. Written under the wallet's lock.
 */
export const apiKeyDay = pgTable(
  'api_key_day',
  {
    keyId: uuid('key_id')
      .notNull()
      .references(() => apiKey.id, { onDelete: 'cascade' }),
    day: date('day', { mode: 'string' }).notNull(),
    spentMicro: amount('spent_micro').notNull().default(sql`0`),
    heldMicro: amount('held_micro').notNull().default(sql`0`),
  },
  table => [
    primaryKey({ columns: [table.keyId, table.day] }),
    check('api_key_day_amounts', sql`${table.spentMicro} >= 0 and ${table.heldMicro} >= 0`),
  ],
)

/** Told when a customer, a key of theirs or a budget changes, so that nobody believes any more what was read of them; the payload is the customer's id. */
export const MODEL_CALLER_CHANNEL = 'model_caller'

/**
 * Money that a gateway has set aside for calls of one customer to come: they begin and end in its memory, and are written
 * down together (decision 0157). There is an open hold of the same id.
 */
export const modelAllowance = pgTable(
  'model_allowance',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    gatewayId: uuid('gateway_id').notNull(),
    takenAt: moment('taken_at').notNull(),
    /** Of the balance and of credits for models alone. */
    amountMicro: amount('amount_micro').notNull(),
    /** What calls that are written down have cost of it. */
    usedMicro: amount('used_micro').notNull().default(sql`0`),
  },
  table => [
    index('model_allowance_user').on(table.userId),
    check('model_allowance_amounts', sql`${table.usedMicro} between 0 and ${table.amountMicro}`),
  ],
)

/**
 * A call of a model: written down before the model is asked, with what is set aside for it, or once it is over where an
 * allowance paid for it, and finished when it is paid
 * for. What was asked and answered is kept in `model_call_body` alone, where the customer has it kept.
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
    status: text('status', { enum: CALL_STATUSES }).notNull(),
    startedAt: moment('started_at').notNull(),
    endedAt: moment('ended_at'),
    /** From the call to the first byte of its answer; null where there was none. */
    firstByteMs: integer('first_byte_ms'),
    /** Of those, `cachedTokens` were in the server's cache. */
    inputTokens: integer('input_tokens').notNull().default(0),
    cachedTokens: integer('cached_tokens').notNull().default(0),
    outputTokens: integer('output_tokens').notNull().default(0),
    images: integer('images').notNull().default(0),
    videoSeconds: integer('video_seconds').notNull().default(0),
    /** One of those that cost nothing each day. */
    free: boolean('free').notNull().default(false),
    costMicro: amount('cost_micro').notNull().default(sql`0`),
    /** What was set aside for it alone; nothing where an allowance paid for it. */
    mostMicro: amount('most_micro').notNull().default(sql`0`),
    /** Why it failed; null where it did not, and of calls before this was written down. */
    errorCode: text('error_code', { enum: CALL_ERRORS }),
    /** Hash of the client's `Idempotency-Key`, while that must not be asked again; null without one. */
    onceKey: text('once_key'),
    /** Hash of that and of the body, by which the same question is known. */
    onceBody: text('once_body'),
    /** The gateway that runs it; null of calls before this was written down. */
    gatewayId: uuid('gateway_id'),
    /** Whether what it used is an estimate: its server never said. */
    estimated: boolean('estimated').notNull().default(false),
  },
  table => [
    index('model_call_model').on(table.modelId, table.startedAt),
    uniqueIndex('model_call_once').on(table.userId, table.onceKey).where(sql`${table.onceKey} is not null`),
    index('model_call_user').on(table.userId, table.startedAt, table.id),
    index('model_call_running').on(table.startedAt).where(sql`${table.status} = 'running'`),
    check(
      'model_call_tokens',
      sql`${table.inputTokens} >= 0 and ${table.outputTokens} >= 0
        and ${table.cachedTokens} between 0 and ${table.inputTokens} and ${table.costMicro} >= 0`,
    ),
    check('model_call_media', sql`${table.images} >= 0 and ${table.videoSeconds} >= 0`),
    // Counted by the day, so few that every one is looked at.
    index('model_call_free').on(table.userId, table.modelId, table.startedAt).where(sql`${table.free}`),
    check('model_call_ends', sql`(${table.endedAt} is null) = (${table.status} = 'running')`),
    check('model_call_error', sql`${table.errorCode} is null or ${table.status} = 'failed'`),
    check('model_call_once_pair', sql`(${table.onceKey} is null) = (${table.onceBody} is null)`),
  ],
)

/** How a model has answered, as one gateway reckons it from the calls, minute by minute. */
export const modelFigure = pgTable('model_figure', {
  modelId: text('model_id').primaryKey(),
  firstTokenMs: integer('first_token_ms'),
  /** Tenths of a token. */
  tenthTokensPerSecond: integer('tenth_tokens_per_second'),
  answeredPermille: integer('answered_permille'),
  calls: integer('calls').notNull(),
  measuredAt: moment('measured_at').notNull(),
})

/** How a model has answered on one day of UTC; kept for as long as its page tells. */
export const modelDay = pgTable(
  'model_day',
  {
    modelId: text('model_id').notNull(),
    day: date('day', { mode: 'string' }).notNull(),
    calls: integer('calls').notNull(),
    answered: integer('answered').notNull(),
    measuredAt: moment('measured_at').notNull(),
  },
  table => [
    primaryKey({ columns: [table.modelId, table.day] }),
    check('model_day_counts', sql`${table.answered} between 0 and ${table.calls}`),
  ],
)

/** Customers who have what they ask models, and what those answer, kept. Others have no row. */
export const modelKeeping = pgTable(
  'model_keeping',
  {
    userId: uuid('user_id').primaryKey(),
    days: smallint('days').notNull(),
    /** Of all that is kept of the customer's calls: never more than so much. */
    bytes: integer('bytes').notNull().default(0),
  },
  table => [check('model_keeping_bounds', sql`${table.days} between 1 and 90 and ${table.bytes} >= 0`)],
)

/** What a call asked and was answered, sealed. */
export const modelCallBody = pgTable(
  'model_call_body',
  {
    callId: uuid('call_id').primaryKey(),
    userId: uuid('user_id')
      .notNull()
      .references(() => modelKeeping.userId, { onDelete: 'cascade' }),
    madeAt: moment('made_at').notNull(),
    box: bytes('box').notNull(),
    keyId: text('key_id').notNull(),
    bytes: integer('bytes').notNull(),
  },
  table => [index('model_call_body_user').on(table.userId, table.madeAt)],
)
