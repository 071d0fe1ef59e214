import * as z from 'zod'
import { defineCall } from './call.ts'
import { by } from './fields.ts'

export const TRANSACTION_TYPES = ['topup', 'usage', 'credit', 'refund'] as const

/**
 * What became of a transaction; each is in exactly one of them: booked, or not decided yet, or a payment that took nothing
 * because it was declined, ran out or was canceled, or money given back that did not arrive.
 */
export const TRANSACTION_STATES = ['settled', 'pending', 'not_charged', 'came_back'] as const

/** Bounds what a list or a file of transactions is searched for. */
const SEARCH_CHARS_MAX = 100
const PLATFORM_CHARS_MAX = 50
const ID_CHARS_MAX = 80

/** A moment of this millennium; the books hold none of another. */
const moment = z.iso.datetime(by('not_allowed')).regex(/^2/, by('not_allowed'))

/** What transactions are narrowed by, in the list and in the file alike: what the one shows is what the other has (R3.10). */
export const transactionFilters = {
  type: z.enum(TRANSACTION_TYPES, by('not_allowed')).optional(),
  state: z.enum(TRANSACTION_STATES, by('not_allowed')).optional(),
  /** Payments by one platform, and what of them was given back. */
  platform_name: z
    .string(by('wrong_type'))
    .min(1, by('required'))
    .max(PLATFORM_CHARS_MAX, by('too_long'))
    .optional(),
  /** The same by one card: the id of a method that the customer keeps. */
  method_id: z.string(by('wrong_type')).min(1, by('required')).max(ID_CHARS_MAX, by('too_long')).optional(),
  /** The first moment of a period, and the first one after it. */
  from: moment.optional(),
  until: moment.optional(),
  /** Looks in names, ids, cards, coupon codes, numbers of invoices, and for amounts as they are read. */
  search: z.string(by('wrong_type')).max(SEARCH_CHARS_MAX, by('too_long')).optional(),
}

export const downloadTransactions = defineCall({
  operation: 'bill.transaction-download',
  method: 'GET',
  path: '/api/bill/transaction/download',
  summary:
    'Transactions as CSV, newest first: the rows of the list with the same filters. The head is in the language of the request.',
  audience: 'user',
  timeout: 'download',
  retry: true,
  file: 'text/csv',
  query: z.object(transactionFilters),
  data: z.string(),
})
