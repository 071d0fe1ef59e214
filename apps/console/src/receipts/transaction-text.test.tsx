import type { Transaction } from '@berth/contract/billing'
import { screen } from '@testing-library/react'
import { expect, test } from 'vitest'
import { renderInPage } from '../component-fixture.tsx'
import { useTransactionText } from './transaction-text.ts'

const CARD = { brand: 'Visa', last4: '3155' }

test('[R3.10] a payment says who is to act next, and the words around its card are ours', async () => {
  const waits = ['customer', 'platform', 'bank', null] as const
  await show(waits.map(waits_for => row({ status: waits_for ? 'pending' : 'settled', about: { waits_for } })))
  expect(screen.getAllByRole('heading').map(({ textContent }) => textContent)).toEqual(
    waits.map(() => 'Top-up, Visa ending 3155'),
  )
  const seconds = screen.getAllByRole('listitem').map(({ textContent }) => textContent)
  expect(seconds).toEqual([
    'waits for your confirmation',
    'being sent to the payment platform',
    'on its way from your bank, which may take days',
    'settled',
  ])
})

test('[R3.9] a top-up that nobody pressed for says that it came by itself, and with which card', async () => {
  await show([row({ about: { origin: 'auto' } }), row({ about: { origin: 'customer' } })])
  expect(screen.getAllByRole('heading').map(({ textContent }) => textContent)).toEqual([
    'Auto top-up, Visa ending 3155',
    'Top-up, Visa ending 3155',
  ])
})

test('[R3.10] a refund that did not arrive is not called one that did', async () => {
  await show([row({ type: 'refund' }), row({ type: 'refund', status: 'failed' })])
  const [arrived, failed] = screen.getAllByRole('listitem').map(({ textContent }) => textContent)
  expect(arrived).toBe('given back to where it came from')
  expect(failed).toContain('did not arrive')
})

test('[R3.10] a dispute is not called a refund, and says what it waits for or that it has ended', async () => {
  const about = { refund_reason: 'dispute' } as const
  await show([
    row({ type: 'refund', about }),
    row({ type: 'refund', about, pending_amount_micro: '-5000000' }),
    row({ type: 'refund', about, status: 'failed' }),
  ])
  expect(screen.getAllByRole('heading')[0]?.textContent).toBe('Disputed payment, Visa ending 3155')
  const [held, owed, won] = screen.getAllByRole('listitem').map(({ textContent }) => textContent)
  expect(held).toContain('until the dispute is decided')
  expect(owed).toContain('$5.00 of it was spent already')
  expect(won).toContain('gave it back')
})

function show(rows: Transaction[]) {
  return renderInPage(
    function Rows() {
      const textOf = useTransactionText()
      return rows.map((one, at) => (
        <section key={String(at)}>
          <h2>{textOf(one).title}</h2>
          <li>{textOf(one).second}</li>
        </section>
      ))
    },
    { namespaces: ['payments'] },
  )
}

interface Changes extends Partial<Omit<Transaction, 'about'>> {
  about?: Partial<Transaction['about']>
}

function row({ about, ...rest }: Changes): Transaction {
  return {
    type: 'topup',
    status: 'settled',
    currency: 'USD',
    pending_amount_micro: '0',
    ...rest,
    about: { card: CARD, waits_for: null, failure: null, ...about },
  } as Transaction
}
