import { getBalance } from '@berth/contract/billing'
import { previewBilling, renewInstance, toggleSubscription } from '@berth/contract/instance-terms'
import { act, fireEvent, screen, waitFor } from '@testing-library/react'
import type { FunctionComponent } from 'react'
import { expect, test } from 'vitest'
import { renderInPage } from '../component-fixture.tsx'
import { answerCalls, InShell } from '../gateway-fixture.tsx'
import { sampleOf } from '../schema-fixture.ts'
import { BillingDialog } from './BillingDialog.tsx'
import { madeInstance } from './instance-fixture.ts'
import { RenewDialog } from './TermDialogs.tsx'

/** Opens a dialog of somebody who has so many cents to spend; a term costs 12.09, and 2.00 of the one before come back. */
async function open(Dialog: FunctionComponent, availableCents: number) {
  const balance = sampleOf(getBalance.data) as { account_balance: object }
  const { sent } = await answerCalls({
    [getBalance.operation]: () => ({
      ...balance,
      // What is for models alone, and what is reserved, pays for no term.
      account_balance: {
        ...balance.account_balance,
        ...{ amount: availableCents + 634, amount_available: availableCents + 500 },
        ...{ amount_free: 500, amount_freeze: 134 },
      },
    }),
    [previewBilling.operation]: () => ({
      ...(sampleOf(previewBilling.data) as object),
      currency: 'USD',
      price_micro: '12090000',
      cost_micro: '12090000',
      back_micro: '2000000',
      reserve_micro: '0',
      expiry_time: '2026-12-20T12:00:00.000Z',
      refused: null,
    }),
  })
  await renderInPage(
    () => (
      <InShell>
        <Dialog />
      </InShell>
    ),
    { namespaces: ['terms-of-payment', 'instances'] },
  )
  await screen.findByText(/\$12\.09/)
  return sent
}

const nothing = () => undefined
const inTerm = madeInstance({ billing_type: 'prepay', charge_cycle: 'monthly' })
const DIALOGS = [
  [
    'Change',
    toggleSubscription,
    () => <BillingDialog instance={madeInstance({})} opened onClose={nothing} />,
  ],
  ['Renew now', renewInstance, () => <RenewDialog instance={inTerm} opened onClose={nothing} />],
] as const

test.each(DIALOGS)(
  '[R4.3] [B4] what the balance does not cover cannot be confirmed, and the way to top up stands there: %s',
  async (name, _, Dialog) => {
    await open(Dialog, 1_008)
    expect(await screen.findByText(/The balance does not cover that/)).toBeTruthy()
    expect(screen.getByRole('link', { name: 'Top up' }).getAttribute('href')).toMatch(
      /^\/payments.*topup=open/,
    )
    expect(screen.getByRole<HTMLButtonElement>('button', { name }).disabled).toBe(true)
  },
)

test.each(DIALOGS)('[R4.3] what it just covers can be: %s', async (name, call, Dialog) => {
  const sent = await open(Dialog, 1_009)
  const button = await screen.findByRole<HTMLButtonElement>('button', { name })
  await waitFor(() => expect(button.disabled).toBe(false))
  expect(screen.queryByText(/does not cover/)).toBeNull()
  await act(async () => fireEvent.click(button))
  await waitFor(() => expect(sent.map(({ operation }) => operation)).toContain(call.operation))
})
