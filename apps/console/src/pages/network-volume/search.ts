import * as z from 'zod'
import { findText } from '../../lists/use-filters.ts'

/** A region's code is no longer than this (`slug` of the contract). */
const REGION_CHARS_MAX = 64

/** What the list's address holds: a region's code, empty for all, and what is searched for. */
export const volumeSearch = z.object({
  region: z.string().max(REGION_CHARS_MAX).catch(''),
  q: findText,
})
