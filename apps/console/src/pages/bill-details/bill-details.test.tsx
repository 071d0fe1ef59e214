import {
  type Bill,
  type BillStretch,
  downloadBill,
  getBill,
  getBillLine,
  getBillMonths,
} from '@berth/contract/bills'
import { getBillingAddress, getInvoicePdf, listInvoices } from '@berth/contract/invoices'
import { cleanup, screen, waitFor, within } from '@testing-library/react'
import { expect, onTestFinished, test, vi } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { type Answers, answerCalls, InShell, Refusal } from '../../gateway-fixture.tsx'
import { Page } from './BillDetailsPage.tsx'
import { monthAfter, monthBefore, monthsToChoose } from './months.ts'

const SUMS = { amount_micro: '1500000', cash_micro: '500000', credits_micro: '1000000', waived_micro: '0' }
const PART = { usage: 'compute', stretches: 1, seconds: 5_400, ...SUMS } as const
const SUBJECT = {
  kind: 'instance',
  id: 'i-1',
  name: 'llama',
  gpu_spec_name: 'RTX 4090',
  gpu_count: 2,
  instance_name: null,
} as const
const LINE: Bill['items'][number] = {
  id: 'instance:i-1',
  subject: SUBJECT,
  date: null,
  usage: 'compute',
  parts: [PART],
  stretches: 1,
  seconds: 5_400,
  ...SUMS,
  from: '2026-03-10T12:00:00.000Z',
  until: '2026-03-10T13:30:00.000Z',
}
const BILL: Bill = {
  month: '2026-03',
  from: '2026-03-01T00:00:00.000Z',
  until: '2026-04-01T00:00:00.000Z',
  currency: 'USD',
  sum: SUMS,
  kinds: [PART],
  items: [LINE],
  total: 1,
  page: 1,
  page_size: 20,
}
const DAY = { ...LINE, id: '2026-03-10', subject: null, date: '2026-03-10', usage: null }
const STRETCH: BillStretch = {
  receipt_id: 'u_1',
  subject: SUBJECT,
  usage: 'compute',
  charge: 'by_time',
  started_at: LINE.from,
  ended_at: LINE.until,
  from: LINE.from,
  until: LINE.until,
  began_by: 'ready',
  ended_by: 'stopped_by_customer',
  seconds: 5_400,
  rate_micro: '1000000',
  rate_seconds: 3_600,
  meters: [{ label: 'RTX 4090', unit: 'hour', quantity: 2, rate_micro: '500000' }],
  ...SUMS,
}

test('[R2.4] [R7.5] [B2] a month shows its sum by kind and its lines; a line opens in place to its receipt, and closes again', async () => {
  const { page } = await open()
  expect(await screen.findByText('Paid with $1.00 of credits and $0.50 of cash.')).toBeTruthy()
  expect(screen.getByText(/^1 Mar.* to 1 Apr.*, UTC$/)).toBeTruthy()
  const opener = screen.getByRole('button', { name: 'Open llama' })
  expect(opener.getAttribute('aria-expanded')).toBe('false')
  opener.focus()
  opener.click()
  const part = await screen.findByRole('region', { name: 'What llama is made of' })
  expect(opener.getAttribute('aria-expanded')).toBe('true')
  expect(opener.getAttribute('aria-controls')).toBe(part.id)
  expect(document.activeElement).toBe(opener)
  expect(page.search()).toContain('line=instance')
  const opened = within(part)
  expect(await opened.findByText('2 × RTX 4090 at $0.50 an hour')).toBeTruthy()
  const texts = opened.getAllByRole('cell').map(cell => cell.textContent)
  expect(texts[1]).toContain('13:30:00')
  expect(texts[2]).toContain('5,400')
  expect(texts[3]).toBe('$1.0000 /h')
  expect(texts[4]).toContain('Stopped by you')
  expect(texts[5]).toBe('$1.500000')
  expect(opened.getByText(/Paid with \$1\.00 of credits and \$0\.50 of cash\./)).toBeTruthy()
  opened.getByRole('button', { name: /^Receipt of 10 Mar/ }).click()
  await waitFor(() => expect(page.search()).toContain('receipt=u_1'))
  await page.go('?month=2026-03&line=instance:i-1')
  screen.getByRole('button', { name: 'Open llama' }).click()
  await waitFor(() => expect(screen.queryByRole('region')).toBeNull())
  expect(page.search()).toBe('?month=2026-03')
})

test('[B2] what was counted is told by its number and price, and not by seconds', async () => {
  const meters = [{ label: 'One, input', unit: 'million_tokens', quantity: 8, rate_micro: '150000' }]
  const items = [
    { ...STRETCH, usage: 'model', charge: 'once', seconds: 0, began_by: null, ended_by: null, meters },
  ]
  const answer = { currency: 'USD', line: LINE, items, total: 1, page: 1, page_size: 20 }
  await open({ [getBillLine.operation]: () => answer }, '?month=2026-03&line=instance:i-1')
  const part = await screen.findByRole('region', { name: 'What llama is made of' })
  const cells = await within(part).findAllByRole('cell')
  const texts = cells.map(cell => cell.textContent)
  // Where the table is narrow, and where it is not.
  expect(texts[2]).toBe('One, input: 8 tokens at $0.15 per million')
  expect(texts[4]).toContain('One, input: 8 tokens at $0.15 per million')
  expect(part.textContent).toContain('Quantity × rate.')
  expect(part.textContent).not.toContain('Seconds ×')
})

test('[B2] a line of models says how many calls there were, one of machines how many intervals', async () => {
  const calls = { ...LINE, id: 'model', usage: 'model', stretches: 2, seconds: 0 }
  await open({ [getBill.operation]: () => ({ ...BILL, items: [LINE, calls], total: 2 }) })
  await screen.findByText('2 calls')
  expect(screen.getByText('1 interval')).toBeTruthy()
})

test('[B2] a link opens a line, also one that is on another page by now; one that is not there opens nothing', async () => {
  const { page } = await open({}, '?month=2026-03&line=instance:i-1&group=day')
  expect(await screen.findByRole('button', { name: 'Open llama' })).toBeTruthy()
  expect((await screen.findAllByText(/^llama: Stopped by you$/)).length).toBe(2)
  cleanup()
  await open(
    { [getBillLine.operation]: () => new Refusal([], 'not_found', 404) },
    '?month=2026-03&line=instance:i-2',
  )
  expect(await screen.findByRole('button', { name: 'Open llama' })).toBeTruthy()
  expect(screen.queryByRole('region')).toBeNull()
  expect(page.search()).toContain('line=')
})

test('[B23] [R3.10] a month names its invoices and saves each; one that goes on says when its own comes, and to whom', async () => {
  const made = { currency: 'USD', transaction_id: null, date: '2026-04-01T00:05:00.000Z' } as const
  const items = [
    { ...made, id: 'inv_2', number: '2026-USD-000002', kind: 'usage', amount: 150, month: '2026-03-01' },
    { ...made, id: 'inv_1', number: '2026-USD-000001', kind: 'topup', amount: 2_500, month: null },
  ]
  const { sent } = await open({
    [listInvoices.operation]: ({ path }) => ({
      items: path.includes('month=2026-03') ? items : [],
      total: path.includes('month=2026-03') ? 6 : 0,
      page: 1,
      page_size: 4,
    }),
    [getInvoicePdf.operation]: () => ({
      download_url: '/gateway/invoice-pdf/k.b',
      name: '2026-USD-000002.pdf',
    }),
  })
  expect(await screen.findByText('Usage in March 2026')).toBeTruthy()
  expect(screen.getByText('2026-USD-000001')).toBeTruthy()
  expect(screen.getByText('4 more are on the page of payments.')).toBeTruthy()
  const saved = keepSaved()
  screen.getByRole('button', { name: 'Save 2026-USD-000002 as PDF' }).click()
  await waitFor(() => expect(saved).toEqual(['2026-USD-000002.pdf']))
  expect(sent.at(-1)?.path).toContain('invoice/inv_2/pdf')
  cleanup()
  await open({}, '')
  expect(await screen.findByText(/It has no name or address yet\./)).toBeTruthy()
  expect(screen.getByRole('link', { name: 'Add them' }).getAttribute('href')).toBe(
    '/settings?section=billing',
  )
})

test('[R7.5] lines are grouped and searched for in the address, and the file is of the same', async () => {
  const { sent } = await open({}, '?month=2026-03&q=llama&group=kind')
  await screen.findByRole('button', { name: 'Open llama' })
  const asked = sent.filter(({ operation }) => operation === getBill.operation).map(({ path }) => path)
  expect(asked).toContain('/gateway/api/bill/order?month=2026-03&group=kind&search=llama')
  const saved = keepSaved()
  screen.getByRole('button', { name: 'Export CSV' }).click()
  await waitFor(() => expect(saved).toEqual(['usage-2026-03.csv']))
  expect(sent.at(-1)?.path).toBe('/gateway/api/bill/order/download?month=2026-03&search=llama')
})

test('a month without usage says so, and a search that finds nothing says that', async () => {
  const nothing = { ...BILL, items: [], kinds: [], total: 0, sum: { ...SUMS, amount_micro: '0' } }
  const { page } = await open({ [getBill.operation]: () => nothing })
  expect((await screen.findAllByText('Nothing was used in this month')).length).toBeGreaterThan(0)
  await page.go('?month=2026-03&q=none')
  expect(await screen.findByText('Nothing fits this search')).toBeTruthy()
})

test('a bill that could not be read says why and is asked for again; a file that was refused is not saved', async () => {
  let refused = true
  const refusal = () => new Refusal([], 'internal', 400)
  await open({
    [getBill.operation]: sent => (refused ? refusal() : answerBill(sent)),
    [downloadBill.operation]: refusal,
  })
  const [again] = await screen.findAllByRole('button', { name: 'Try again' })
  const saved = keepSaved()
  screen.getByRole('button', { name: 'Export CSV' }).click()
  refused = false
  again?.click()
  expect(await screen.findByText('Paid with $1.00 of credits and $0.50 of cash.')).toBeTruthy()
  expect(saved).toEqual([])
})

test('[R7.5] months to choose are those with usage, this one and the one that is shown', () => {
  const now = new Date('2026-11-20T12:00:00Z')
  expect(monthsToChoose(['2026-10', '2026-01'], '2025-12', now)).toEqual([
    '2026-11',
    '2026-10',
    '2026-01',
    '2025-12',
  ])
  expect([monthAfter('2026-12'), monthAfter('2026-01')]).toEqual(['2027-01', '2026-02'])
  expect([monthBefore('2026-01'), monthBefore('2000-01')]).toEqual(['2025-12', null])
})

const answerBill: Answers[string] = ({ path }) =>
  path.includes('group=day') ? { ...BILL, items: [DAY] } : BILL

async function open(answers: Answers = {}, at = '?month=2026-03') {
  const { sent } = await answerCalls({
    [getBillMonths.operation]: () => ({ currency: 'USD', months: [{ month: '2026-03', ...SUMS }] }),
    [getBill.operation]: answerBill,
    [getBillLine.operation]: () => ({
      currency: 'USD',
      line: LINE,
      items: [STRETCH],
      total: 1,
      page: 1,
      page_size: 20,
    }),
    [listInvoices.operation]: () => ({ items: [], total: 0, page: 1, page_size: 4 }),
    [getBillingAddress.operation]: () => ({ name: '', address: '', tax_id: '' }),
    [downloadBill.operation]: () =>
      new Response('Day\r\n', { headers: { 'content-type': 'text/csv; charset=utf-8' } }),
    ...answers,
  })
  const page = await renderInPage(
    () => (
      <InShell>
        <Page />
      </InShell>
    ),
    { namespaces: ['bills', 'payments', 'invoices', 'events', 'terms-of-payment'], at },
  )
  return { page, sent }
}

/** The names under which files are saved from here on. */
function keepSaved(): string[] {
  const saved: string[] = []
  URL.createObjectURL ??= () => ''
  URL.revokeObjectURL ??= () => undefined
  const spies = [
    vi.spyOn(URL, 'createObjectURL').mockReturnValue('blob:a'),
    vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function (this: HTMLAnchorElement) {
      saved.push(this.download)
    }),
  ]
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore()
  })
  return saved
}
