import { fireEvent, screen } from '@testing-library/react'
import { createRef } from 'react'
import { expect, test } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { answerCalls, InShell } from '../../gateway-fixture.tsx'
import { madeBalance } from './balance-fixture.ts'
import { NOTHING_TYPED, TopupForm } from './TopupForm.tsx'

const PLATFORM = { platform_name: 'testcard', display_name: 'Test card', test: true }

test('[R5.8] the limits of an amount are said, and one beyond them is not offered to be paid', async () => {
  await showForm()
  const amount = screen.getByRole('textbox', { name: /^Amount in USD/ })
  expect(screen.getByText('From $1.00 to $10,000.00')).toBeTruthy()
  for (const [typed, button] of [
    ['12.5', 'Pay $12.50 now'],
    ['0.99', 'Pay now'],
    ['10000.01', 'Pay now'],
    ['10000', 'Pay $10,000.00 now'],
    ['ten', 'Pay now'],
  ] as const) {
    fireEvent.change(amount, { target: { value: typed } })
    expect(screen.getByRole('button', { name: button })).toBeTruthy()
  }
  fireEvent.change(amount, { target: { value: '0.99' } })
  fireEvent.click(screen.getByRole('button', { name: 'Pay now' }))
  expect(await screen.findByText('Invalid amount')).toBeTruthy()
  expect((amount as HTMLInputElement).value).toBe('0.99')
})

test('[R2.22] [B4] the form says what the balance becomes, how long that lasts, and what zero means', async () => {
  const { account_balance } = madeBalance()
  await showForm(madeBalance({ account_balance: { ...account_balance, amount_owed: 1_000 } }))
  // Of 25.00 ten pay what is owed: 40.53 and 15.00 can be spent, and 41.87 and 15.00 last for 40 h at 1.40 an hour.
  expect(screen.getByText('Your balance becomes $55.53')).toBeTruthy()
  expect(screen.getByText(/^lasts 40 h/)).toBeTruthy()
  expect(screen.getByText('For 14 days')).toBeTruthy()
  expect(screen.getByText(/after 14 days, stopped pods after 30;.* 7, 3, and 1 days before/)).toBeTruthy()
  fireEvent.change(screen.getByRole('textbox', { name: /^Amount in USD/ }), { target: { value: '0.5' } })
  expect(screen.queryByText(/^Your balance becomes/)).toBeNull()
})

async function showForm(balance = madeBalance()) {
  const typed = { ...createRef(), current: { ...NOTHING_TYPED } }
  await answerCalls()
  const Page = () => (
    <InShell>
      <TopupForm
        platform={PLATFORM}
        balance={balance}
        typed={typed}
        onSettled={() => {}}
        onInFlight={() => {}}
      />
    </InShell>
  )
  await renderInPage(Page, { namespaces: ['payments'] })
}
