import { getInvoicePdf } from '@berth/contract/invoices'
import { request } from '../api/client.ts'
import { currentLanguage } from '../app/i18n.ts'

/**
 * Has the browser save an invoice or a credit note as PDF, in the language of the interface: by an address that opens
 * for a minute.
 * @throws ApiError which has been toasted.
 */
export async function saveInvoice(id: string): Promise<void> {
  const input = { params: { id }, query: { language: currentLanguage() } }
  const { download_url: address, name } = await request(getInvoicePdf, input)
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
}
