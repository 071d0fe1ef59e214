import type { Transaction } from '@berth/contract/billing'
import { screen } from '@testing-library/react'
import { expect, test } from 'vitest'
import { renderInPage } from '../component-fixture.tsx'
import { TransactionAmount } from './TransactionAmount.tsx'

const AMOUNT: Partial<Transaction> = {
  type: 'topup',
  status: 'settled',
  currency: 'USD',
  amount_micro: '40000000',
  pending_amount_micro: '0',
  about: { refund_reason: null } as Transaction['about'],
}

test('[R3.10] money is shown as come in once it has, not while it is on its way', async () => {
  await show([{}, { status: 'pending' }])
  const [settled, onItsWay] = amounts()
  expect(settled).toBe('+$40.00')
  expect(onItsWay).toBe('$40.00')
})

test('[R3.10] a payment that failed shows no amount, and a refund that failed is not called a charge', async () => {
  await show([{ status: 'failed' }, { type: 'refund', status: 'failed', amount_micro: '-40000000' }])
  expect(amounts()).toEqual(['Not charged', 'Not given back'])
})

function amounts() {
  return screen.getAllByRole('listitem').map(({ textContent }) => textContent)
}

function show(changes: Partial<Transaction>[]) {
  return renderInPage(
    () =>
      changes.map((change, at) => (
        <li key={String(at)}>
          <TransactionAmount row={{ ...AMOUNT, ...change } as Transaction} />
        </li>
      )),
    { namespaces: ['payments'] },
  )
}
