import * as z from 'zod'

/** Longer than any instance's id. */
const ID_CHARS_MAX = 40

/** What the page's address holds: whose page it is. */
export const instancePageSearch = z.object({ id: z.string().max(ID_CHARS_MAX).catch('') })
