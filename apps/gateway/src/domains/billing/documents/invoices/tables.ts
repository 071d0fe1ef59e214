import { INVOICE_KINDS, type InvoicePage } from '@berth/contract/invoices'
import { sql } from 'drizzle-orm'
import { check, date, index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { amount, moment } from '../../../../platform/database/columns.ts'

/** Counters of numbers: one for each year and currency, taken in the transaction that makes the document. */
export const invoiceSeries = pgTable('invoice_series', {
  /** `2026-USD`. */
  series: text('series').primaryKey(),
  /** The last number that was given. */
  last: integer('last').notNull(),
})

/** What is printed of a document besides its row, as it was when it was made. */
export type FrozenPage = Omit<InvoicePage, 'invoice'>

/** Invoices and credit notes: never changed and never removed (a trigger refuses both), one for each key. */
export const invoice = pgTable(
  'invoice',
  {
    id: uuid('id').primaryKey(),
    /** What it is for, so that it is made once: `topup:<payment>`, `usage:<customer>:<month>`, `refund:<refund>` … */
    key: text('key').notNull(),
    userId: uuid('user_id').notNull(),
    kind: text('kind', { enum: INVOICE_KINDS }).notNull(),
    /** The payment or the refund; null for usage. */
    refId: uuid('ref_id'),
    series: text('series')
      .notNull()
      .references(() => invoiceSeries.series),
    position: integer('position').notNull(),
    currency: text('currency', { enum: ['USD', 'EUR'] }).notNull(),
    /** Negative of a credit note. */
    amountCents: integer('amount_cents').notNull(),
    /** Of usage: the first day of its month, and what was used in all before that and by the end of it. */
    month: date('month', { mode: 'string' }),
    fromMicro: amount('from_micro'),
    toMicro: amount('to_micro'),
    page: jsonb('page').$type<FrozenPage>().notNull(),
    issuedAt: moment('issued_at').notNull(),
  },
  table => [
    uniqueIndex('invoice_key').on(table.key),
    uniqueIndex('invoice_number').on(table.series, table.position),
    index('invoice_user').on(table.userId, table.issuedAt, table.id),
    index('invoice_ref').on(table.refId),
    check(
      'invoice_amount',
      sql`${table.amountCents} <> 0 and (${table.amountCents} < 0) = (${table.kind} = 'refund') and ${table.position} > 0`,
    ),
    check(
      'invoice_month',
      sql`(${table.kind} = 'usage') = (${table.month} is not null) and (${table.month} is null) = (${table.fromMicro} is null)
        and (${table.month} is null) = (${table.toMicro} is null) and (${table.month} is null) = (${table.refId} is not null)`,
    ),
  ],
)

/** How far the job that makes months' invoices has come with a month; done once nobody is left. */
export const invoiceMonth = pgTable('invoice_month', {
  month: date('month', { mode: 'string' }).primaryKey(),
  doneAt: moment('done_at').notNull(),
})

/** What customers want written on their invoices. */
export const billingAddress = pgTable('billing_address', {
  userId: uuid('user_id').primaryKey(),
  name: text('name').notNull(),
  address: text('address').notNull(),
  taxId: text('tax_id').notNull(),
})
