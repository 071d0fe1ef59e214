import type { BillingAddress, InvoicePage } from '@berth/contract/invoices'
import type { Language } from '@berth/contract/limits'
import type { Sealer } from '../../../../platform/sealer.ts'
import { readAddress, saveAddress } from './addresses.ts'
import { makeMissing } from './missing-invoices.ts'
import { createPdfMaker } from './pdf/pdf-maker.ts'
import { openTicket, sealTicket } from './pdf/pdf-ticket.ts'
import { type InvoicesQuery, listInvoicesOf, readInvoice } from './read-invoices.ts'
import { invoiceMonths, type JobDeps } from './usage-invoices.ts'

/** Makes the part of the domain that is about invoices and credit notes (B23, R3.10). */
export function createInvoices(deps: JobDeps & { sealer: Sealer }) {
  const { db } = deps
  const pdfs = createPdfMaker()
  return {
    /** A page of a customer's documents, all or a month's, newest first. */
    list: (userId: string, query: InvoicesQuery) => listInvoicesOf(db, userId, query),

    /** All that is printed of one. @throws ApiError `not_found`. */
    read: (userId: string, id: string): Promise<InvoicePage> => readInvoice(db, userId, id),

    /** An address that opens one as PDF for a minute. @throws ApiError `not_found`. */
    async pdfLink(userId: string, id: string, language: Language) {
      const { number } = (await readInvoice(db, userId, id)).invoice
      return { download_url: sealTicket(deps, { userId, id, language }), name: `${number}.pdf` }
    },

    /**
     * The PDF that such an address leads to.
     * @throws ApiError `download_ticket_invalid`; `unavailable` when too many are asked for at once, or it takes too long.
     */
    async pdf(ticket: string): Promise<{ name: string; bytes: Buffer }> {
      const { userId, id, language } = openTicket(deps, ticket)
      const page = await readInvoice(db, userId, id)
      return { name: `${page.invoice.number}.pdf`, bytes: await pdfs.make(page, language) }
    },

    /** What a customer wants written on invoices. */
    address: (userId: string): Promise<BillingAddress> => readAddress(db, userId),

    /** Keeps it for what is made from now on. @throws ApiError `login_expired` for a deleted account. */
    setAddress: (userId: string, address: BillingAddress): Promise<BillingAddress> =>
      saveAddress(db, userId, address),

    /** Makes what is missing: of a version that made no invoices, and of months that have ended. */
    async makeDue(signal?: AbortSignal): Promise<void> {
      await makeMissing(deps, signal)
      if (!signal?.aborted) await invoiceMonths(deps, signal)
    },
  }
}
