import { BILL_GROUPS } from '@berth/contract/bills'
import * as z from 'zod'
import { findText, pageNumber } from '../../lists/use-filters.ts'

/** What the page keeps in its address; no month is this one. */
export const billSearch = z.object({
  month: z
    .string()
    .regex(/^2\d{3}-(?:0[1-9]|1[0-2])$/)
    .catch(''),
  group: z.enum(BILL_GROUPS).catch('resource'),
  q: findText,
  page: pageNumber,
  /** The line that is opened. */
  line: z.string().max(200).catch(''),
})
export type BillSearch = z.infer<typeof billSearch>
