import * as z from 'zod'
import { defineCall } from './call.ts'
import { by, micro, timestamp } from './fields.ts'
import { SNAPSHOTS_KEPT_MAX } from './limits.ts'
import { MONEY_READS } from './money-reads.ts'
import { volume, volumeGb, volumeId, volumeName } from './volumes.ts'

/** `s-` and six letters or digits or more. */
export const snapshotId = z.string(by('required')).regex(/^s-[a-z0-9]{6,12}$/, by('not_allowed'))

/** A snapshot costs while it is `ready`, and nothing in any other status. */
export const SNAPSHOT_STATUSES = ['making', 'ready', 'failed', 'deleting'] as const
export type SnapshotStatus = (typeof SNAPSHOT_STATUSES)[number]

/**
 * Why a snapshot has failed: it could not be made, its engine does not have it any more, or nobody reaches its engine; of the
 * last two it is ready again when it is seen.
 */
export const SNAPSHOT_REASONS = ['make_failed', 'missing', 'engine_away'] as const
export type SnapshotReason = (typeof SNAPSHOT_REASONS)[number]

export const SNAPSHOT_MAKERS = ['hand', 'schedule'] as const
export type SnapshotMaker = (typeof SNAPSHOT_MAKERS)[number]

/** How often snapshots are taken by themselves. */
export const SNAPSHOT_EVERY = ['off', 'hourly', 'daily', 'weekly'] as const
export type SnapshotEvery = (typeof SNAPSHOT_EVERY)[number]

/** Why none was taken when it was time: the volume was not ready, the one before was still being taken, nothing to pay for it. */
export const SNAPSHOT_SKIPS = ['volume_state', 'busy', 'insufficient_balance'] as const
export type SnapshotSkip = (typeof SNAPSHOT_SKIPS)[number]

/** What a network volume held at a moment. */
export const snapshot = z.object({
  id: z.string(),
  volume_id: z.string(),
  status: z.enum(SNAPSHOT_STATUSES),
  status_since: timestamp,
  /** `detail` are the engine's own words in English, empty where it has none. */
  reason: z.object({ code: z.enum(SNAPSHOT_REASONS), detail: z.string() }).nullable(),
  made_by: z.enum(SNAPSHOT_MAKERS),
  /** When it began to be copied; null: it was not yet. */
  taken_at: timestamp.nullable(),
  /** Whether an instance could write meanwhile: then files are of slightly different moments. */
  in_use: z.boolean(),
  /** What it holds, and what it is charged by: each GB that is begun; null until it is ready. */
  used_bytes: z.number().int().nullable(),
  size_gb: z.number().int().nullable(),
  currency: z.string(),
  /** What it costs now: nothing while it is not ready. */
  micro_per_day: micro,
  /** All that it has cost so far. */
  cost_micro: micro,
  created_at: timestamp,
})
z.globalRegistry.add(snapshot, { id: 'Snapshot' })
export type Snapshot = z.infer<typeof snapshot>

/** When snapshots are taken by themselves, and how many of those are kept. */
export const snapshotSchedule = z.object({
  every: z.enum(SNAPSHOT_EVERY),
  /** The hour by UTC, of those by the day or week. */
  hour: z.number().int(),
  /** 0 is Sunday, of those by the week. */
  weekday: z.number().int(),
  /** The last so many that the schedule has taken are kept. Those taken by hand are never deleted by it. */
  keep: z.number().int(),
  /** When the next one is taken; null: none is. */
  next_at: timestamp.nullable(),
  /** Of the last that was not taken when it was time, when and why; null: the last one was. */
  skipped_at: timestamp.nullable(),
  skipped: z.enum(SNAPSHOT_SKIPS).nullable(),
})
z.globalRegistry.add(snapshotSchedule, { id: 'SnapshotSchedule' })
export type SnapshotSchedule = z.infer<typeof snapshotSchedule>

/** The snapshots of a volume, when more are taken, and what they cost. */
export const volumeSnapshots = z.object({
  /** The newest first. */
  snapshots: z.array(snapshot),
  schedule: snapshotSchedule,
  currency: z.string(),
  micro_per_gb_day: micro,
  /** What one taken now is expected to take: what the volume held when it was measured last, else its size. */
  expected_gb: z.number().int(),
  /** How many more can be taken by hand. */
  by_hand_left: z.number().int(),
})
z.globalRegistry.add(volumeSnapshots, { id: 'VolumeSnapshots' })
export type VolumeSnapshots = z.infer<typeof volumeSnapshots>

const ofVolume = z.object({ id: volumeId })
const ofSnapshot = z.object({ id: volumeId, snapshot_id: snapshotId })

/** Reads that are old when a snapshot begins or ceases to cost something. */
const WHAT_COSTS = [
  'netvolume.snapshots',
  'netvolume.list',
  'netvolume.price',
  'instance.price',
  'instance.billing-preview',
  'instance.check-resource',
  ...MONEY_READS,
] as const

export const listSnapshots = defineCall({
  operation: 'netvolume.snapshots',
  method: 'GET',
  path: '/api/netvolume/{id}/snapshot',
  summary: 'The snapshots of a network volume, newest first, when more are taken, and what they cost.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  params: ofVolume,
  data: volumeSnapshots,
})

export const takeSnapshot = defineCall({
  operation: 'netvolume.take-snapshot',
  method: 'POST',
  path: '/api/netvolume/{id}/snapshot',
  summary:
    'Takes a snapshot of a network volume and sets its first day aside. It costs by what it holds, from when it is ready.',
  audience: 'verified',
  timeout: 'normal',
  spends: true,
  audit: { target: ['params.id'] },
  stales: WHAT_COSTS,
  params: ofVolume,
  data: snapshot,
})

export const deleteSnapshot = defineCall({
  operation: 'netvolume.delete-snapshot',
  method: 'DELETE',
  path: '/api/netvolume/{id}/snapshot/{snapshot_id}',
  summary: 'Deletes a snapshot of a network volume, unless a volume is being made of it.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['params.id'] },
  stales: WHAT_COSTS,
  params: ofSnapshot,
  data: snapshot,
})

export const restoreSnapshotBody = z.object({ name: volumeName, size_gb: volumeGb }, by('required'))
z.globalRegistry.add(restoreSnapshotBody, { id: 'RestoreSnapshotBody' })

export const restoreSnapshot = defineCall({
  operation: 'netvolume.restore-snapshot',
  method: 'POST',
  path: '/api/netvolume/{id}/snapshot/{snapshot_id}/restore',
  summary:
    'Makes a new network volume of a snapshot, in the same region, and sets its first day aside. It costs from when it is ready.',
  audience: 'verified',
  timeout: 'normal',
  spends: true,
  audit: { target: ['params.id'] },
  stales: WHAT_COSTS,
  params: ofSnapshot,
  body: restoreSnapshotBody,
  data: volume,
})

const whole = (least: number, most: number) =>
  z.number(by('not_a_number')).int(by('not_whole')).min(least, by('too_small')).max(most, by('too_large'))

export const snapshotScheduleBody = z.object(
  {
    every: z.enum(SNAPSHOT_EVERY, by('not_allowed')),
    hour: whole(0, 23),
    weekday: whole(0, 6),
    keep: whole(1, SNAPSHOTS_KEPT_MAX),
  },
  by('required'),
)
z.globalRegistry.add(snapshotScheduleBody, { id: 'SnapshotScheduleBody' })
export type SnapshotScheduleBody = z.infer<typeof snapshotScheduleBody>

export const scheduleSnapshots = defineCall({
  operation: 'netvolume.schedule-snapshots',
  method: 'PUT',
  path: '/api/netvolume/{id}/snapshot-schedule',
  summary:
    'Says when snapshots of a network volume are taken by themselves, and how many of those are kept. What is too many is deleted, the oldest first.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['params.id'] },
  stales: WHAT_COSTS,
  params: ofVolume,
  body: snapshotScheduleBody,
  data: snapshotSchedule,
})

export const volumeSnapshotCalls = [
  listSnapshots,
  takeSnapshot,
  deleteSnapshot,
  restoreSnapshot,
  scheduleSnapshots,
] as const
