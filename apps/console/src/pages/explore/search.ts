import * as z from 'zod'
import { SORTS } from '../../offers/offers.ts'

/** What the address of the page may hold, before anything that makes no sense is left out. */
export const EXPLORE_FIELDS = {
  region: z.string().min(1).max(64),
  /** The GPU model, by the id of its spec. */
  model: z.string().min(1).max(64),
  /** At least so many GB for each GPU. */
  vram: z.string().regex(/^[1-9]\d{0,4}$/),
  /** At most so much an hour, in units of the wallet's currency. */
  price: z.string().regex(/^\d{1,6}(\.\d{1,6})?$/),
  available: z.literal('yes'),
  kind: z.enum(['POD', 'VM']),
  sort: z.enum(SORTS),
  /** The spec that the form is about. */
  spec: z.string().min(1).max(64),
  /** The image that the form begins with. */
  image_id: z.string().min(1).max(64),
} as const

/** What the page keeps in its address: a link shows the same offers, in the same order, and the form for the same spec. */
export const exploreSearch = z.object({
  region: EXPLORE_FIELDS.region.or(z.literal('')).catch(''),
  model: EXPLORE_FIELDS.model.or(z.literal('')).catch(''),
  vram: EXPLORE_FIELDS.vram.or(z.literal('')).catch(''),
  price: EXPLORE_FIELDS.price.or(z.literal('')).catch(''),
  available: EXPLORE_FIELDS.available.or(z.literal('')).catch(''),
  kind: EXPLORE_FIELDS.kind.or(z.literal('')).catch(''),
  sort: EXPLORE_FIELDS.sort.catch('price'),
  spec: EXPLORE_FIELDS.spec.or(z.literal('')).catch(''),
  image_id: EXPLORE_FIELDS.image_id.or(z.literal('')).catch(''),
})

export type ExploreSearch = z.infer<typeof exploreSearch>
