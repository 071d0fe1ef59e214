import * as z from 'zod'
import { defineEvent } from '../../platform/events/define-event.ts'

/**
 * What a customer is told of a volume: nothing is left to pay for it, its deletion is so many days ahead, it was deleted
 * for that; it could not be made or grown, or its engine has lost it; it is nearly full, holds more than its size, is
 * read-only for that; a snapshot by its schedule could not be copied, or was not taken for want of money, since the volume
 * was not there, or since the one before was still being copied.
 */
export const VOLUME_NEWS = [
  'unpaid',
  'unpaid_soon',
  'deleted_unpaid',
  'make_failed',
  'grow_failed',
  'missing',
  'near_full',
  'over_size',
  'over_read_only',
  'snapshot_failed',
  'snapshot_unpaid',
  'snapshot_no_volume',
  'snapshot_busy',
] as const
export type VolumeNews = (typeof VOLUME_NEWS)[number]

/** Something happened to a customer's volume that the customer did not ask for. */
export const volumeNews = defineEvent(
  'volume.news',
  z.object({
    userId: z.uuid(),
    at: z.iso.datetime(),
    news: z.enum(VOLUME_NEWS),
    volume: z.object({ id: z.string(), name: z.string() }),
    /** When it is deleted unless money comes; null where it is not. */
    deletedOn: z.iso.datetime().nullable(),
    /** When it is read-only for being over its size; null where it is not over it. */
    readOnlyOn: z.iso.datetime().nullable().default(null),
    /** The engine's own words in English; empty where there are none. */
    detail: z.string().default(''),
  }),
)
