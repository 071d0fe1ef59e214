import * as z from 'zod'
import { INSTANCE_GROUPS } from './instance-filters.ts'

/** Bounds what an address can make the page search for; ids, names and images are all shorter. */
export const FIND_CHARS_MAX = 100

/** What the list's address holds. */
export const instanceSearch = z.object({
  status: z.enum(INSTANCE_GROUPS).catch('all'),
  q: z.string().max(FIND_CHARS_MAX).catch(''),
})
