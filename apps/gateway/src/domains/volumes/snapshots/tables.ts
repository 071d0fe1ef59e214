import {
  SNAPSHOT_EVERY,
  SNAPSHOT_MAKERS,
  SNAPSHOT_REASONS,
  SNAPSHOT_SKIPS,
  SNAPSHOT_STATUSES,
} from '@berth/contract/volume-snapshots'
import { sql } from 'drizzle-orm'
import { bigint, boolean, index, integer, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { amount, moment } from '../../../platform/database/columns.ts'

/** Snapshots of network volumes. A row stays when its snapshot is gone, for receipts. */
export const volumeSnapshot = pgTable(
  'volume_snapshot',
  {
    id: text('id').primaryKey(),
    /** The order in which they were asked for. */
    place: bigint('place', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    userId: uuid('user_id').notNull(),
    volumeId: text('volume_id').notNull(),
    /** The volume's engine, which keeps it, too. */
    engineId: text('engine_id').notNull(),
    /** More than this is not copied, GB. */
    gbMax: integer('gb_max').notNull(),
    status: text('status', { enum: SNAPSHOT_STATUSES }).notNull(),
    statusSince: moment('status_since').notNull(),
    reasonCode: text('reason_code', { enum: SNAPSHOT_REASONS }),
    reasonDetail: text('reason_detail').notNull().default(''),
    madeBy: text('made_by', { enum: SNAPSHOT_MAKERS }).notNull(),
    /** The moment of the schedule that it is for; null: it was taken by hand. */
    slotAt: moment('slot_at'),
    takenAt: moment('taken_at'),
    inUse: boolean('in_use').notNull().default(false),
    usedBytes: bigint('used_bytes', { mode: 'number' }),
    /** Each GB of that is begun. */
    sizeGb: integer('size_gb'),
    /** As quoted when it was asked for. */
    microPerGbDay: amount('micro_per_gb_day').notNull(),
    /** When its engine last had it, by its own word; null: it was never ready. */
    observedAt: moment('observed_at'),
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
    index('volume_snapshot_volume').on(table.volumeId, table.place),
    // Of two gateways one takes it.
    uniqueIndex('volume_snapshot_slot')
      .on(table.volumeId, table.slotAt)
      .where(sql`${table.slotAt} is not null`),
    index('volume_snapshot_live').on(table.nextAttemptAt).where(sql`${table.deletedAt} is null`),
    index('volume_snapshot_engine').on(table.engineId).where(sql`${table.deletedAt} is null`),
  ],
)

/** When snapshots of a volume are taken by themselves. A volume that never had a schedule has no row. */
export const snapshotSchedule = pgTable(
  'snapshot_schedule',
  {
    volumeId: text('volume_id').primaryKey(),
    userId: uuid('user_id').notNull(),
    every: text('every', { enum: SNAPSHOT_EVERY }).notNull(),
    /** By UTC; 0 is Sunday. */
    hour: integer('hour').notNull(),
    weekday: integer('weekday').notNull(),
    keep: integer('keep').notNull(),
    nextAt: moment('next_at'),
    skippedAt: moment('skipped_at'),
    skipped: text('skipped', { enum: SNAPSHOT_SKIPS }),
    /** Since when its customer knows that it does not work; null: it works, or nobody was told yet. */
    faultToldAt: moment('fault_told_at'),
  },
  table => [index('snapshot_schedule_next').on(table.nextAt)],
)
