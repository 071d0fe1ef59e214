import { dispositionOf } from '../../../../../platform/http/file-names.ts'
import type { RawRoute } from '../../../../../platform/http/raw-routes.ts'
import { SAVED_ONLY } from '../../../../../platform/http/saved-only.ts'
import type { createInvoices } from '../invoices.ts'
import { PDF_PATH } from './pdf-ticket.ts'

/** The address at which a browser saves a document as PDF. */
export function invoicePdfRoute(invoices: Pick<ReturnType<typeof createInvoices>, 'pdf'>): RawRoute {
  return {
    methods: ['GET'],
    path: `${PDF_PATH}/:ticket`,
    bodyBytesMax: 1,
    async handle({ params: { ticket = '' } }) {
      const { name, bytes } = await invoices.pdf(ticket)
      return {
        status: 200,
        headers: {
          ...SAVED_ONLY,
          'content-type': 'application/pdf',
          'content-disposition': dispositionOf(name),
        },
        body: bytes,
      }
    },
  }
}
