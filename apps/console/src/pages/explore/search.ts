import * as z from 'zod'
import { SORTS } from './offers.ts'

/** What the page keeps in its address: a link to a spec in a region opens just that. */
export const exploreSearch = z.object({
  region: z.string().max(64).catch(''),
  spec: z.string().max(64).catch(''),
  sort: z.enum(SORTS).catch('price'),
})
