import { MEASURE_TROUBLES, VOLUME_REASONS, VOLUME_STATUSES } from '@berth/contract/volumes'
import { sql } from 'drizzle-orm'
import { bigint, index, integer, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { amount, moment } from '../../platform/database/columns.ts'

/** Customers' network volumes. A row stays when its volume is gone, for receipts. */
export const volume = pgTable(
  'volume',
  {
    id: text('id').primaryKey(),
    /** The order in which they were made. */
    place: bigint('place', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    userId: uuid('user_id').notNull(),
    name: text('name').notNull(),
    regionCode: text('region_code').notNull(),
    /** The engine that owns it, for good. */
    engineId: text('engine_id').notNull(),
    /** What it is made of; null: it is made empty. */
    fromSnapshotId: text('from_snapshot_id'),
    /** What it has and costs, and what it is to have: more while it grows. */
    sizeGb: integer('size_gb').notNull(),
    wantedGb: integer('wanted_gb').notNull(),
    /** As quoted when it was made or grew last. */
    microPerGbDay: amount('micro_per_gb_day').notNull(),
    /** What it costs once it has grown, as quoted when that was asked for; null: it never grew. */
    wantedMicroPerGbDay: amount('wanted_micro_per_gb_day'),
    status: text('status', { enum: VOLUME_STATUSES }).notNull(),
    statusSince: moment('status_since').notNull(),
    reasonCode: text('reason_code', { enum: VOLUME_REASONS }),
    reasonDetail: text('reason_detail').notNull().default(''),
    /** When its engine last had it, by its own word; null: it was never ready. */
    observedAt: moment('observed_at'),
    /** Since when nothing is left to pay for it; null: it is paid for. */
    unpaidSince: moment('unpaid_since'),
    /** The day before its deletion on which its customer was last told (`UNPAID_VOLUME_NOTICE_DAYS`); null: not yet. */
    unpaidNoticeDay: integer('unpaid_notice_day'),
    /** What it held when it was measured last, and when that was; null: it never was. */
    usedBytes: bigint('used_bytes', { mode: 'number' }),
    measuredAt: moment('measured_at'),
    /** Why the last try to measure it came to nothing; null: it did not. */
    measureTrouble: text('measure_trouble', { enum: MEASURE_TROUBLES }),
    measureDueAt: moment('measure_due_at').notNull().defaultNow(),
    /** Since when it is nearly full, over its size, and read-only for that; null: it is not (`volume-use.ts`). */
    nearFullSince: moment('near_full_since'),
    overSince: moment('over_since'),
    readOnlySince: moment('read_only_since'),
    /** Tries of what is under way that failed, and when the next one comes. */
    attempts: integer('attempts').notNull().default(0),
    nextAttemptAt: moment('next_attempt_at').notNull(),
    /** Grows with every change of what is wanted or known: compare-and-set on it. */
    version: integer('version').notNull().default(1),
    createdAt: moment('created_at').notNull(),
    /** When its engine confirmed that nothing is left. */
    deletedAt: moment('deleted_at'),
  },
  table => [
    index('volume_user').on(table.userId, table.place),
    uniqueIndex('volume_name').on(table.userId, table.name).where(sql`${table.deletedAt} is null`),
    index('volume_live').on(table.nextAttemptAt).where(sql`${table.deletedAt} is null`),
  ],
)
