import {
  getReceipt,
  listPayPlatforms,
  listTransactions,
  type Transaction,
  transaction,
} from '@berth/contract/billing'
import { listPaymentMethods } from '@berth/contract/payment-methods'
import { downloadTransactions } from '@berth/contract/transaction-filters'
import { act, fireEvent, screen, waitFor } from '@testing-library/react'
import { expect, onTestFinished, test, vi } from 'vitest'
import { renderInPage } from '../../../component-fixture.tsx'
import { type Answers, answerCalls, InShell, Refusal } from '../../../gateway-fixture.tsx'
import { madeMethod } from '../methods/method-fixture.ts'
import { TransactionList } from './TransactionList.tsx'
import { queryOfSearch, transactionSearch } from './transaction-search.ts'

const CARD_ID = 'm_01890000-0000-7000-8000-000000000001'
const NOTHING = Object.fromEntries(Object.keys(transaction.shape.about.shape).map(key => [key, null]))
const DECLINED = {
  id: 't_01890000-0000-7000-8000-000000000002',
  date: '2026-11-19T21:04:00.000Z',
  type: 'topup',
  status: 'failed',
  currency: 'USD',
  amount_micro: '50000000',
  cash_amount_micro: '0',
  bonus_amount_micro: '0',
  coupon_amount_micro: '0',
  pending_amount_micro: '0',
  invoice: null,
  about: { ...NOTHING, card: { brand: 'Visa', last4: '0002' }, origin: 'auto', failure: 'card_declined' },
} as Transaction

test('[R3.10] attempts that took nothing are one choice, and say so', async () => {
  const { page, asked } = await open()
  act(() => screen.getByRole('radio', { name: 'Not charged' }).click())
  await waitFor(() => expect(page.search()).toContain('state=not_charged'))
  await waitFor(() => expect(asked()).toContain('state=not_charged'))
  expect(await screen.findByText('nothing taken')).toBeTruthy()
  expect(screen.getByText('Auto top-up, Visa ending 0002')).toBeTruthy()
  act(() => screen.getByRole('radio', { name: 'Usage' }).click())
  await waitFor(() => expect(asked()).toContain('type=usage'))
  expect(page.search()).not.toContain('not_charged')
})

test('[R3.10] state, card, period and search stand in the address, and list and file are asked for the same', async () => {
  const at = `?state=settled&method=${CARD_ID}&from=2026-11-01&to=2026-11-19&q=12.30`
  const { sent, asked } = await open({}, at)
  await screen.findByText('Auto top-up, Visa ending 0002')
  // An address that narrows has its fields in sight.
  expect((screen.getByLabelText('State') as HTMLSelectElement).value).toBe('settled')
  await waitFor(() => expect((screen.getByLabelText('Paid with') as HTMLSelectElement).value).toBe(CARD_ID))
  expect((screen.getByLabelText('From day') as HTMLInputElement).value).toBe('2026-11-01')
  const query = new URLSearchParams(
    queryOfSearch(transactionSearch.parse(Object.fromEntries(new URLSearchParams(at)))),
  )
  expect([...query.keys()].sort()).toEqual(['from', 'method_id', 'search', 'state', 'until'])
  expect(asked()).toBe(query.toString())
  const saved = keepSaved()
  screen.getByRole('button', { name: 'Export CSV' }).click()
  await waitFor(() => expect(saved).toEqual(['transactions.csv']))
  const file = sent.findLast(({ operation }) => operation === downloadTransactions.operation)
  expect(file?.path).toBe(`/gateway/api/bill/transaction/download?${query}`)
})

test('[R3.10] the last day of a period is in it, to the midnight of the reader after it', async () => {
  const search = transactionSearch.parse({ from: '2026-10-25', to: '2026-10-25' })
  expect(queryOfSearch(search)).toEqual({
    from: new Date(2026, 9, 25).toISOString(),
    until: new Date(2026, 9, 26).toISOString(),
  })
  expect(transactionSearch.parse({ from: '2026-02-30', to: 'x', method: 'javascript:', state: 'x' })).toEqual(
    transactionSearch.parse({}),
  )
})

test('a period that ends before it begins says so at its field; a day that is being typed narrows nothing and stays', async () => {
  const { page, asked } = await open({}, '?from=2026-11-10&to=2026-11-09')
  expect(await screen.findByText('This day is before the first one.')).toBeTruthy()
  const from = screen.getByLabelText('From day') as HTMLInputElement
  fireEvent.change(from, { target: { value: '0020-11-10' } })
  await waitFor(() => expect(page.search()).not.toContain('from='))
  expect(page.search()).toContain('to=2026-11-09')
  expect(from.value).toBe('0020-11-10')
  expect(asked()).not.toContain('from=')
  act(() => screen.getByRole('button', { name: 'Clear filters' }).click())
  await waitFor(() => expect(page.search()).not.toContain('to='))
})

test('filters are shown and hidden by their button; a file that was refused is not saved', async () => {
  await open({ [downloadTransactions.operation]: () => new Refusal([], 'internal', 400) })
  await screen.findByText('Auto top-up, Visa ending 0002')
  const button = screen.getByRole('button', { name: 'Filters' })
  expect(screen.queryByLabelText('State')).toBeNull()
  act(() => button.click())
  expect(button.getAttribute('aria-expanded')).toBe('true')
  expect(screen.getByLabelText('State')).toBeTruthy()
  const saved = keepSaved()
  act(() => screen.getByRole('button', { name: 'Export CSV' }).click())
  await waitFor(() =>
    expect(screen.getByRole('button', { name: 'Export CSV' }).hasAttribute('data-loading')).toBe(false),
  )
  expect(saved).toEqual([])
})

async function open(answers: Answers = {}, at = '') {
  const { sent } = await answerCalls({
    [listTransactions.operation]: () => ({ items: [DECLINED], total: 1, page: 1, page_size: 20 }),
    [listPaymentMethods.operation]: () => [madeMethod({ id: CARD_ID })],
    [listPayPlatforms.operation]: () => [],
    [getReceipt.operation]: () => new Refusal([], 'not_found', 404),
    [downloadTransactions.operation]: () =>
      new Response('Date\r\n', { headers: { 'content-type': 'text/csv; charset=utf-8' } }),
    ...answers,
  })
  const page = await renderInPage(
    () => (
      <InShell>
        <TransactionList />
      </InShell>
    ),
    { namespaces: ['payments', 'transactions', 'terms-of-payment'], at },
  )
  const asked = () =>
    sent.findLast(({ operation }) => operation === listTransactions.operation)?.path.split('?')[1] ?? ''
  return { page, sent, asked }
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
