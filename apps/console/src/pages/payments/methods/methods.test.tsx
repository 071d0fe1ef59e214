import { topup } from '@berth/contract/billing'
import {
  addPaymentMethod,
  listPaymentMethods,
  removePaymentMethod,
  setPaymentMethod,
} from '@berth/contract/payment-methods'
import { act, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { expect, test } from 'vitest'
import { renderInPage } from '../../../component-fixture.tsx'
import {
  type Answers,
  answerCalls,
  customer,
  InShell,
  Refusal,
  type Sent,
} from '../../../gateway-fixture.tsx'
import { startToasts } from '../../../ui/toast.ts'
import { madeBalance } from '../balance-fixture.ts'
import { NOTHING_TYPED, TopupForm } from '../TopupForm.tsx'
import { AddMethodForm } from './AddMethodForm.tsx'
import { MethodsCard } from './MethodsCard.tsx'
import { madeMethod, madeRefused } from './method-fixture.ts'

const TEST_CARDS = {
  platform_name: 'testcard',
  display_name: 'Test card',
  test: true,
  entry: 'card',
  publishable_key: null,
} as const
const HOSTED = {
  platform_name: 'stripe',
  display_name: 'Stripe',
  test: false,
  entry: 'hosted',
  publishable_key: null,
} as const
const NAMESPACES = ['methods', 'payments'] as const

async function show(Shown: () => React.ReactNode, answers: Answers, verified = true) {
  const answered = await answerCalls(answers, { user: customer({ emailVerified: verified }) })
  await renderInPage(() => <InShell>{Shown()}</InShell>, { namespaces: NAMESPACES })
  return answered
}

const said: string[] = []
const showCard = (methods: unknown[], answers: Answers = {}, verified = true, returned = '') =>
  show(
    () => <MethodsCard returned={returned} onSaid={() => said.push(returned)} />,
    { [listPaymentMethods.operation]: () => methods, ...answers },
    verified,
  )

const sentTo = (sent: Sent[], { operation }: { operation: string }) =>
  sent.filter(one => one.operation === operation)

test('[R3.7] each method says its card, until when it can be charged, and what was wrong with it', async () => {
  const expired = madeMethod({ id: 'pm_3', last4: '1117', expired: true, is_default: false })
  const saving = madeMethod({ id: 'pm_4', brand: '', last4: '', status: 'saving', is_default: false })
  await showCard([madeMethod(), madeRefused(), expired, saving])
  const rows = (await screen.findAllByRole('listitem')).map(row => row.textContent)
  expect(rows[0]).toMatch(/^Visa ending 4242defaultexpires 08\/29/)
  expect(rows[1]).toMatch(/^Mastercard ending 4444expires 08\/29declined 19 Nov.*\. The card was declined/)
  expect(rows[2]).toMatch(/^Visa ending 1117expired 08\/29/)
  expect(rows[3]).toMatch(/^A new cardnot entered at the platform yet/)
})

test('[R3.7] a card whose bank asks says where to go on; one that is not kept says why, and is no default', async () => {
  const waits = madeMethod({
    last4: '3155',
    status: 'saving',
    next_url: '/gateway/pay/testcard/x',
    is_default: false,
  })
  const refused = madeRefused({ id: 'm_3', status: 'refused', refused_for: 'payment_not_confirmed' })
  await showCard([waits, refused])
  const rows = (await screen.findAllByRole('listitem')).map(row => row.textContent)
  expect(rows[0]).toMatch(/^Visa ending 3155waits for you to confirm itGo on/)
  expect(rows[1]).toMatch(/^Mastercard ending 4444Not saved\. The payment was not confirmed/)
  expect(screen.getByRole('button', { name: 'Go on with Visa ending 3155' })).toBeTruthy()
  expect(screen.queryByRole('button', { name: /the default$/ })).toBeNull()
})

test.each([
  ['saved', null, 'The card was saved.'],
  ['refused', 'card_declined', 'The card was declined. Please use another one.'],
] as const)(
  '[R3.7] whoever comes back from the bank’s page is told once what the list has: %s',
  async (status, refusedFor, text) => {
    const method = madeMethod({ id: 'm_7', status, refused_for: refusedFor })
    const told: string[] = []
    startToasts(({ message }) => told.push(message))
    said.length = 0
    await showCard([method], {}, true, 'm_7')
    await waitFor(() => expect(said).toEqual(['m_7']))
    expect(told).toEqual([text])
  },
)

test('[R3.7] whoever comes back before the platform knows is told nothing that the list has not', async () => {
  await showCard([madeMethod({ id: 'm_8', status: 'saving', next_url: 'https://bank' })], {}, true, 'm_8')
  await screen.findByText('waits for you to confirm it')
  expect(said).not.toContain('m_8')
})

test('[R3.7] another one is made the default; one that has expired cannot be', async () => {
  const expired = madeMethod({ id: 'pm_3', last4: '1117', expired: true, is_default: false })
  const { sent } = await showCard([madeMethod(), madeRefused(), expired])
  const button = await screen.findByRole('button', { name: 'Make Mastercard ending 4444 the default' })
  expect(screen.getAllByRole('button', { name: /the default$/ })).toEqual([button])
  await act(async () => fireEvent.click(button))
  await waitFor(() => expect(sentTo(sent, setPaymentMethod)).toHaveLength(1))
  expect(sentTo(sent, setPaymentMethod)[0]).toMatchObject({ body: { is_default: true } })
})

test('[R3.7] a method is removed once that is confirmed', async () => {
  const { sent } = await showCard([madeMethod()], { [removePaymentMethod.operation]: () => ({ id: 'pm' }) })
  fireEvent.click(await screen.findByRole('button', { name: 'Remove Visa ending 4242' }))
  const confirm = await screen.findByRole('button', { name: 'Remove' })
  expect(sentTo(sent, removePaymentMethod)).toEqual([])
  await act(async () => fireEvent.click(confirm))
  await waitFor(() => expect(sentTo(sent, removePaymentMethod)).toHaveLength(1))
})

test('[R5.9] why the last method cannot go stands at its button before it is pressed', async () => {
  await showCard([madeMethod({ kept_for: 'payment_method_in_use' })])
  const button = await screen.findByRole('button', { name: 'Remove Visa ending 4242' })
  await waitFor(() => expect(button.getAttribute('aria-disabled')).toBe('true'))
  await act(async () => fireEvent.click(button))
  expect(screen.queryByRole('dialog')).toBeNull()
  await waitFor(() => {
    fireEvent.focus(screen.getByRole('button', { name: 'Remove Visa ending 4242' }))
    expect(screen.getByRole('tooltip').textContent).toMatch(/cannot be deleted while auto top-up is on/)
  })
})

test('[R4.2] without a verified address nothing is added', async () => {
  await showCard([], {}, false)
  expect((await screen.findByRole('button', { name: 'Add' })).getAttribute('aria-disabled')).toBe('true')
})

test('[R3.7] a test card is chosen by what it does; a refused one keeps what was typed', async () => {
  let closed = 0
  let answer: unknown = new Refusal([{ path: 'source', msg: 'The card was declined.' }], 'card_declined', 402)
  const { sent } = await show(() => <AddMethodForm platform={TEST_CARDS} onClose={() => closed++} />, {
    [addPaymentMethod.operation]: () => answer,
  })
  fireEvent.click(screen.getByRole('button', { name: 'Card that is declined' }))
  await act(async () => fireEvent.click(screen.getByRole('button', { name: 'Save card' })))
  expect(await screen.findByText('The card was declined.')).toBeTruthy()
  expect(screen.getByRole<HTMLInputElement>('textbox', { name: 'Card number' }).value).toBe(
    '4000 0000 0000 0002',
  )
  expect(closed).toBe(0)
  answer = { method: madeMethod(), next_url: null }
  fireEvent.click(screen.getByRole('button', { name: 'Card that works' }))
  await act(async () => fireEvent.click(screen.getByRole('button', { name: 'Save card' })))
  await waitFor(() => expect(closed).toBe(1))
  expect(sentTo(sent, addPaymentMethod).at(-1)?.body).toEqual({
    platform_name: 'testcard',
    source: '4242 4242 4242 4242',
  })
})

test('[R3.7] where the card is entered at the platform’s page, the form leads there', async () => {
  const left: string[] = []
  const page = 'https://checkout.stripe.com/c/setup/cs_1'
  const { sent } = await show(
    () => <AddMethodForm platform={HOSTED} onClose={() => {}} onLeave={address => left.push(address)} />,
    { [addPaymentMethod.operation]: () => ({ method: madeMethod({ status: 'saving' }), next_url: page }) },
  )
  expect(screen.queryByRole('textbox')).toBeNull()
  await act(async () => fireEvent.click(screen.getByRole('button', { name: 'Continue to Stripe' })))
  await waitFor(() => expect(left).toEqual([page]))
  expect(sentTo(sent, addPaymentMethod)[0]?.body).toEqual({ platform_name: 'stripe', source: 'checkout' })
})

async function showTopup(methods: unknown[]) {
  const typed = { current: { ...NOTHING_TYPED } }
  const paid = { status: 'settled', transaction_id: 't_1', amount: 2_500, currency: 'USD', next_url: null }
  const answered = await show(
    () => (
      <TopupForm
        platform={TEST_CARDS}
        balance={madeBalance()}
        typed={typed}
        onSettled={() => {}}
        onInFlight={() => {}}
      />
    ),
    { [listPaymentMethods.operation]: () => methods, [topup.operation]: () => paid },
  )
  const pay = async () => {
    await act(async () => fireEvent.click(screen.getByRole('button', { name: 'Pay $25.00 now' })))
    await waitFor(() => expect(sentTo(answered.sent, topup)).toHaveLength(1))
    // Which top-up the form knew of is another matter.
    return { ...(sentTo(answered.sent, topup)[0]?.body as object), after: undefined }
  }
  return { pay, typed }
}

test('[R2.22] [R3.7] a top-up is paid with the default method, and nothing of a card is typed', async () => {
  const { pay } = await showTopup([madeMethod(), madeRefused()])
  const first = await screen.findByRole<HTMLInputElement>('radio', { name: /^Visa ending 4242/ })
  expect(first.checked).toBe(true)
  expect(screen.queryByRole('textbox', { name: 'Card number' })).toBeNull()
  expect(await pay()).toEqual({
    amount: 2_500,
    currency: 'USD',
    platform_name: 'testcard',
    method_id: madeMethod().id,
  })
})

test('[R2.22] [R3.7] another method can be chosen, one that has expired cannot; the choice outlives the form', async () => {
  const { pay, typed } = await showTopup([madeMethod({ expired: true }), madeRefused()])
  const group = await screen.findByRole('group', { name: 'Pay with' })
  const [expired, other] = within(group).getAllByRole<HTMLInputElement>('radio')
  expect([expired?.disabled, other?.checked]).toEqual([true, true])
  fireEvent.click(within(group).getByRole('radio', { name: /^A new card/ }))
  expect(screen.getByRole('textbox', { name: 'Card number' })).toBeTruthy()
  fireEvent.click(within(group).getByRole('radio', { name: /^Mastercard/ }))
  expect(await pay()).toMatchObject({ method_id: madeRefused().id })
  expect(typed.current.payWith).toMatchObject({ methodId: madeRefused().id })
})

test.each([true, false])(
  '[R2.22] [R3.7] a new card is kept only where the customer says so: %s',
  async says => {
    const { pay } = await showTopup([])
    fireEvent.click(screen.getByRole('button', { name: 'Card that works' }))
    const tick = screen.getByRole<HTMLInputElement>('checkbox', { name: /^Save this card/ })
    expect(tick.checked).toBe(false)
    if (says) fireEvent.click(tick)
    expect(await pay()).toEqual({
      amount: 2_500,
      currency: 'USD',
      platform_name: 'testcard',
      source: '4242 4242 4242 4242',
      ...(says && { save_method: true }),
    })
  },
)
