import { getInvoicePdf, INVOICE_KINDS, type Invoice, listInvoices } from '@berth/contract/invoices'
import { act, fireEvent, screen, waitFor } from '@testing-library/react'
import { expect, onTestFinished, test, vi } from 'vitest'
import { setLanguage } from '../../../app/i18n.ts'
import { renderInPage } from '../../../component-fixture.tsx'
import { answerCalls, InShell } from '../../../gateway-fixture.tsx'
import { InvoicesCard } from './InvoicesCard.tsx'

const made = (index: number, about: Partial<Invoice> = {}): Invoice => ({
  id: `inv_${index}`,
  number: `2026-USD-00000${index}`,
  kind: 'topup',
  date: '2026-11-20T12:00:00.000Z',
  currency: 'USD',
  amount: 2_500,
  month: null,
  transaction_id: null,
  ...about,
})
const page = (items: Invoice[]) => ({ items, total: items.length, page: 1, page_size: 20 })

const Page = () => (
  <InShell>
    <InvoicesCard />
  </InShell>
)

test('[R3.10] [B23] documents are listed with number, kind and amount; a credit note is negative', async () => {
  const rows = INVOICE_KINDS.map((kind, index) =>
    made(index, {
      kind,
      amount: kind === 'refund' ? -1_000 : 2_500,
      month: kind === 'usage' ? '2026-10-01' : null,
    }),
  )
  await answerCalls({ [listInvoices.operation]: () => page(rows) })
  await renderInPage(Page, { namespaces: ['invoices', 'payments'] })
  const texts = (await screen.findAllByRole('row')).slice(1).map(row => row.textContent)
  expect(texts).toHaveLength(rows.length)
  for (const [index, words] of [
    'Top-up',
    'Usage in October 2026',
    'Credit note',
    'Refund returned',
  ].entries()) {
    expect(texts[index]).toContain(words)
    expect(texts[index]).toContain(`2026-USD-00000${index}`)
  }
  expect(texts[2]).toContain('−$10.00')
})

test('[B23] a document is saved under its number, in the language of the interface', async () => {
  const links: string[] = []
  const click = vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function (
    this: HTMLAnchorElement,
  ) {
    links.push(`${this.getAttribute('href')} ${this.download}`)
  })
  const answered = await answerCalls({
    [listInvoices.operation]: () => page([made(7)]),
    [getInvoicePdf.operation]: () => ({
      download_url: '/gateway/invoice-pdf/k.b',
      name: '2026-USD-000007.pdf',
    }),
  })
  await renderInPage(Page, { namespaces: ['invoices', 'payments'] })
  await screen.findByRole('button', { name: 'Save 2026-USD-000007 as PDF' })
  // Its texts are not loaded here: the button is found by what it is.
  const pressed = () => document.querySelector('[data-row-target]')
  await act(() => setLanguage('ko'))
  onTestFinished(async () => {
    click.mockRestore()
    await setLanguage('en')
  })
  await act(async () => fireEvent.click(pressed() as Element))
  await waitFor(() => expect(links).toEqual(['/gateway/invoice-pdf/k.b 2026-USD-000007.pdf']))
  const asked = answered.sent.filter(({ operation }) => operation === getInvoicePdf.operation)
  expect(asked.map(({ path }) => path)).toEqual([expect.stringMatching(/invoice\/inv_7\/pdf\?language=ko$/)])
})

test('[R2.27] who has no document yet is told when there is one', async () => {
  await answerCalls({ [listInvoices.operation]: () => page([]) })
  await renderInPage(Page, { namespaces: ['invoices', 'payments'] })
  expect(await screen.findByText('No invoices yet')).toBeTruthy()
})
