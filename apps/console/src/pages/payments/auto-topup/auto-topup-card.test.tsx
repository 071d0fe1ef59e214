import { type AutoTopup, getAutoTopup, setAutoTopup } from '@berth/contract/auto-topup'
import { listPaymentMethods } from '@berth/contract/payment-methods'
import { act, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { expect, onTestFinished, test, vi } from 'vitest'
import { renderInPage } from '../../../component-fixture.tsx'
import { type Answers, answerCalls, customer, InShell, Refusal } from '../../../gateway-fixture.tsx'
import { madeMethod } from '../methods/method-fixture.ts'
import { REFRESH_MS } from '../refresh.ts'
import { AutoTopupCard } from './AutoTopupCard.tsx'

const VISA = { brand: 'Visa', last4: '4242' }
const ON: AutoTopup = {
  enabled: true,
  threshold: 1_000,
  amount: 5_000,
  monthly_cap: 20_000,
  payment_method_id: null,
  currency: 'USD',
  status: 'waiting',
  card: VISA,
  charged_this_month: 10_000,
  next_try_at: null,
  refused_at: null,
  refused_card: null,
  refused_for: null,
}
const OFF: AutoTopup = { ...ON, enabled: false, status: 'off', charged_this_month: 0 }
const REFUSED = {
  refused_at: '2026-11-19T21:04:00.000Z',
  refused_card: { brand: 'Mastercard', last4: '4444' },
  refused_for: 'card_declined',
}

async function show(auto: AutoTopup, answers: Answers = {}, verified = true) {
  const { sent } = await answerCalls(
    {
      [getAutoTopup.operation]: () => auto,
      [listPaymentMethods.operation]: () => [madeMethod()],
      ...answers,
    },
    { user: customer({ emailVerified: verified }) },
  )
  const Page = () => (
    <InShell>
      <AutoTopupCard />
    </InShell>
  )
  await renderInPage(Page, { namespaces: ['methods', 'payments'] })
  return { set: () => sent.filter(({ operation }) => operation === setAutoTopup.operation) }
}

test('[R3.9] it says what it charges and when, and what of its cap is charged this month', async () => {
  await show(ON)
  expect(await screen.findByText(/^Below \$10\.00, charges \$50\.00 to Visa ending 4242\./)).toBeTruthy()
  expect(screen.getByText('$100.00 of $200.00 charged this month')).toBeTruthy()
  expect(screen.getByRole<HTMLInputElement>('switch', { name: 'Auto top-up' }).checked).toBe(true)
})

test.each([
  [
    { status: 'backing_off', next_try_at: '2026-11-20T21:04:00.000Z', ...REFUSED },
    /Mastercard ending 4444 was not charged\. The card was declined.* It tries again /,
  ],
  [
    { status: 'capped', next_try_at: '2026-12-01T00:00:00.000Z' },
    /^The cap of this month is reached: it goes on /,
  ],
  [{ status: 'declined', enabled: false, ...REFUSED }, /turned itself off after 3 declines in a row/],
  [{ status: 'charging' }, /^It is charging now/],
] as const)('[R3.9] it says what stopped it, and until when: %j', async (about, says) => {
  await show({ ...ON, ...about })
  expect(await screen.findByText(says)).toBeTruthy()
})

test('[R3.9] a charge that was refused meanwhile stands on the card that is looked at', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  let auto: AutoTopup = ON
  await show(ON, { [getAutoTopup.operation]: () => auto })
  await screen.findByText(/^Below \$10\.00/)
  auto = { ...ON, status: 'backing_off', next_try_at: '2026-11-20T21:04:00.000Z', ...REFUSED }
  await act(() => vi.advanceTimersByTimeAsync(REFRESH_MS))
  expect(await screen.findByText(/Mastercard ending 4444 was not charged/)).toBeTruthy()
})

test('[R3.9] it is turned off at once, and what was set stays', async () => {
  const { set } = await show(ON)
  await act(async () => fireEvent.click(await screen.findByRole('switch', { name: 'Auto top-up' })))
  await waitFor(() => expect(set()).toHaveLength(1))
  expect(set()[0]?.body).toEqual({
    enabled: false,
    threshold: 1_000,
    amount: 5_000,
    monthly_cap: 20_000,
    payment_method_id: null,
  })
})

test('[R3.9] turning it on asks how much it may charge; a cap below one charge and a refusal keep what was typed', async () => {
  const { set } = await show(OFF, { [setAutoTopup.operation]: () => new Refusal([], 'card_expired') })
  fireEvent.click(await screen.findByRole('switch', { name: 'Auto top-up' }))
  expect(set()).toEqual([])
  const dialog = await screen.findByRole('dialog')
  const cap = await within(dialog).findByLabelText<HTMLInputElement>('At most in a month, USD')
  const send = () => act(async () => fireEvent.click(within(dialog).getByRole('button', { name: 'Turn on' })))
  fireEvent.change(cap, { target: { value: '20' } })
  await send()
  expect(await within(dialog).findByText('At least as much as one charge.')).toBeTruthy()
  expect(set()).toEqual([])
  fireEvent.change(cap, { target: { value: '75,5' } })
  await send()
  await waitFor(() => expect(within(dialog).getByRole('alert').textContent).not.toBe(''))
  expect(set()[0]?.body).toEqual({
    enabled: true,
    threshold: 1_000,
    amount: 5_000,
    monthly_cap: 7_550,
    payment_method_id: null,
  })
  expect(cap.value).toBe('75,5')
})

test('[R3.9] with nothing to charge it cannot be turned on, and says what is missing', async () => {
  await show({ ...OFF, card: null })
  const button = await screen.findByRole('button', { name: 'Set up' })
  expect(button.getAttribute('aria-disabled')).toBe('true')
  expect(screen.getByRole<HTMLInputElement>('switch', { name: 'Auto top-up' }).disabled).toBe(true)
})

test('[R4.2] without a verified address it is neither turned on nor off', async () => {
  const { set } = await show(ON, {}, false)
  expect((await screen.findByRole('button', { name: 'Change' })).getAttribute('aria-disabled')).toBe('true')
  expect(screen.getByRole<HTMLInputElement>('switch', { name: 'Auto top-up' }).disabled).toBe(true)
  expect(set()).toEqual([])
})
