import * as z from 'zod'
import { MONTH } from './bills.ts'
import { defineCall } from './call.ts'
import { by, currency, isShownAsWritten, page, pageOf, timestamp } from './fields.ts'
import { LANGUAGES } from './limits.ts'

/**
 * What a document is: an invoice for a top-up or for a month of usage, a credit note for a refund, or the invoice that
 * takes a credit note back where its money did not arrive.
 */
export const INVOICE_KINDS = ['topup', 'usage', 'refund', 'refund_failed'] as const
export type InvoiceKind = (typeof INVOICE_KINDS)[number]

/** What a line of a document is about; usage is summed by what was used. */
export const INVOICE_LINES = [
  'topup',
  'refund',
  'refund_failed',
  'instance',
  'network_volume',
  'volume_snapshot',
  'public_ip',
  'image',
  'other',
] as const
export type InvoiceLine = (typeof INVOICE_LINES)[number]

export const BILLING_NAME_CHARS_MAX = 120
export const BILLING_ADDRESS_CHARS_MAX = 400
export const BILLING_ADDRESS_LINES_MAX = 6
export const BILLING_TAX_ID_CHARS_MAX = 40
/** However a browser or a program ends a line. */
const LINE_END = /\r\n|\r|\n/g

/** Whom an invoice is made out by or to. */
const party = z.object({ name: z.string(), address: z.string(), tax_id: z.string() })
z.globalRegistry.add(party, { id: 'InvoiceParty' })

/**
 * What is written on invoices that are made from now on; empty texts where the customer has said nothing. A document is
 * read as it is written: nothing in it is unseen or turns around what stands beside it.
 */
export const billingAddress = z.object({
  name: z
    .string(by('wrong_type'))
    .trim()
    .max(BILLING_NAME_CHARS_MAX, by('too_long'))
    .refine(isShownAsWritten, by('not_allowed')),
  /** One to six lines. */
  address: z
    .string(by('wrong_type'))
    .trim()
    .max(BILLING_ADDRESS_CHARS_MAX, by('too_long'))
    .refine(text => text.split(LINE_END).length <= BILLING_ADDRESS_LINES_MAX, by('too_long'))
    .refine(text => text.split(LINE_END).every(isShownAsWritten), by('not_allowed'))
    .transform(text => text.replaceAll(LINE_END, '\n')),
  tax_id: z
    .string(by('wrong_type'))
    .trim()
    .max(BILLING_TAX_ID_CHARS_MAX, by('too_long'))
    .refine(isShownAsWritten, by('not_allowed')),
})
z.globalRegistry.add(billingAddress, { id: 'BillingAddress' })
export type BillingAddress = z.output<typeof billingAddress>

/** A row of the list of documents. */
export const invoice = z.object({
  id: z.string(),
  /** Without a gap in its series, which is the year and the currency: `2026-USD-000017`. */
  number: z.string(),
  kind: z.enum(INVOICE_KINDS),
  date: timestamp,
  currency,
  /** Cents; negative of a credit note. */
  amount: z.number().int(),
  /** The first day of the month that it is for; null but for usage. */
  month: z.iso.date().nullable(),
  /** The top-up or the refund that it is for. */
  transaction_id: z.string().nullable(),
})
z.globalRegistry.add(invoice, { id: 'Invoice' })
export type Invoice = z.infer<typeof invoice>

/** All that is printed of a document, as it was when it was made. */
export const invoicePage = z.object({
  invoice,
  /** The customer's account, by which the operator knows it. */
  customer: z.string(),
  seller: party,
  buyer: party,
  /** Cents; they add up to the amount. */
  lines: z.array(z.object({ what: z.enum(INVOICE_LINES), amount: z.number().int() })),
  /** How a top-up was paid, or where a refund went. */
  card: z.object({ brand: z.string(), last4: z.string() }).nullable(),
  /** When what it is for happened. */
  paid_at: timestamp.nullable(),
  /** The number of the invoice that a credit note corrects. */
  corrects: z.string().nullable(),
  /** Of usage: cents that credits have paid. */
  credits: z.number().int(),
})
z.globalRegistry.add(invoicePage, { id: 'InvoicePage' })
export type InvoicePage = z.infer<typeof invoicePage>

/** Where a document is read as PDF. */
const invoicePdf = z.object({ download_url: z.string(), name: z.string() })
z.globalRegistry.add(invoicePdf, { id: 'InvoicePdf' })

const params = z.object({ id: z.string(by('required')).max(80, by('too_long')) })

export const listInvoices = defineCall({
  operation: 'bill.invoice',
  method: 'GET',
  path: '/api/bill/invoice',
  summary: 'Invoices and credit notes, newest first; of a month, if one is said.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  query: z.object({
    /** Of UTC: what is for its usage, and what else is dated in it. Left out: all. */
    month: z.string(by('wrong_type')).regex(MONTH, by('not_allowed')).optional(),
    ...page,
  }),
  data: pageOf(invoice),
})

export const getInvoice = defineCall({
  operation: 'bill.invoice-page',
  method: 'GET',
  path: '/api/bill/invoice/{id}',
  summary: 'All that is printed of an invoice or a credit note.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  params,
  data: invoicePage,
})

export const getInvoicePdf = defineCall({
  operation: 'bill.invoice-pdf',
  method: 'GET',
  path: '/api/bill/invoice/{id}/pdf',
  summary: 'An address at which a document is read as PDF in that language, for a minute.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  params,
  query: z.object({ language: z.enum(LANGUAGES, by('not_allowed')).default('en') }),
  data: invoicePdf,
})

export const getBillingAddress = defineCall({
  operation: 'bill.billing-address',
  method: 'GET',
  path: '/api/bill/billing-address',
  summary: 'What is written on invoices that are made from now on.',
  audience: 'user',
  timeout: 'fast',
  retry: true,
  data: billingAddress,
})

export const setBillingAddress = defineCall({
  operation: 'bill.billing-address-set',
  method: 'PUT',
  path: '/api/bill/billing-address',
  summary:
    'Says what is written on invoices that are made from now on; those that are made stay as they are.',
  audience: 'user',
  timeout: 'normal',
  audit: { target: [] },
  stales: ['bill.billing-address'],
  body: billingAddress,
  data: billingAddress,
})

export const invoiceCalls = [
  listInvoices,
  getInvoice,
  getInvoicePdf,
  getBillingAddress,
  setBillingAddress,
] as const
