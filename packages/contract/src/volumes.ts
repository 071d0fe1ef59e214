import * as z from 'zod'
import { defineCall } from './call.ts'
import { by, micro, slug, timestamp } from './fields.ts'
import { INSTANCE_STATUSES } from './instance-states.ts'
import {
  INSTANCE_NAME_CHARS_MAX,
  INSTANCE_NAME_PATTERN,
  VOLUME_GB_MAX,
  VOLUME_GB_MIN,
  VOLUME_PATH_CHARS_MAX,
} from './limits.ts'
import { MONEY_READS } from './money-reads.ts'

/** `v-` and six letters or digits or more. */
export const volumeId = z.string(by('required')).regex(/^v-[a-z0-9]{6,12}$/, by('not_allowed'))

/** A volume's name: what an instance may be called. */
export const volumeName = z
  .string(by('instance_name_required'))
  .min(1, by('instance_name_required'))
  .max(INSTANCE_NAME_CHARS_MAX, by('instance_name_length'))
  .regex(INSTANCE_NAME_PATTERN, by('instance_name_characters'))

/** A volume's size in whole GB. */
export const volumeGb = z
  .number(by('not_a_number'))
  .int(by('not_whole'))
  .min(VOLUME_GB_MIN, by('too_small'))
  .max(VOLUME_GB_MAX, by('too_large'))

/** Absolute, of at most eight plain names, none of which begins with a dot. */
const PATH_PATTERN = /^(\/[A-Za-z0-9_][A-Za-z0-9._-]{0,63}){1,8}$/
/** What a machine needs to be one, what does not last, and homes, which are the machine's own. */
const RESERVED = /^\/(bin|boot|dev|etc|home|lib|lib32|lib64|libx32|proc|root|run|sbin|sys|tmp|usr|var)(\/|$)/

/** Where in an instance a volume stands. */
export const volumePath = z
  .string(by('required'))
  .min(1, by('required'))
  .max(VOLUME_PATH_CHARS_MAX, by('too_long'))
  .regex(PATH_PATTERN, by('volume_path'))
  .refine(path => !RESERVED.test(path), by('volume_path_reserved'))

/** A volume in an instance: which one, and where. */
export const volumeMount = z.object({ id: volumeId, path: volumePath }, by('wrong_type'))
z.globalRegistry.add(volumeMount, { id: 'VolumeMount' })
export type VolumeMount = z.infer<typeof volumeMount>

/** A volume costs from `ready` on, also while it grows, and nothing in any other status. */
export const VOLUME_STATUSES = ['creating', 'ready', 'growing', 'deleting', 'error'] as const
export type VolumeStatus = (typeof VOLUME_STATUSES)[number]

/**
 * Why a volume is in its status: it could not be made or grown, its engine does not have it any more, nobody reaches its
 * engine, or it was not paid for.
 */
export const VOLUME_REASONS = ['make_failed', 'grow_failed', 'missing', 'engine_away', 'unpaid'] as const
export type VolumeReason = (typeof VOLUME_REASONS)[number]

/** Why it is not known how much a volume holds: it has too many files to count in the time allowed, or its engine failed. */
export const MEASURE_TROUBLES = ['too_long', 'failed'] as const
export type MeasureTrouble = (typeof MEASURE_TROUBLES)[number]

/** What a volume holds: files, which instances have and S3 reaches, or objects, which S3 alone reaches. */
export const VOLUME_KINDS = ['files', 'objects'] as const
export type VolumeKind = (typeof VOLUME_KINDS)[number]

/** Storage that outlives instances (R3.11). */
export const volume = z.object({
  id: z.string(),
  kind: z.enum(VOLUME_KINDS),
  name: z.string(),
  region_code: z.string(),
  region_name: z.string(),
  /** What it has and costs; while it grows, what it had before. */
  size_gb: z.number().int(),
  /** What it is to have. */
  wanted_gb: z.number().int(),
  status: z.enum(VOLUME_STATUSES),
  status_since: timestamp,
  /** `detail` are the engine's own words in English, empty where it has none. */
  reason: z.object({ code: z.enum(VOLUME_REASONS), detail: z.string() }).nullable(),
  /** Whether several instances may run with it at a time; otherwise one after the other. */
  shared: z.boolean(),
  /** Whether it holds no more than its size. */
  size_enforced: z.boolean(),
  /** What its files took when they were counted last, in bytes; null: not measured yet. */
  used_bytes: z.number().int().nullable(),
  measured_at: timestamp.nullable(),
  /** Why the last try to count came to nothing; `used_bytes` is of an earlier one, then. */
  measure_trouble: z.enum(MEASURE_TROUBLES).nullable(),
  /** Whether it was found nearly full, and not emptied since (`VOLUME_NEAR_FULL_PERCENT`). */
  near_full: z.boolean(),
  /** Since when it holds more than its size, and when it is read-only for that to instances that start; null: it does not. */
  over_since: timestamp.nullable(),
  read_only_on: timestamp.nullable(),
  /** Whether instances that start have it read-only: nothing is left to pay for it, or it was over its size for too long. */
  read_only: z.boolean(),
  /** Instances that have it, running or stopped, the oldest first. */
  attached_to: z.array(
    z.object({
      instance_id: z.string(),
      name: z.string(),
      status: z.enum(INSTANCE_STATUSES),
      path: z.string(),
    }),
  ),
  /** How many snapshots it has; they go with it. */
  snapshots: z.number().int(),
  currency: z.string(),
  /** What it costs now: nothing while it is not ready. */
  micro_per_day: micro,
  /** All that it has cost so far. */
  cost_micro: micro,
  /** Since when nothing is left to pay for it; null: it is paid for. Instances that start have it read-only then. */
  unpaid_since: timestamp.nullable(),
  /** When it is deleted unless money comes; null: it is paid for. */
  deleted_on: timestamp.nullable(),
  created_at: timestamp,
})
z.globalRegistry.add(volume, { id: 'Volume' })
export type Volume = z.infer<typeof volume>

/** What a volume of a size costs, and where one can be had. */
export const volumePrice = z.object({
  currency: z.string(),
  size_gb: z.number().int(),
  micro_per_gb_day: micro,
  micro_per_day: micro,
  /** Of thirty days. */
  micro_per_month: micro,
  /** What the volume named costs now; null where none is named. */
  now_micro_per_day: micro.nullable(),
  /** What must be available: its first day. */
  reserve_cents: z.number().int(),
  /** How long the balance would last with it beside what runs already; null without spending. */
  lasts_seconds: z.number().int().nullable(),
  /** Regions that have volumes, and what holds there. */
  regions: z.array(
    z.object({
      region_code: z.string(),
      region_name: z.string(),
      kinds: z.array(z.enum(VOLUME_KINDS)),
      /** Of those that hold files. */
      shared: z.boolean(),
      size_enforced: z.boolean(),
    }),
  ),
})
z.globalRegistry.add(volumePrice, { id: 'VolumePrice' })
export type VolumePrice = z.infer<typeof volumePrice>

export const getVolumePrice = defineCall({
  operation: 'netvolume.price',
  method: 'GET',
  path: '/api/netvolume/price',
  summary:
    'What a network volume of a size costs by the GB and day, and which regions have volumes. With `id`, beside what that one costs now.',
  audience: 'user',
  timeout: 'fast',
  retry: true,
  query: z.object({
    size_gb: z.coerce.number(by('not_a_number')).pipe(volumeGb).default(VOLUME_GB_MIN),
    id: volumeId.optional(),
  }),
  data: volumePrice,
})

export const listVolumes = defineCall({
  operation: 'netvolume.list',
  method: 'GET',
  path: '/api/netvolume/',
  summary: "The customer's network volumes, newest first; those of one region where it is named.",
  audience: 'user',
  timeout: 'normal',
  retry: true,
  query: z.object({ region_code: slug.optional() }),
  data: z.array(volume),
})

export const createVolumeBody = z.object(
  {
    name: volumeName,
    region_code: slug,
    size_gb: volumeGb,
    kind: z.enum(VOLUME_KINDS, by('not_allowed')).default('files'),
  },
  by('required'),
)
z.globalRegistry.add(createVolumeBody, { id: 'CreateVolumeBody' })
export type CreateVolumeBody = z.infer<typeof createVolumeBody>

/** Reads that are old when a volume begins or ceases to cost something. */
const WHAT_COSTS = [
  'netvolume.list',
  'netvolume.price',
  'instance.price',
  'instance.billing-preview',
  'instance.check-resource',
  ...MONEY_READS,
] as const

export const createVolume = defineCall({
  operation: 'netvolume.create',
  method: 'POST',
  path: '/api/netvolume/',
  summary: 'Makes a network volume and sets its first day aside. It costs from when it is ready.',
  audience: 'verified',
  timeout: 'normal',
  spends: true,
  audit: { target: ['data.id'] },
  stales: WHAT_COSTS,
  body: createVolumeBody,
  data: volume,
})

export const editVolumeBody = z.object({ id: volumeId, name: volumeName }, by('required'))
z.globalRegistry.add(editVolumeBody, { id: 'EditVolumeBody' })

export const editVolume = defineCall({
  operation: 'netvolume.edit',
  method: 'PUT',
  path: '/api/netvolume/',
  summary: 'Renames a network volume.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['body.id'] },
  stales: ['netvolume.list'],
  body: editVolumeBody,
  data: volume,
})

export const growVolumeBody = z.object({ size_gb: volumeGb }, by('required'))
z.globalRegistry.add(growVolumeBody, { id: 'GrowVolumeBody' })

export const growVolume = defineCall({
  operation: 'netvolume.grow',
  method: 'POST',
  path: '/api/netvolume/{id}/grow',
  summary: 'Makes a network volume larger; it never shrinks. It costs its new price from when it has grown.',
  audience: 'verified',
  timeout: 'normal',
  spends: true,
  audit: { target: ['params.id'] },
  stales: WHAT_COSTS,
  params: z.object({ id: volumeId }),
  body: growVolumeBody,
  data: volume,
})

export const deleteVolume = defineCall({
  operation: 'netvolume.delete',
  method: 'DELETE',
  path: '/api/netvolume/{id}',
  summary:
    'Deletes a network volume and all that is in it, when its exact name is given and no instance has it.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['params.id'] },
  stales: WHAT_COSTS,
  params: z.object({ id: volumeId }),
  query: z.object({ name: z.string(by('required')).max(INSTANCE_NAME_CHARS_MAX, by('too_long')) }),
  data: volume,
})

export const volumeCalls = [
  getVolumePrice,
  listVolumes,
  createVolume,
  editVolume,
  growVolume,
  deleteVolume,
] as const
