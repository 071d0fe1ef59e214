import {
  chooseSettlement,
  confirmPaypalAccount,
  downloadReferralRecords,
  getReferral,
  listReferralOrders,
  listReferralQuarters,
  listReferralRecords,
  type PaypalAccount,
  REFERRAL_STATES,
  setPaypalAccount,
} from '@berth/contract/referral'
import { act, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { expect, test, vi } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { type Answers, answerCalls, InShell } from '../../gateway-fixture.tsx'
import { qrFile } from './qr-code.ts'
import { Page } from './ReferEarnPage.tsx'
import { madeOrder, madeQuarter, madeRecord, madeSummary } from './referral-fixture.ts'

const PAYPAL: PaypalAccount = {
  paypal_account: 'mira@example.org',
  state: 'unconfirmed',
  confirmed_at: null,
  mail_sent_at: '2026-11-19T10:00:00.000Z',
  mail_again_at: '2026-11-19T10:01:00.000Z',
  frozen_until: null,
}

test('[R2.28] [R3.13] the page says link, four figures, the quarter by both ways of settling, past ones and the steps', async () => {
  await open({
    [listReferralQuarters.operation]: () =>
      pageOf([
        madeQuarter(),
        madeQuarter({
          quarter: '2026-Q3',
          state: 'carried_over',
          carried_to: '2026-Q4',
          total_earnings_micro: '18400000',
        }),
        madeQuarter({
          quarter: '2026-Q2',
          state: 'paid',
          reward_type: 'cash',
          total_earnings_micro: '52100000',
          fee_micro: '10420000',
          settled_payout_micro: '41680000',
          paid_at: '2026-07-09T12:00:00.000Z',
        }),
      ]),
  })
  expect(
    (await screen.findByDisplayValue('https://berth.example/r/mira-4k7q')).hasAttribute('readonly'),
  ).toBe(true)
  for (const [name, value] of [
    ['Total earnings', '$83.35'],
    ['Settled', '$52.10'],
    ['Registered users', '11'],
    ['Effective consumers', '6'],
  ] as const) {
    expect(screen.getByText(name).parentElement?.textContent).toContain(value)
  }
  expect(screen.getByText('$12.85 so far and $18.40 carried over')).toBeTruthy()
  expect(screen.getByText('$31.25 credits')).toBeTruthy()
  expect(screen.getByText('$25.00 paid')).toBeTruthy()
  expect(screen.getByText(/20% fee, −\$6\.25/)).toBeTruthy()
  expect(await screen.findByText('carried over to Q4 2026')).toBeTruthy()
  expect(screen.getByText('cash, fee −$10.42')).toBeTruthy()
  expect(screen.getByText('$41.68 on 9 Jul 2026')).toBeTruthy()
  expect(screen.getByText('They top up $10.00, at once or bit by bit')).toBeTruthy()
})

test('[R4.9] [R2.28] each state of an invited user has its word, and what does not count says a fact', async () => {
  const rows = REFERRAL_STATES.map((state, index) =>
    madeRecord({
      id: `r-${index}`,
      state,
      state_reason: state === 'invalid' ? 'topup_returned' : null,
      ...(state === 'not_recharged' ? { paid_micro: '4000000' } : {}),
    }),
  )
  await open({ [listReferralRecords.operation]: () => pageOf(rows) })
  const table = await screen.findByRole('table', { name: 'Invited users' })
  for (const word of ['Not activated', 'Not recharged', 'Recharged', 'Invalid', 'top-up was refunded']) {
    expect(within(table).getByText(word)).toBeTruthy()
  }
  expect(within(table).getByText('$4.00 of the $10.00')).toBeTruthy()
})

test('[R2.28] lists, filters and their file are asked for the same, and stand in the address', async () => {
  const { page, sent } = await open({
    [listReferralRecords.operation]: () => pageOf([madeRecord()]),
    [listReferralOrders.operation]: () => pageOf([madeOrder()]),
    [downloadReferralRecords.operation]: () =>
      new Response('User\r\n', { headers: { 'content-type': 'text/csv; charset=utf-8' } }),
  })
  const last = (operation: string) =>
    sent.findLast(call => call.operation === operation)?.path.split('?')[1] ?? ''
  fireEvent.change(await screen.findByLabelText('State'), { target: { value: 'recharged' } })
  fireEvent.change(screen.getByLabelText('Quarter'), { target: { value: '2026-Q3' } })
  await waitFor(() => expect(page.search()).toContain('state=recharged'))
  await waitFor(() => expect(last(listReferralRecords.operation)).toContain('quarter=2026-Q3'))
  URL.createObjectURL ??= () => ''
  URL.revokeObjectURL ??= () => undefined
  const saved = vi.spyOn(URL, 'createObjectURL').mockReturnValue('blob:a')
  act(() => screen.getByRole('button', { name: 'Export CSV' }).click())
  await waitFor(() => expect(last(downloadReferralRecords.operation)).toBe('state=recharged&quarter=2026-Q3'))
  saved.mockRestore()
  act(() => screen.getByRole('radio', { name: /Order rewards/ }).click())
  await waitFor(() => expect(page.search()).toContain('list=orders'))
  // To the micro-unit, as the ledger has it.
  expect(await screen.findByText('+$0.166666')).toBeTruthy()
})

test('[R2.25] [R5.11] cash wants a PayPal account first: an empty one is refused at its field, and what was typed stays', async () => {
  const { sent } = await open({
    [setPaypalAccount.operation]: () => PAYPAL,
    [chooseSettlement.operation]: () => madeQuarter({ reward_type: 'cash' }),
  })
  act(() => screen.getByRole('radio', { name: /Cash by PayPal/ }).click())
  const dialog = await screen.findByRole('dialog', { name: 'Add PayPal' })
  const field = within(dialog).getByLabelText('PayPal account')
  act(() => within(dialog).getByRole('button', { name: 'Save' }).click())
  expect(await within(dialog).findByText('This is needed')).toBeTruthy()
  fireEvent.change(field, { target: { value: 'mira at home' } })
  act(() => within(dialog).getByRole('button', { name: 'Save' }).click())
  await waitFor(() => expect(field.getAttribute('aria-invalid')).toBe('true'))
  expect((field as HTMLInputElement).value).toBe('mira at home')
  expect(sent.some(({ operation }) => operation === setPaypalAccount.operation)).toBe(false)
  fireEvent.change(field, { target: { value: 'mira@example.org' } })
  act(() => within(dialog).getByRole('button', { name: 'Save' }).click())
  await waitFor(() =>
    expect(sent.some(({ operation }) => operation === setPaypalAccount.operation)).toBe(true),
  )
  // What was chosen before there was an account is chosen now.
  await waitFor(() =>
    expect(sent.find(({ operation }) => operation === chooseSettlement.operation)?.body).toEqual({
      reward_type: 'cash',
    }),
  )
})

test('[R2.25] a quarter that has ended asks how it is settled, in a dialog', async () => {
  const ended = madeQuarter({ quarter: '2026-Q3', state: 'choosing', amount_micro: '40000000' })
  const { sent } = await open({
    [getReferral.operation]: () =>
      madeSummary({ to_choose: [ended], paypal: { ...PAYPAL, state: 'confirmed' } }),
    [chooseSettlement.operation]: () => ({ ...ended, reward_type: 'cash' }),
  })
  act(() => screen.getByRole('button', { name: 'Choose' }).click())
  const dialog = await screen.findByRole('dialog', { name: 'Settle Q3 2026' })
  act(() =>
    within(dialog)
      .getByRole('radio', { name: /Cash by PayPal/ })
      .click(),
  )
  act(() => within(dialog).getByRole('button', { name: 'Settle this way' }).click())
  await waitFor(() => {
    const put = sent.find(({ operation }) => operation === chooseSettlement.operation)
    expect(put?.path).toBe('/gateway/api/referral/quarter/2026-Q3')
    expect(put?.body).toEqual({ reward_type: 'cash' })
  })
})

test('[R2.25] what was chosen of a quarter that has ended can be changed until it is paid', async () => {
  const due = madeQuarter({
    ...{ quarter: '2026-Q3', state: 'to_be_paid', amount_micro: '40000000', reward_type: 'cash' },
    ...{ payout_at: '2026-10-05T00:00:00.000Z', pending_payout_micro: '32000000' },
  })
  const { sent } = await open({
    [listReferralQuarters.operation]: () =>
      pageOf([madeQuarter(), due, { ...due, quarter: '2026-Q2', state: 'paying' as const }]),
    [chooseSettlement.operation]: () => ({ ...due, state: 'credited', reward_type: 'bonus' }),
  })
  const buttons = await screen.findAllByRole('button', { name: /^Change: / })
  expect(buttons.map(button => button.getAttribute('aria-label'))).toEqual(['Change: How Q3 2026 is settled'])
  act(() => buttons[0]?.click())
  const dialog = await screen.findByRole('dialog', { name: 'Settle Q3 2026' })
  act(() => within(dialog).getByRole('radio', { name: /Bonus/ }).click())
  act(() => within(dialog).getByRole('button', { name: 'Settle this way' }).click())
  await waitFor(() => {
    const put = sent.find(({ operation }) => operation === chooseSettlement.operation)
    expect(put?.path).toBe('/gateway/api/referral/quarter/2026-Q3')
    expect(put?.body).toEqual({ reward_type: 'bonus' })
  })
})

test('the link of the mail confirms the PayPal account once, and leaves the address', async () => {
  const { page, sent } = await open(
    { [confirmPaypalAccount.operation]: () => ({ ...PAYPAL, state: 'confirmed' }) },
    '?paypal=token-1',
  )
  await waitFor(() =>
    expect(sent.filter(({ operation }) => operation === confirmPaypalAccount.operation)).toHaveLength(1),
  )
  await waitFor(() => expect(page.search()).not.toContain('token-1'))
})

test('the saved code is dark on light, with the quiet border that readers want', () => {
  const file = qrFile('https://berth.example/r/mira-4k7q')
  expect(file).toContain('fill="#ffffff"')
  expect(file).toMatch(/d="M4 4h1v1h-1z/)
})

const pageOf = <Row,>(items: Row[]) => ({ items, total: items.length, page: 1, page_size: 20 })

async function open(answers: Answers = {}, at = '') {
  const { sent } = await answerCalls({
    [getReferral.operation]: () => madeSummary(),
    [listReferralRecords.operation]: () => pageOf([]),
    [listReferralOrders.operation]: () => pageOf([]),
    [listReferralQuarters.operation]: () => pageOf([madeQuarter()]),
    ...answers,
  })
  const page = await renderInPage(
    () => (
      <InShell>
        <Page />
      </InShell>
    ),
    { namespaces: ['refer'], at },
  )
  await screen.findByText('Your link')
  return { page, sent }
}
