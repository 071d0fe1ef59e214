import { CREATION_STATUSES } from '@berth/contract/creation-states'
import { CREATION_KINDS } from '@berth/contract/creations'
import { sql } from 'drizzle-orm'
import {
  type AnyPgColumn,
  bigint,
  boolean,
  check,
  foreignKey,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { amount, bytes, moment } from '../../../platform/database/columns.ts'

/** Bytes of a picture or a film of one customer, once for all of theirs that have them. Its pieces come first: it has a digest once it is whole. */
export const creationFile = pgTable(
  'creation_file',
  {
    id: uuid('id').primaryKey(),
    /** SHA-256 of whose it is and of its bytes; null while it comes. */
    digest: text('digest'),
    type: text('type').notNull(),
    bytes: bigint('bytes', { mode: 'number' }).notNull(),
    createdAt: moment('created_at').notNull(),
  },
  table => [
    uniqueIndex('creation_file_digest').on(table.digest, table.type).where(sql`${table.digest} is not null`),
    check('creation_file_bytes', sql`${table.bytes} >= 0`),
  ],
)

/** A piece of a file; all but the last are of one length. */
export const creationPiece = pgTable(
  'creation_piece',
  {
    fileId: uuid('file_id')
      .notNull()
      .references(() => creationFile.id, { onDelete: 'cascade' }),
    /** The first is 0. */
    number: integer('number').notNull(),
    bytes: bytes('bytes').notNull(),
  },
  table => [primaryKey({ columns: [table.fileId, table.number] })],
)

/** A picture that a customer sent within a day, for others to be made after. */
export const creationUpload = pgTable(
  'creation_upload',
  {
    userId: uuid('user_id').notNull(),
    fileId: uuid('file_id')
      .notNull()
      .references(() => creationFile.id),
    at: moment('at').notNull(),
  },
  table => [
    primaryKey({ columns: [table.userId, table.fileId] }),
    index('creation_upload_file').on(table.fileId),
    index('creation_upload_at').on(table.at),
  ],
)

/** What a customer asked for at one time: pictures, or a film. */
export const creation = pgTable(
  'creation',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    /** The key that it was asked with; null from the console. */
    keyId: uuid('key_id'),
    kind: text('kind', { enum: CREATION_KINDS }).notNull(),
    modelId: text('model_id').notNull(),
    prompt: text('prompt').notNull(),
    negativePrompt: text('negative_prompt').notNull(),
    seed: integer('seed').notNull(),
    size: text('size').notNull(),
    count: integer('count').notNull(),
    /** Of a film. */
    seconds: integer('seconds'),
    imageFileId: uuid('image_file_id').references(() => creationFile.id),
    lastImageFileId: uuid('last_image_file_id').references(() => creationFile.id),
    /** A mail tells when it is ready. */
    mail: boolean('mail').notNull(),
    createdAt: moment('created_at').notNull(),
    keptUntil: moment('kept_until').notNull(),
  },
  table => [
    index('creation_user').on(table.userId, table.createdAt, table.id),
    index('creation_kept_until').on(table.keptUntil),
    index('creation_image').on(table.imageFileId).where(sql`${table.imageFileId} is not null`),
    index('creation_last_image').on(table.lastImageFileId).where(sql`${table.lastImageFileId} is not null`),
    check('creation_seconds', sql`(${table.kind} = 'video') = (${table.seconds} is not null)`),
    check('creation_count', sql`${table.count} > 0`),
  ],
)

const OPEN = sql.raw(`('queued', 'rendering', 'encoding')`)

/** One picture of a run, or its film; with who works on it. */
export const creationItem = pgTable(
  'creation_item',
  {
    id: uuid('id').primaryKey(),
    creationId: uuid('creation_id').notNull(),
    userId: uuid('user_id').notNull(),
    kind: text('kind', { enum: CREATION_KINDS }).notNull(),
    modelId: text('model_id').notNull(),
    number: integer('number').notNull(),
    seed: integer('seed').notNull(),
    status: text('status', { enum: CREATION_STATUSES }).notNull(),
    starred: boolean('starred').notNull().default(false),
    /** The call that pays for it. */
    callId: uuid('call_id').notNull(),
    costMicro: amount('cost_micro').notNull().default(sql`0`),
    fileId: uuid('file_id').references((): AnyPgColumn => creationFile.id),
    errorCode: text('error_code'),
    /** What its server said to it. */
    errorReason: text('error_reason'),
    percent: integer('percent').notNull().default(0),
    frame: integer('frame'),
    frames: integer('frames'),
    createdAt: moment('created_at').notNull(),
    renderingAt: moment('rendering_at'),
    encodingAt: moment('encoding_at'),
    endedAt: moment('ended_at'),
    /** The gateway that works on it, and until when it is believed to. */
    owner: text('owner'),
    leasedUntil: moment('leased_until'),
    /** How often somebody has begun with it. */
    attempts: integer('attempts').notNull().default(0),
    /** Who makes the film, and under which name; null before it was asked. */
    server: text('server'),
    serverId: text('server_id'),
    askedAt: moment('asked_at'),
  },
  table => [
    foreignKey({ columns: [table.creationId], foreignColumns: [creation.id] }).onDelete('cascade'),
    uniqueIndex('creation_item_number').on(table.creationId, table.number),
    index('creation_item_user').on(table.userId, table.createdAt),
    index('creation_item_file').on(table.fileId).where(sql`${table.fileId} is not null`),
    index('creation_item_call').on(table.callId),
    index('creation_item_open').on(table.createdAt).where(sql`${table.status} in ${OPEN}`),
    index('creation_item_made').on(table.modelId, table.endedAt).where(sql`${table.status} = 'saved'`),
    check('creation_item_ends', sql`(${table.endedAt} is null) = (${table.status} in ${OPEN})`),
    check('creation_item_saved', sql`(${table.fileId} is not null) = (${table.status} = 'saved')`),
    check('creation_item_error', sql`(${table.errorCode} is not null) = (${table.status} = 'failed')`),
    check(
      'creation_item_cost',
      sql`${table.costMicro} >= 0 and (${table.costMicro} = 0 or ${table.status} = 'saved')`,
    ),
    check('creation_item_star', sql`not ${table.starred} or ${table.status} = 'saved'`),
    check('creation_item_percent', sql`${table.percent} between 0 and 100`),
  ],
)

/** A film at a server that nobody wants any more: it is told so, until it has heard. */
export const creationLeftover = pgTable(
  'creation_leftover',
  {
    id: uuid('id').primaryKey(),
    modelId: text('model_id').notNull(),
    server: text('server').notNull(),
    serverId: text('server_id').notNull(),
    at: moment('at').notNull(),
    /** When its server is told next. */
    nextAt: moment('next_at').notNull().default(sql`now()`),
  },
  table => [
    index('creation_leftover_at').on(table.at),
    index('creation_leftover_next').on(table.server, table.nextAt),
  ],
)
