import * as z from 'zod'
import { ROW_ACTIONS } from '../../instances/instance-actions.ts'
import { FIND_CHARS_MAX, findText } from '../../lists/use-filters.ts'
import { INSTANCE_GROUPS } from './instance-filters.ts'

/** What the list's address holds. */
export const instanceSearch = z.object({
  status: z.enum(INSTANCE_GROUPS).catch('all'),
  q: findText,
})

/** What another page asks of the list: a dialog, and the instance that it is about. Both leave the address at once. */
export const askedSearch = z.object({
  dialog: z.enum(ROW_ACTIONS).or(z.literal('')).catch(''),
  instance: z.string().max(FIND_CHARS_MAX).catch(''),
})
