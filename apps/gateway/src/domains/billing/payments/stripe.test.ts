import { randomUUID } from 'node:crypto'
import type { TopupState } from '@berth/contract/billing'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type StripeServer, startStripeServer } from '../../../../test/stripe-server.ts'
import { startTestServer, type TestServer, TOKENS } from '../../../../test/test-server.ts'
import { createStripeDriver } from '../../../drivers/payments/stripe/stripe-driver.ts'
import type { Billing } from '../billing.ts'
import { type BillingFixture, createBillingFixture } from '../billing-fixture.ts'
import { billingRoutes } from '../routes.ts'
import { paymentRawRoutes } from './raw-routes.ts'

/**
 * Goal: a top-up by Stripe is booked as Stripe holds it, however its answers, pages, webhooks and list of events fall
 * (B2, B3, R2.22). Method: the HTTP server and the whole domain, with the driver against a double of Stripe.
 */

let fixture: BillingFixture
let stripe: StripeServer
let billing: Billing
let server: TestServer
beforeAll(async () => {
  fixture = await createBillingFixture()
  const { db, clock, log } = fixture
  stripe = await startStripeServer(clock)
  const driver = createStripeDriver({ db, clock, log, settings: stripe.settings, offered: true })
  billing = fixture.replica({ payments: [driver] })
  const routes = billingRoutes(
    billing,
    { eventsBetween: async () => [], losesMachines: async () => true },
    english => english,
  )
  server = await startTestServer(db, routes, { rawRoutes: paymentRawRoutes(billing, [driver]) })
  const userId = TOKENS.anna?.userId ?? ''
  await db.transaction(tx => billing.openWallet(tx, { userId, currency: 'USD' }))
})
afterAll(async () => {
  await server.close(1_000)
  await stripe.close()
  await fixture.database.drop()
})
let before = 0
beforeEach(async () => {
  before = await cash()
})

test('[R2.22] a customer pays at Stripe’s page; only what Stripe says then is booked, and once', async () => {
  expect((await ask('GET', '/pay-platform')).data).toMatchObject([
    {
      platform_name: 'stripe',
      display_name: 'Stripe',
      entry: 'hosted',
      test: true,
      publishable_key: stripe.settings.publishableKey,
    },
  ])
  const { id, page, answer } = await begin()
  expect(answer).toMatchObject({ status: 'requires_action', next_url: expect.stringMatching(/^https:/) })
  expect(await state(id)).toMatchObject({ status: 'requires_action', card: { brand: 'Stripe', last4: '' } })
  expect(await added()).toBe(0)
  stripe.house.payAt(page, '4242424242424242')
  await deliver()
  await deliver()
  expect(await state(id)).toMatchObject({ status: 'settled', card: { brand: 'Visa', last4: '4242' } })
  expect(await added()).toBe(2_500)
  expect(await billing.checkBooks()).toEqual([])
})

test('[R8.1] a card that is declined at the page charges nothing, and another one can be tried there', async () => {
  const { id, page } = await begin()
  stripe.house.payAt(page, '4000000000000002')
  await deliver()
  expect(await state(id)).toMatchObject({ status: 'requires_action' })
  stripe.house.payAt(page, '5555555555554444')
  await recover()
  expect(await state(id)).toMatchObject({ status: 'settled', card: { brand: 'Mastercard' } })
  expect(await added()).toBe(2_500)
})

test('[R8.1] a saved card that is declined is a refusal, and one that asks is confirmed at the bank’s page', async () => {
  const refused = await ask('POST', '/topup', { body: topup(stripe.house.card('4000000000009995')) })
  expect(refused).toMatchObject({ http: 402, code: 'card_insufficient_funds' })
  const asked = await ask('POST', '/topup', { body: topup(stripe.house.card('4000002500003155')) })
  expect(asked.data).toMatchObject({ status: 'requires_action', next_url: expect.stringContaining('3ds') })
  const [intent] = stripe.house.all('payment_intent').filter(({ status }) => status === 'requires_action')
  stripe.house.answer(intent?.id ?? '', true)
  await deliver()
  expect(await state(asked.data.transaction_id)).toMatchObject({ status: 'settled' })
  expect(await added()).toBe(2_500)
  expect(await billing.checkBooks()).toEqual([])
})

test.each(['dropped', 'lost', 'failed'] as const)(
  '[B3] a charge whose answer is %s is settled later, once',
  async fault => {
    const key = randomUUID()
    const body = topup(stripe.house.card('4242424242424242'))
    stripe.breakNext(fault, /confirm/)
    expect(await ask('POST', '/topup', { body, key })).toMatchObject({ http: 503, code: 'payment_pending' })
    await recover()
    expect(await ask('POST', '/topup', { body, key })).toMatchObject({
      http: 200,
      data: { status: 'settled' },
    })
    await deliver()
    expect(await added()).toBe(2_500)
    expect(await billing.checkBooks()).toEqual([])
  },
)

test('[B3] a payment that Stripe has none of ends, and does not stay open for ever', async () => {
  const { id, page } = await begin()
  stripe.house.things.delete(page)
  await recover()
  expect(await state(id)).toMatchObject({ status: 'failed', failure: 'payment_failed' })
})

test('[B2] what no webhook brought is found in the list: a refund, one that failed, a dispute, one that was won', async () => {
  const { id, page } = await begin()
  stripe.house.payAt(page, '4242424242424242')
  await recover()
  const payment = String(stripe.house.need(page, 'checkout.session', 'id').payment_intent)
  stripe.house.refund({ payment_intent: payment, amount: '1000' })
  await recover()
  expect(await added()).toBe(1_500)
  const [refund] = stripe.house.all('refund').filter(one => one.payment_intent === payment)
  stripe.house.failRefund(refund?.id ?? '')
  await recover()
  expect(await added()).toBe(2_500)
  const dispute = stripe.house.dispute(payment, 2_500)
  // One event that Stripe does not explain holds up none of the others, and is read again.
  stripe.breakNext('failed', /GET .*payment_intents/)
  await recover()
  await recover()
  expect(await added()).toBe(0)
  expect((await ask('GET', '/transaction?type=refund')).data).toMatchObject({
    items: [
      { about: { refund_reason: 'dispute' } },
      { about: { refund_reason: 'refund' }, status: 'failed' },
    ],
  })
  stripe.house.endDispute(dispute, 'won')
  await deliver()
  expect(await added()).toBe(2_500)
  expect(await state(id)).toMatchObject({ status: 'settled' })
  expect(await billing.checkBooks()).toEqual([])
})

test('[B3] a refund whose answer is lost is found again once Stripe has forgotten its key, and is not given twice', async () => {
  const { id, page } = await begin()
  stripe.house.payAt(page, '4242424242424242')
  await recover()
  const given = () => stripe.house.all('refund').filter(one => one.payment_intent === payment)
  const payment = String(stripe.house.need(page, 'checkout.session', 'id').payment_intent)
  stripe.breakNext('lost', /POST .*refunds/)
  const request = { id: randomUUID(), paymentId: id, amountCents: 1_000 }
  expect(await billing.refunds.create(request)).toMatchObject({ state: 'asked' })
  fixture.clock.advance(25 * 3_600)
  await recover()
  expect(given()).toHaveLength(1)
  expect(await billing.refunds.create(request)).toMatchObject({ state: 'done' })
  expect(await added()).toBe(1_500)
  // Another request over the same amount is another refund.
  expect(await billing.refunds.create({ ...request, id: randomUUID() })).toMatchObject({ state: 'done' })
  expect(given()).toHaveLength(2)
  expect(await added()).toBe(500)
  expect(await billing.checkBooks()).toEqual([])
})

test('[B3] a refund that was given, and of which nothing can be read, is not called refused', async () => {
  const { id, page } = await begin()
  stripe.house.payAt(page, '4242424242424242')
  await recover()
  stripe.breakNext('refused', /GET .*disputes/)
  const request = { id: randomUUID(), paymentId: id, amountCents: 1_000 }
  expect(await billing.refunds.create(request)).toMatchObject({ state: 'asked' })
  expect(await billing.refunds.create(request)).toMatchObject({ state: 'done' })
  expect(await added()).toBe(1_500)
})

test('a forged webhook is refused; one that cannot be explained now is asked for again', async () => {
  const { page } = await begin()
  stripe.house.payAt(page, '4242424242424242')
  const event = stripe.house.events.at(-1)
  if (!event) throw new Error('nothing was told')
  const forged = await post(stripe.deliver(event, { secret: 'whsec_forged01234' }))
  expect(forged).toMatchObject({ http: 400, code: 'webhook_refused' })
  stripe.breakNext('failed', /GET/)
  expect(await post(stripe.deliver(event))).toMatchObject({ http: 503 })
  expect(await added()).toBe(0)
  expect(await post(stripe.deliver(event))).toMatchObject({ http: 200 })
  expect(await added()).toBe(2_500)
})

test('a card’s number is refused before it is stored or sent on', async () => {
  stripe.requests.length = 0
  expect(await ask('POST', '/topup', { body: topup('4242 4242 4242 4242') })).toMatchObject({
    http: 402,
    code: 'payment_page_required',
  })
  expect(stripe.requests).toEqual([])
})

function topup(source: string) {
  return { amount: 2_500, currency: 'USD', platform_name: 'stripe', source }
}

/** A top-up whose customer is sent to Stripe's page. */
async function begin() {
  const { data } = await ask('POST', '/topup', { body: topup('checkout') })
  return { id: data.transaction_id, answer: data, page: data.next_url?.split('/').at(-1) ?? '' }
}

/** Stripe sends everything that it has told so far, newest first. */
async function deliver(): Promise<void> {
  for (const event of stripe.house.events.toReversed()) await post(stripe.deliver(event))
}

async function post({ body, headers }: ReturnType<StripeServer['deliver']>) {
  const response = await fetch(`${server.origin}/gateway/api/bill/webhook/stripe`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'stripe-signature': String(headers['stripe-signature']) },
    body: Buffer.from(body),
  })
  return { http: response.status, ...((await response.json()) as { code?: string }) }
}

async function recover(): Promise<void> {
  fixture.clock.advance(3_600)
  await billing.recoverTopups()
}

const state = async (id: string) => (await ask('GET', `/topup/${id}`)).data as unknown as TopupState
const cash = () => billing.balanceCents(TOKENS.anna?.userId ?? '')
const added = async () => (await cash()) - before

interface Asked {
  body?: unknown
  key?: string
}

interface Answer {
  code?: string
  data: { transaction_id: string; next_url: string | null }
}

async function ask(method: string, path: string, { body, key = randomUUID() }: Asked = {}) {
  const response = await fetch(`${server.origin}/gateway/api/bill${path}`, {
    method,
    headers: {
      authorization: 'Bearer anna',
      'accept-language': 'en',
      'idempotency-key': key,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { http: response.status, ...((await response.json()) as Answer) }
}
