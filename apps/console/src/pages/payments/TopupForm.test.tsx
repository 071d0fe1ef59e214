import { getTopup, listTransactions, type TopupState, type Transaction, topup } from '@berth/contract/billing'
import { cleanup, fireEvent, screen, waitFor } from '@testing-library/react'
import { type ComponentProps, createRef } from 'react'
import { expect, test } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { type Answers, answerCalls, InShell, Refusal } from '../../gateway-fixture.tsx'
import { sampleOf } from '../../schema-fixture.ts'
import { madeBalance } from './balance-fixture.ts'
import { PaymentInFlight } from './PaymentInFlight.tsx'
import { NOTHING_TYPED, TopupForm } from './TopupForm.tsx'

const PLATFORM = {
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

test('[R5.8] the limits of an amount are said, and one beyond them is not offered to be paid', async () => {
  await showForm()
  const amount = screen.getByRole('textbox', { name: /^Amount in USD/ })
  expect(screen.getByText('From $1.00 to $10,000.00')).toBeTruthy()
  for (const [typed, button] of [
    ['12.5', 'Pay $12.50 now'],
    ['12,5', 'Pay $12.50 now'],
    ['1,000', 'Pay now'],
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
  expect(await screen.findByText('Invalid amount: enter from 1.00 to 10,000.00')).toBeTruthy()
  expect((amount as HTMLInputElement).value).toBe('0.99')
})

test('[R5.8] whoever sets thousands apart is told what to type instead, and what was typed is kept', async () => {
  const { sent } = await showForm()
  const amount = screen.getByRole('textbox', { name: /^Amount in USD/ })
  for (const typed of ['1,000', '1.234,50', '1 000']) {
    fireEvent.change(amount, { target: { value: typed } })
    fireEvent.click(screen.getByRole('button', { name: 'Pay now' }))
    expect(await screen.findByText(/^Leave out what sets thousands apart: type 1250/)).toBeTruthy()
    expect((amount as HTMLInputElement).value).toBe(typed)
  }
  expect(sent.filter(({ operation }) => operation === topup.operation)).toEqual([])
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

test('[R2.22] [R3.7] where the card is entered at the platform’s page, the form has no field for it and leads there', async () => {
  const left: string[] = []
  const begun: string[] = []
  const answer = {
    status: 'requires_action',
    next_url: 'https://checkout.stripe.com/c/pay/cs_1',
    transaction_id: 't_1',
  }
  const { sent } = await showForm(madeBalance(), {
    platform: HOSTED,
    answers: { [topup.operation]: () => ({ ...answer, amount: 2_500, currency: 'USD' }) },
    onInFlight: id => begun.push(id),
    onLeave: address => left.push(address),
  })
  expect(screen.queryByRole('textbox', { name: 'Card number' })).toBeNull()
  expect(screen.queryByRole('button', { name: 'Card that works' })).toBeNull()
  expect(screen.getByText(/^You enter your card on the page of Stripe and come back here/)).toBeTruthy()
  fireEvent.change(screen.getByRole('textbox', { name: /^Amount in USD/ }), { target: { value: '0.5' } })
  fireEvent.click(screen.getByRole('button', { name: 'Continue to Stripe' }))
  expect(await screen.findByText('Invalid amount: enter from 1.00 to 10,000.00')).toBeTruthy()
  expect(left).toEqual([])
  fireEvent.change(screen.getByRole('textbox', { name: /^Amount in USD/ }), { target: { value: '25' } })
  fireEvent.click(screen.getByRole('checkbox', { name: /^Save this card/ }))
  fireEvent.click(screen.getByRole('button', { name: 'Continue to Stripe' }))
  await waitFor(() => expect(left).toEqual([answer.next_url]))
  expect(begun).toEqual(['t_1'])
  expect(sent.find(({ operation }) => operation === topup.operation)?.body).toMatchObject({
    amount: 2_500,
    platform_name: 'stripe',
    source: 'checkout',
    save_method: true,
  })
})

test('[R2.22] a payment that waits at the platform’s page says so, and leads there again', async () => {
  const waiting = {
    ...(sampleOf(getTopup.data) as TopupState),
    status: 'requires_action',
    card: { brand: 'Stripe', last4: '' },
    next_url: 'https://checkout.stripe.com/c/pay/cs_1',
  }
  await answerCalls({ [getTopup.operation]: () => waiting })
  const Page = () => (
    <InShell>
      <PaymentInFlight
        id="t_1"
        onSettled={() => {}}
        onEnded={() => {}}
        onRefunded={() => {}}
        onAgain={() => {}}
        onClose={() => {}}
      />
    </InShell>
  )
  await renderInPage(Page, { namespaces: ['payments'] })
  expect(await screen.findByText('Waiting for you at Stripe')).toBeTruthy()
  const link = screen.getByRole('link', { name: /^Continue to Stripe/ })
  expect(link.getAttribute('href')).toBe(waiting.next_url)
})

test('[B3] [R2.22] what was paid in another tab since the form was drawn is said, and charged again only if it is pressed again', async () => {
  const paid = { status: 'settled', transaction_id: 't_2', amount: 2_500, currency: 'USD', next_url: null }
  const sample = (sampleOf(listTransactions.data) as { items: Transaction[] }).items[0] as Transaction
  const about = { ...sample.about, origin: 'customer' as const }
  const rows: Transaction[] = [{ ...sample, id: 't_0', status: 'settled', about }]
  const begun: string[] = []
  const known: unknown[] = []
  let newest = 't_0'
  let charged = 0
  const { sent } = await showForm(madeBalance(), {
    answers: {
      [listTransactions.operation]: () => ({ items: rows, total: rows.length, page: 1, page_size: 10 }),
      [topup.operation]: ({ body }) => {
        const { after } = body as { after?: string }
        known.push(after)
        if (after !== newest) return new Refusal([], 'topup_elsewhere', 409)
        charged += 1
        return paid
      },
    },
    onInFlight: id => begun.push(id),
  })
  await waitFor(() =>
    expect(sent.some(({ operation }) => operation === listTransactions.operation)).toBe(true),
  )
  fireEvent.click(screen.getByRole('button', { name: 'Card that works' }))
  // Auto top-up and what was declined are none of it.
  rows.unshift(
    { ...sample, id: 't_9', status: 'failed', about },
    { ...sample, id: 't_8', status: 'settled', about: { ...about, origin: 'auto' } },
    { ...sample, id: 't_1', status: 'settled', amount_micro: '11000000', about },
  )
  newest = 't_1'
  fireEvent.click(screen.getByRole('button', { name: 'Pay $25.00 now' }))
  expect(await screen.findByText(/^You have topped up \$11\.00 meanwhile/)).toBeTruthy()
  rows.unshift({ ...sample, id: 't_3', status: 'pending', about })
  newest = 't_3'
  fireEvent.click(screen.getByRole('button', { name: 'Pay $25.00 now' }))
  await waitFor(() => expect(begun).toEqual(['t_3']))
  expect(charged).toBe(0)
  fireEvent.click(screen.getByRole('button', { name: 'Pay $25.00 now' }))
  await waitFor(() => expect(charged).toBe(1))
  expect(known).toEqual(['t_0', 't_1', 't_3'])
})

test('[B3] [R2.22] who has only auto top-ups among the newest pays all the same, since an older one may be their own', async () => {
  const sample = (sampleOf(listTransactions.data) as { items: Transaction[] }).items[0] as Transaction
  const items = Array.from({ length: 10 }, (_, at) => ({
    ...{ ...sample, id: `t_${at}`, status: 'settled' },
    about: { ...sample.about, origin: 'auto' },
  }))
  const bodies: unknown[] = []
  const { sent } = await showForm(madeBalance(), {
    answers: {
      [listTransactions.operation]: () => ({ items, total: 12, page: 1, page_size: 10 }),
      [topup.operation]: ({ body }) => {
        bodies.push(body)
        return { status: 'settled', transaction_id: 't_x', amount: 2_500, currency: 'USD', next_url: null }
      },
    },
  })
  await waitFor(() =>
    expect(sent.some(({ operation }) => operation === listTransactions.operation)).toBe(true),
  )
  fireEvent.click(screen.getByRole('button', { name: 'Card that works' }))
  fireEvent.click(screen.getByRole('button', { name: 'Pay $25.00 now' }))
  await waitFor(() => expect(bodies).toHaveLength(1))
  expect(bodies[0]).not.toHaveProperty('after')
})

test('[B3] [R2.22] a payment whose answer was lost is not charged again by the form that is opened next', async () => {
  const paid = { status: 'settled', transaction_id: 't_1', amount: 2_500, currency: 'USD', next_url: null }
  const sample = (sampleOf(listTransactions.data) as { items: Transaction[] }).items[0] as Transaction
  const about = { ...sample.about, origin: 'customer' as const }
  const rows: Transaction[] = [{ ...sample, id: 't_0', status: 'settled', about }]
  const asked: { after: unknown; key: string | null }[] = []
  let lost = true
  const answers: Answers = {
    [listTransactions.operation]: () => ({ items: rows, total: rows.length, page: 1, page_size: 10 }),
    [topup.operation]: ({ body, idempotencyKey: key }) => {
      asked.push({ after: (body as { after?: string }).after, key })
      if (lost) throw new TypeError('Failed to fetch')
      return paid
    },
  }
  const payInNewForm = async (times: number) => {
    const { sent } = await showForm(madeBalance(), { answers })
    if (times === 1) await waitFor(() => expect(sent.some(isList)).toBe(true))
    fireEvent.click(screen.getByRole('button', { name: 'Card that works' }))
    fireEvent.click(screen.getByRole('button', { name: 'Pay $25.00 now' }))
    await waitFor(() => expect(asked).toHaveLength(times))
  }
  const isList = ({ operation }: { operation: string }) => operation === listTransactions.operation
  await payInNewForm(1)
  expect(await screen.findByRole('alert')).toBeTruthy()
  // It had come all the same; nobody who looks at the new form has seen that.
  rows.unshift({ ...sample, id: 't_1', status: 'settled', about })
  lost = false
  cleanup()
  await payInNewForm(2)
  expect(asked[1]).toEqual(asked[0])
  expect(asked[0]).toMatchObject({ after: 't_0' })
  // From its answer on the next one is another.
  await waitFor(() => expect(sessionStorage.getItem('berth.topup.after')).toBeNull())
  cleanup()
  await payInNewForm(3)
  expect(asked[2]?.after).toBe('t_1')
  expect(asked[2]?.key).not.toBe(asked[1]?.key)
})

interface Shown
  extends Partial<Pick<ComponentProps<typeof TopupForm>, 'platform' | 'onInFlight' | 'onLeave'>> {
  answers?: Answers
}

async function showForm(balance = madeBalance(), { answers = {}, ...rest }: Shown = {}) {
  const typed = { ...createRef(), current: { ...NOTHING_TYPED } }
  const answered = await answerCalls(answers)
  const Page = () => (
    <InShell>
      <TopupForm
        platform={PLATFORM}
        balance={balance}
        typed={typed}
        onSettled={() => {}}
        onInFlight={() => {}}
        {...rest}
      />
    </InShell>
  )
  await renderInPage(Page, { namespaces: ['payments', 'methods'] })
  return answered
}
