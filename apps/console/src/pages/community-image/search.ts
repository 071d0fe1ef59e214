import * as z from 'zod'
import { findText } from '../../lists/use-filters.ts'

/** Orders of the community's images. */
export const IMAGE_SORTS = ['deploys', 'stars', 'newest'] as const
export type ImageSort = (typeof IMAGE_SORTS)[number]

/** What a GPU has at most, in GB: the sizes that are sold. */
export const VRAM_CHOICES = ['8', '12', '16', '24', '48', '80'] as const

/** As long as the contract lets a region's code and a tag be. */
const SLUG_CHARS_MAX = 64

/** What the page's address holds: all of it narrows or orders the cards; empty: any. */
export const communitySearch = z.object({
  q: findText,
  region: z.string().max(SLUG_CHARS_MAX).catch(''),
  vram: z.enum(['', ...VRAM_CHOICES]).catch(''),
  tag: z.string().max(SLUG_CHARS_MAX).catch(''),
  sort: z.enum(IMAGE_SORTS).catch('deploys'),
})

export type CommunitySearch = z.infer<typeof communitySearch>
