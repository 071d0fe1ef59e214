import type { CallData } from '@berth/contract/call'
import { invoice as entity, type InvoicePage, type listInvoices } from '@berth/contract/invoices'
import { and, desc, eq, sql } from 'drizzle-orm'
import type { Database, Queryable } from '../../../../platform/database/database.ts'
import { ApiError } from '../../../../platform/http/api-error.ts'
import { wireOf } from '../../../../platform/http/wire.ts'
import { numberOf } from './make-invoice.ts'
import { invoice } from './tables.ts'

const invoiceOf = wireOf(entity)

/** Ids on the wire say what they are. */
export const INVOICE_PREFIX = 'inv_'
const ID_PATTERN = /^inv_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

type Row = typeof invoice.$inferSelect

function toInvoice(row: Omit<Row, 'page'>) {
  const isTopup = row.kind === 'topup'
  return invoiceOf({
    ...row,
    id: INVOICE_PREFIX + row.id,
    number: numberOf(row),
    date: row.issuedAt,
    amount: row.amountCents,
    transactionId: row.refId === null ? null : `${isTopup ? 't_' : 'r_'}${row.refId}`,
  })
}

/** Which documents are looked at. */
export interface InvoicesQuery {
  /** Of UTC, `2026-11`: what is for its usage, and what else is dated in it. Left out: all. */
  month?: string | undefined
  page: number
  page_size: number
}

/** A page of a customer's documents, newest first, in one snapshot. */
export async function listInvoicesOf(
  db: Database,
  userId: string,
  { month, page, page_size }: InvoicesQuery,
): Promise<CallData<typeof listInvoices>> {
  // A month's invoice is made after its end, and is that month's.
  const isFor = sql`to_char(coalesce(${invoice.month}, (${invoice.issuedAt} at time zone 'UTC')::date), 'YYYY-MM')`
  const wanted = and(eq(invoice.userId, userId), month === undefined ? undefined : sql`${isFor} = ${month}`)
  return await db.transaction(
    async tx => {
      const rows = await tx
        .select()
        .from(invoice)
        .where(wanted)
        .orderBy(desc(invoice.issuedAt), desc(invoice.series), desc(invoice.position))
        .limit(page_size)
        .offset((page - 1) * page_size)
      const total = await tx.$count(invoice, wanted)
      return { items: rows.map(toInvoice), total, page, page_size }
    },
    { isolationLevel: 'repeatable read', accessMode: 'read only' },
  )
}

/** All of a document. @throws ApiError `not_found`, also for another customer's (R6.4). */
export async function readInvoice(
  q: Pick<Queryable, 'select'>,
  userId: string,
  id: string,
): Promise<InvoicePage> {
  const uuid = ID_PATTERN.exec(id)?.[1]
  if (uuid === undefined) throw new ApiError('not_found')
  const [row] = await q
    .select()
    .from(invoice)
    .where(and(eq(invoice.id, uuid), eq(invoice.userId, userId)))
  if (!row) throw new ApiError('not_found')
  return { invoice: toInvoice(row), ...row.page }
}
