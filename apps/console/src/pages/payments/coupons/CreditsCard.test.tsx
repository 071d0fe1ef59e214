import { applyCoupon, type CreditLot, listCredits } from '@berth/contract/credits'
import { act, fireEvent, screen, waitFor } from '@testing-library/react'
import { expect, test } from 'vitest'
import { renderInPage } from '../../../component-fixture.tsx'
import { answerCalls, customer, InShell, Refusal } from '../../../gateway-fixture.tsx'
import { CreditsCard } from './CreditsCard.tsx'

const LOT: CreditLot = {
  id: '01890000-0000-7000-8000-000000000001',
  kind: 'coupon',
  reason: 'LAUNCH20',
  amount_micro: '20000000',
  used_micro: '13630000',
  currency: 'USD',
  status: 'active',
  left_micro: '6370000',
  effect_date: '2026-11-01T00:00:00.000Z',
  expiration_date: null,
  models_only: false,
}

async function show(items: CreditLot[], answers: Parameters<typeof answerCalls>[0] = {}, verified = true) {
  const list = { items, total: items.length, page: 1, page_size: 10, currency: 'USD', left_micro: '6370000' }
  const answered = await answerCalls(
    { [listCredits.operation]: () => list, ...answers },
    { user: customer({ emailVerified: verified }) },
  )
  const Page = () => (
    <InShell>
      <CreditsCard />
    </InShell>
  )
  await renderInPage(Page, { namespaces: ['coupons'] })
  return answered
}

test('[R3.8] credits say what is left of them, what they pay for, and when they end or ended', async () => {
  const ends = {
    id: 'b',
    kind: 'check_in',
    models_only: true,
    expiration_date: '2026-12-01T00:00:00.000Z',
  } as const
  const ended = { id: 'c', reason: 'SPRING5', status: 'expired', used_micro: '0', left_micro: '0' } as const
  await show([LOT, { ...LOT, ...ends }, { ...LOT, ...ends, ...ended, kind: 'coupon' }])
  const rows = (await screen.findAllByRole('listitem')).map(row => row.textContent)
  expect(rows[0]).toBe('LAUNCH20$6.37 of $20.00, no end')
  expect(rows[1]).toMatch(/^Check-ins\$6\.37 of \$20\.00, for models only, until /)
  expect(rows[2]).toMatch(/^SPRING5ended .*, \$0\.00 of it used$/)
  expect(screen.getByText('$6.37 left')).toBeTruthy()
})

test('[R3.6] [R3.8] what is left is rounded down, as the balance is: no cent shows that is not there', async () => {
  await show([], {
    [listCredits.operation]: () => ({
      ...{ items: [{ ...LOT, left_micro: '3396000' }], total: 1, page: 1, page_size: 10, currency: 'USD' },
      left_micro: '3896000',
    }),
  })
  expect((await screen.findByRole('listitem')).textContent).toBe('LAUNCH20$3.39 of $20.00, no end')
  expect(screen.getByText('$3.89 left')).toBeTruthy()
})

test('[R3.8] a refused code stays in its field, and the reason is said', async () => {
  const { sent } = await show([], { [applyCoupon.operation]: () => new Refusal([]) })
  const field = await screen.findByLabelText<HTMLInputElement>('Coupon code')
  fireEvent.change(field, { target: { value: 'launch20' } })
  await act(async () => fireEvent.click(screen.getByRole('button', { name: 'Redeem' })))
  await waitFor(() => expect(screen.getByRole('alert')).toBeTruthy())
  expect(sent.find(({ operation }) => operation === applyCoupon.operation)?.body).toEqual({
    code: 'launch20',
  })
  expect(field.value).toBe('launch20')
})

test('[R3.8] a redeemed code leaves the field empty for the next', async () => {
  await show([], { [applyCoupon.operation]: () => LOT })
  const field = await screen.findByLabelText<HTMLInputElement>('Coupon code')
  fireEvent.change(field, { target: { value: 'launch20' } })
  await act(async () => fireEvent.click(screen.getByRole('button', { name: 'Redeem' })))
  await waitFor(() => expect(field.value).toBe(''))
})

test('[R4.2] without a verified address nothing is redeemed', async () => {
  await show([LOT], {}, false)
  expect((await screen.findByRole('button', { name: 'Redeem' })).getAttribute('aria-disabled')).toBe('true')
})
