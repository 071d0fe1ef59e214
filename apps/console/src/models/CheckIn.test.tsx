import { type CheckInState, checkIn, getCheckIn } from '@berth/contract/check-in'
import { act, screen, waitFor } from '@testing-library/react'
import { expect, test } from 'vitest'
import { renderInPage } from '../component-fixture.tsx'
import { answerCalls, customer, InShell, Refusal } from '../gateway-fixture.tsx'
import { CheckIn } from './CheckIn.tsx'

const OPEN: CheckInState = {
  ...{ offered: true, amount_micro: '50000', currency: 'USD', credit_days: 7 },
  ...{ done: false, streak: 3, next_at: null },
}
const DONE: CheckInState = { ...OPEN, done: true, streak: 4, next_at: '2026-11-28T00:00:00.000Z' }

test('[R1.5] the credit of today is taken by one press, in the zone of this device', async () => {
  let state = OPEN
  const { sent } = await open(
    () => state,
    () => (state = DONE),
  )
  expect(await screen.findByText('$0.05 for models, not taken today. It lasts 7 days.')).toBeTruthy()
  expect(screen.getByText('3 days in a row.')).toBeTruthy()
  act(() => screen.getByRole('button', { name: 'Check in' }).click())
  expect(await screen.findByText('Today’s $0.05 for models is among your credits.')).toBeTruthy()
  expect(screen.queryByRole('button', { name: 'Check in' })).toBeNull()
  const taken = sent.filter(({ operation }) => operation === checkIn.operation)
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  expect(taken.map(({ body }) => body)).toEqual([{ time_zone: zone }])
})

test('[R6.3] is off for a customer without a verified address', async () => {
  const { sent } = await open(
    () => OPEN,
    () => DONE,
    customer({ emailVerified: false }),
  )
  const button = await screen.findByRole('button', { name: 'Check in' })
  expect(button.getAttribute('aria-disabled')).toBe('true')
  // Beside it, and not only in a tooltip, which nobody sees who does not point at it.
  expect(screen.getByText(/^The account is not activated\./)).toBeTruthy()
  act(() => button.click())
  expect(sent.map(({ operation }) => operation)).not.toContain(checkIn.operation)
})

test('a refusal leaves the card as it is', async () => {
  await open(
    () => OPEN,
    () => new Refusal([], 'check_in_done', 409),
  )
  const button = await screen.findByRole('button', { name: 'Check in' })
  act(() => button.click())
  await waitFor(() =>
    expect(screen.getByRole('button', { name: 'Check in' }).hasAttribute('data-loading')).toBe(false),
  )
  expect(screen.getByText(/not taken today/)).toBeTruthy()
})

test('there is no card where none is offered', async () => {
  const { sent } = await open(
    () => ({ ...OPEN, offered: false }),
    () => DONE,
  )
  await waitFor(() => expect(sent.map(({ operation }) => operation)).toContain(getCheckIn.operation))
  await waitFor(() => expect(screen.queryByText('Daily check-in')).toBeNull())
})

async function open(state: () => unknown, taken: () => unknown, user = customer()) {
  const answered = await answerCalls({ [getCheckIn.operation]: state, [checkIn.operation]: taken }, { user })
  await renderInPage(
    () => (
      <InShell>
        <CheckIn />
      </InShell>
    ),
    { namespaces: ['check-in'] },
  )
  return answered
}
