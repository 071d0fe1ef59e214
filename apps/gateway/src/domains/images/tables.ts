import { IMAGE_REASONS, IMAGE_STATUSES, type IMAGE_STEPS } from '@berth/contract/images'
import { IMAGE_REPORT_KINDS } from '@berth/contract/own-images'
import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  date,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import type { ImageRecipe } from '../../drivers/compute/port/images.ts'
import { amount, bytes, moment } from '../../platform/database/columns.ts'

/** What is said of an image (R5.5): the same of a customer's own, and of what the community has of it. */
const said = {
  name: text('name').notNull(),
  description: text('description').notNull(),
  tags: text('tags').array().notNull(),
  regionCode: text('region_code').notNull(),
  kind: text('kind', { enum: ['POD', 'VM'] }).notNull(),
  versionInfo: text('version_info').notNull(),
  preloadedModels: text('preloaded_models').notNull(),
  startCommand: text('start_command').notNull(),
  httpPorts: integer('http_ports').array().notNull(),
  tcpPorts: integer('tcp_ports').array().notNull(),
  minVramGb: integer('min_vram_gb').notNull(),
  readme: text('readme').notNull(),
  /** The digest of its cover, which `image_cover` keeps while it is so; null: none. */
  cover: text('cover'),
}

/** What the store keeps of an image. */
const kept = {
  /** Engines of which driver make machines of it. */
  driver: text('driver').notNull(),
  /** Its id on engines, which the community's copy shares with what it was made from: the bytes are the same. */
  builtId: text('built_id').notNull(),
  /** By what engines make machines of it; null while it is not made. */
  parts: jsonb('parts').$type<ImageRecipe['parts']>(),
  /** By which the store knows it; null while it is not kept. */
  digest: text('digest'),
  /** Whether the store is being told to forget it: nobody else may begin to count on its bytes until that is done. */
  isRemoving: boolean('is_removing').notNull().default(false),
  /** Bytes of the store that are this image's, whether or not others share them. */
  sizeBytes: bigint('size_bytes', { mode: 'number' }).notNull(),
  sourceReference: text('source_reference'),
}

/** Progress of an image that is made. */
export interface ImageProgress {
  step: (typeof IMAGE_STEPS)[number]
  bytes_done: number
  bytes_total: number | null
  build_steps: { done: number; total: number } | null
}

/** A repository that has a Dockerfile; an empty `ref` is its own branch, an empty folder its root. */
export interface GitSource {
  url: string
  ref: string
  folder: string
}

/** Customers' own images. A row stays when its image is gone, for receipts. */
export const ownImage = pgTable(
  'own_image',
  {
    id: text('id').primaryKey(),
    /** The order in which they were made. */
    place: bigint('place', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    userId: uuid('user_id').notNull(),
    ...said,
    ...kept,
    sourceInstanceId: text('source_instance_id'),
    sourceInstanceName: text('source_instance_name'),
    sourceCredentialId: uuid('source_credential_id'),
    sourceDockerfile: text('source_dockerfile'),
    sourceGit: jsonb('source_git').$type<GitSource>(),
    /** The engine that makes it. */
    engineId: text('engine_id').notNull(),
    status: text('status', { enum: IMAGE_STATUSES }).notNull(),
    statusSince: moment('status_since').notNull(),
    reasonCode: text('reason_code', { enum: IMAGE_REASONS }),
    reasonDetail: text('reason_detail').notNull().default(''),
    progress: jsonb('progress').$type<ImageProgress>(),
    /** How often it was sent to the community, and what the community has of it; null: nothing. */
    number: integer('number').notNull().default(1),
    communityId: text('community_id'),
    /** What of the community's it is to be the next version of, until it is; null: it is an image of its own. */
    versionOf: text('version_of'),
    reviewSince: moment('review_since'),
    /** As quoted when it was made. */
    microPerGbDay: amount('micro_per_gb_day').notNull(),
    /** Since when nothing is left to pay for it; null: it is paid for. */
    unpaidSince: moment('unpaid_since'),
    /** The day before its deletion on which its customer was last told (`UNPAID_IMAGE_NOTICE_DAYS`); null: not yet. */
    unpaidNoticeDay: integer('unpaid_notice_day'),
    /** Tries of what is under way that failed, and when the next one comes. */
    attempts: integer('attempts').notNull().default(0),
    nextAttemptAt: moment('next_attempt_at').notNull(),
    /** Who works on it, until when at least. */
    leaseOwner: uuid('lease_owner'),
    leaseUntil: moment('lease_until'),
    /** Grows with every change of what is wanted or known: compare-and-set on it. */
    version: integer('version').notNull().default(1),
    createdAt: moment('created_at').notNull(),
    updatedAt: moment('updated_at').notNull(),
    /** When nothing of it was left. */
    deletedAt: moment('deleted_at'),
  },
  table => [
    index('own_image_user').on(table.userId, table.place),
    index('own_image_live').on(table.nextAttemptAt).where(sql`${table.deletedAt} is null`),
    index('own_image_digest').on(table.digest),
    index('own_image_cover').on(table.cover).where(sql`${table.cover} is not null`),
    index('own_image_review').on(table.reviewSince).where(sql`${table.status} = 'review'`),
    // One image at a time is made of an instance.
    uniqueIndex('own_image_building').on(table.sourceInstanceId).where(sql`${table.status} = 'building'`),
  ],
)

/** The last lines that the steps of a Dockerfile have written, by their numbers from 1 on. */
export const imageBuildLine = pgTable(
  'image_build_line',
  {
    imageId: text('image_id').notNull(),
    number: integer('number').notNull(),
    line: text('line').notNull(),
  },
  table => [primaryKey({ columns: [table.imageId, table.number] })],
)

/** What the community has: a copy of its own of what a customer published, which the installation pays for. */
export const communityImage = pgTable(
  'community_image',
  {
    id: text('id').primaryKey(),
    place: bigint('place', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    /** The customer's image that it was made from, which may be gone. */
    originId: text('origin_id').notNull(),
    /** Null where the account is gone. */
    authorId: uuid('author_id'),
    /** As it was when the newest version was approved. */
    authorName: text('author_name'),
    ...said,
    ...kept,
    number: integer('number').notNull(),
    createdAt: moment('created_at').notNull(),
    updatedAt: moment('updated_at').notNull(),
    /** When it was taken off the community; null: it is there. */
    withdrawnAt: moment('withdrawn_at'),
    /** When the store had nothing of it any more. */
    deletedAt: moment('deleted_at'),
  },
  table => [
    uniqueIndex('community_image_origin').on(table.originId),
    index('community_image_digest').on(table.digest),
    index('community_image_cover').on(table.cover).where(sql`${table.cover} is not null`),
  ],
)

/** Versions that the community had or has. */
export const communityImageVersion = pgTable(
  'community_image_version',
  {
    imageId: text('image_id').notNull(),
    number: integer('number').notNull(),
    versionInfo: text('version_info').notNull(),
    sizeBytes: bigint('size_bytes', { mode: 'number' }).notNull(),
    createdAt: moment('created_at').notNull(),
  },
  table => [primaryKey({ columns: [table.imageId, table.number] })],
)

/** Stars of the community's images: one for each account. */
export const imageStar = pgTable(
  'image_star',
  {
    imageId: text('image_id').notNull(),
    userId: uuid('user_id').notNull(),
    at: moment('at').notNull(),
  },
  table => [
    primaryKey({ columns: [table.imageId, table.userId] }),
    index('image_star_user').on(table.userId),
  ],
)

/** What accounts say is wrong with images of the community, until an operator has looked at it: one for each account. */
export const imageReport = pgTable(
  'image_report',
  {
    imageId: text('image_id').notNull(),
    userId: uuid('user_id').notNull(),
    kind: text('kind', { enum: IMAGE_REPORT_KINDS }).notNull(),
    text: text('text').notNull(),
    at: moment('at').notNull(),
  },
  table => [
    primaryKey({ columns: [table.imageId, table.userId] }),
    index('image_report_user').on(table.userId),
  ],
)

/** Deploys of the community's images by others than their authors: one for each account and day. */
export const imageDeploy = pgTable(
  'image_deploy',
  {
    imageId: text('image_id').notNull(),
    userId: uuid('user_id').notNull(),
    /** In UTC. */
    day: date('day', { mode: 'string' }).notNull(),
  },
  table => [
    primaryKey({ columns: [table.imageId, table.userId, table.day] }),
    index('image_deploy_user').on(table.userId),
  ],
)

/**
 * How many stars and deploys an image has: as many as there are rows of them, by triggers (migration 0040). Whoever lists
 * images counts nothing.
 */
export const imageCount = pgTable('image_count', {
  imageId: text('image_id').primaryKey(),
  stars: integer('stars').notNull().default(0),
  deploys: integer('deploys').notNull().default(0),
})

/** How many of an image's deploys are of which day in UTC; kept as `imageCount` is. */
export const imageDeployDay = pgTable(
  'image_deploy_day',
  {
    imageId: text('image_id').notNull(),
    day: date('day', { mode: 'string' }).notNull(),
    deploys: integer('deploys').notNull().default(0),
  },
  table => [primaryKey({ columns: [table.imageId, table.day] })],
)

/** Covers as they are served: drawn anew of what customers sent, each kept once. */
export const imageCover = pgTable('image_cover', {
  /** SHA-256 of the WebP. */
  digest: text('digest').primaryKey(),
  webp: bytes('webp').notNull(),
  width: integer('width').notNull(),
  height: integer('height').notNull(),
  createdAt: moment('created_at').notNull(),
})

/** Who has sent which cover within a day, and may give it to an image. */
export const imageCoverUpload = pgTable(
  'image_cover_upload',
  {
    userId: uuid('user_id').notNull(),
    digest: text('digest').notNull(),
    at: moment('at').notNull(),
  },
  table => [
    primaryKey({ columns: [table.userId, table.digest] }),
    index('image_cover_upload_digest').on(table.digest),
    index('image_cover_upload_at').on(table.at),
  ],
)
