import type { listTransactions } from '@berth/contract/billing'
import type { CallInput } from '@berth/contract/call'
import { TRANSACTION_STATES, TRANSACTION_TYPES } from '@berth/contract/transaction-filters'
import * as z from 'zod'
import { dayText, periodOf } from '../../../lists/period.ts'
import { findText, pageNumber } from '../../../lists/use-filters.ts'

/** Of a platform, to tell it from the id of a card that is kept. */
export const PLATFORM_PREFIX = 'platform:'

/** What the list keeps in the page's address; empty texts narrow nothing. */
export const transactionSearch = z.object({
  type: z.enum(['all', ...TRANSACTION_TYPES]).catch('all'),
  state: z.enum(['any', ...TRANSACTION_STATES]).catch('any'),
  method: z
    .string()
    .max(80)
    .regex(/^(?:platform:[\w-]{1,50}|m_[0-9a-f-]{36})?$/)
    .catch(''),
  from: dayText,
  to: dayText,
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
    ...periodOf({ from, to }),
    ...(q ? { search: q } : {}),
  } satisfies CallInput<typeof listTransactions>['query']
}
