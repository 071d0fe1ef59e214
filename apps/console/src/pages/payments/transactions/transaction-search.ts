import type { listTransactions } from '@berth/contract/billing'
import type { CallInput } from '@berth/contract/call'
import { TRANSACTION_STATES, TRANSACTION_TYPES } from '@berth/contract/transaction-filters'
import * as z from 'zod'
import { findText, pageNumber } from '../../../lists/use-filters.ts'

/** Of a platform, to tell it from the id of a card that is kept. */
export const PLATFORM_PREFIX = 'platform:'

/** A day of the reader's calendar. */
const day = z
  .string()
  .regex(/^2\d{3}-\d\d-\d\d$/)
  .refine(isDay)
  .catch('')

/** What the list keeps in the page's address; empty texts narrow nothing. */
export const transactionSearch = z.object({
  type: z.enum(['all', ...TRANSACTION_TYPES]).catch('all'),
  state: z.enum(['any', ...TRANSACTION_STATES]).catch('any'),
  method: z
    .string()
    .max(80)
    .regex(/^(?:platform:[\w-]{1,50}|m_[0-9a-f-]{36})?$/)
    .catch(''),
  from: day,
  to: day,
  q: findText,
  page: pageNumber,
})
export type TransactionSearch = z.infer<typeof transactionSearch>

/** What the gateway is asked, for the list and for the file. The days are those of this device, the last one among them. */
export function queryOfSearch({ type, state, method, from, to, q }: TransactionSearch) {
  const platform = method.startsWith(PLATFORM_PREFIX) ? method.slice(PLATFORM_PREFIX.length) : ''
  return {
    ...(type === 'all' ? {} : { type }),
    ...(state === 'any' ? {} : { state }),
    ...(platform ? { platform_name: platform } : {}),
    ...(method && !platform ? { method_id: method } : {}),
    ...(from ? { from: beginOf(from, 0) } : {}),
    ...(to ? { until: beginOf(to, 1) } : {}),
    ...(q ? { search: q } : {}),
  } satisfies CallInput<typeof listTransactions>['query']
}

/** The first moment of a day on this device, or of one so many days later. */
function beginOf(text: string, daysLater: number): string {
  const [year = 0, month = 1, date = 1] = text.split('-').map(Number)
  return new Date(year, month - 1, date + daysLater).toISOString()
}

/** Whether a text like `2026-11-20` is a day that there is. */
export function isDay(text: string): boolean {
  const at = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text)
}
