import * as z from 'zod'
import { defineCall } from './call.ts'
import { by, currency, micro, page, pageOf, timestamp } from './fields.ts'
import { INSTANCE_EVENT_CODES } from './instance-codes.ts'
import { usageKind } from './usage-kinds.ts'

/** What the lines of a bill are of: one thing that costs something, a UTC day, or a kind of usage. */
export const BILL_GROUPS = ['resource', 'day', 'kind'] as const
export type BillGroup = (typeof BILL_GROUPS)[number]

/** A month of UTC, `2026-11`. */
export const MONTH = /^2\d{3}-(?:0[1-9]|1[0-2])$/
const SEARCH_CHARS_MAX = 100
/** A kind, a colon and an id, with room to spare. */
const LINE_ID_CHARS_MAX = 200

/** In micro-units; what was given back is taken off. */
const amounts = {
  /** What was charged: cash and credits. */
  amount_micro: micro,
  cash_micro: micro,
  credits_micro: micro,
  /** Used and not charged, because the balance was empty. */
  waived_micro: micro,
}

const months = z.object({
  currency,
  months: z.array(z.object({ month: z.string().regex(MONTH), ...amounts })),
})
z.globalRegistry.add(months, { id: 'BillMonths' })

export const getBillMonths = defineCall({
  operation: 'bill.bill-duration',
  method: 'GET',
  path: '/api/order/bill_duration',
  summary: 'The months (UTC) in which something was used, newest first, with what was charged for it.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  outlivesNavigation: true,
  data: months,
})

/** What a bill is asked for by; a line that is opened is asked for by the same, so that its sums are the line's. */
const period = {
  month: z.string(by('required')).regex(MONTH, by('not_allowed')),
  /** Looks in names and ids. */
  search: z.string(by('wrong_type')).max(SEARCH_CHARS_MAX, by('too_long')).optional(),
}
const group = z.enum(BILL_GROUPS, by('not_allowed')).default('resource')

/** What a line, or a whole bill, has of one kind of usage. */
const part = z.object({
  usage: usageKind,
  /** How many stretches of usage. */
  stretches: z.number().int(),
  /** How long they were in the period; a term that was paid in advance counts where it was paid, as a whole. */
  seconds: z.number().int(),
  ...amounts,
})
z.globalRegistry.add(part, { id: 'BillPart' })

/** What something is that costs something. */
const subject = z.object({
  kind: z.enum(['instance', 'network_volume', 'volume_snapshot', 'image', 'public_ip', 'model_call']),
  id: z.string(),
  /** As it was called last in the period. */
  name: z.string(),
  /** Of an instance. */
  gpu_spec_name: z.string().nullable(),
  gpu_count: z.number().int().nullable(),
  /** The instance that an address belongs to. */
  instance_name: z.string().nullable(),
})
z.globalRegistry.add(subject, { id: 'BillSubject' })

/** One line of a bill; its parts, by kind of usage, come to its sums. */
export const billLine = z.object({
  /** Opens it. */
  id: z.string(),
  /** Set where lines are of things. */
  subject: subject.nullable(),
  /** Set where lines are of days. */
  date: z.iso.date().nullable(),
  /** The main kind of its usage; null where lines are of days. */
  usage: usageKind.nullable(),
  /** In the order of kinds. */
  parts: z.array(part),
  stretches: z.number().int(),
  seconds: z.number().int(),
  ...amounts,
  /** When the first of it began and the last of it ended, within the period; no end while something goes on. */
  from: timestamp,
  until: timestamp.nullable(),
})
z.globalRegistry.add(billLine, { id: 'BillLine' })
export type BillLine = z.infer<typeof billLine>

const bill = z.object({
  month: z.string(),
  /** The end is that of the month, or now where that is earlier. */
  from: timestamp,
  until: timestamp,
  currency,
  /** All lines that were searched for, on whichever page, in sum and by kind of usage. */
  sum: z.object(amounts),
  kinds: z.array(part),
  ...pageOf(billLine).shape,
})
z.globalRegistry.add(bill, { id: 'Bill' })
export type Bill = z.infer<typeof bill>

export const getBill = defineCall({
  operation: 'bill.order',
  method: 'GET',
  path: '/api/bill/order',
  summary: 'What was used in a month (UTC), up to now, by thing, day or kind.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  query: z.object({ ...period, group, ...page }),
  data: bill,
})

/** One stretch of usage, as far as it is in the period. */
export const billStretch = z.object({
  /** The transaction whose receipt it opens to. */
  receipt_id: z.string(),
  subject: subject,
  usage: usageKind,
  /** `by_time` while it runs, `term` paid in advance, `once` for what was counted. */
  charge: z.enum(['by_time', 'term', 'once']),
  started_at: timestamp,
  ended_at: timestamp.nullable(),
  /** Within the period. */
  from: timestamp,
  until: timestamp.nullable(),
  /** What began and what ended it, of an instance's events; null of anything else, and where no event says it. */
  began_by: z.enum(INSTANCE_EVENT_CODES).nullable(),
  ended_by: z.enum(INSTANCE_EVENT_CODES).nullable(),
  seconds: z.number().int(),
  /** What all of it costs in so many seconds: of a term its price and its length. */
  rate_micro: micro,
  rate_seconds: z.number().int(),
  /** What ran, with the price of one of its unit. */
  meters: z.array(
    z.object({ label: z.string(), unit: z.string(), quantity: z.number().int(), rate_micro: micro }),
  ),
  ...amounts,
})
z.globalRegistry.add(billStretch, { id: 'BillStretch' })
export type BillStretch = z.infer<typeof billStretch>

const openedLine = z.object({ currency, line: billLine, ...pageOf(billStretch).shape })
z.globalRegistry.add(openedLine, { id: 'OpenedBillLine' })

export const getBillLine = defineCall({
  operation: 'bill.order-line',
  method: 'GET',
  path: '/api/bill/order/line',
  summary: 'A line of a bill opened: the stretches of usage that it is made of, newest first.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  query: z.object({
    ...period,
    group,
    line: z.string(by('required')).min(1, by('required')).max(LINE_ID_CHARS_MAX, by('too_long')),
    ...page,
  }),
  data: openedLine,
})

export const downloadBill = defineCall({
  operation: 'bill.order-download',
  method: 'GET',
  path: '/api/bill/order/download',
  summary:
    'What was used in a month (UTC) as CSV: a row for each stretch of usage and day, oldest first. The head is in the language of the request.',
  audience: 'user',
  timeout: 'download',
  retry: true,
  file: 'text/csv',
  query: z.object(period),
  data: z.string(),
})

export const billCalls = [getBillMonths, getBill, getBillLine, downloadBill] as const
