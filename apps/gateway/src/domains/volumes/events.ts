import * as z from 'zod'
import { defineEvent } from '../../platform/events/define-event.ts'

/**
 * What a customer is told of a volume: nothing is left to pay for it, its deletion is so many days ahead, it was deleted
 * for that; it could not be made or grown, or its engine has lost it.
 */
export const VOLUME_NEWS = [
  'unpaid',
  'unpaid_soon',
  'deleted_unpaid',
  'make_failed',
  'grow_failed',
  'missing',
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
  }),
)
