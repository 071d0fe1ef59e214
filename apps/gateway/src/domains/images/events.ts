import * as z from 'zod'
import { defineEvent } from '../../platform/events/define-event.ts'

/**
 * What a customer is told of an image: it is sent to review, is the community's, was refused or taken down; it could not be
 * made; nothing is left to pay for it, its deletion is so many days ahead, it was deleted for that; the store has lost it.
 */
export const IMAGE_NEWS = [
  'in_review',
  'published',
  'refused',
  'taken_down',
  'build_failed',
  'unpaid',
  'unpaid_soon',
  'deleted_unpaid',
  'missing',
] as const
export type ImageNews = (typeof IMAGE_NEWS)[number]

/** Something happened to a customer's image. */
export const imageNews = defineEvent(
  'image.news',
  z.object({
    userId: z.uuid(),
    at: z.iso.datetime(),
    news: z.enum(IMAGE_NEWS),
    image: z.object({ id: z.string(), name: z.string() }),
    /** The operator's own words, or the engine's; empty where there are none. */
    detail: z.string(),
    /** When it is deleted unless money comes, or by when the operator answers; null where neither is to come. */
    until: z.iso.datetime().nullable(),
  }),
)
