import { randomUUID } from 'node:crypto'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { StripeEvent, Thing } from '../../../../test/stripe-house.ts'
import { type StripeServer, startStripeServer } from '../../../../test/stripe-server.ts'
import { createTestDatabase, type TestDatabase } from '../../../../test/test-database.ts'
import { describePayments } from '../conformance/payments-conformance.ts'
import {
  type IntentRequest,
  type MethodRequest,
  type PaymentDriver,
  PaymentRefused,
  PaymentUnavailable,
  type PlatformEvent,
  WebhookRefused,
  WebhookUnreadable,
} from '../port.ts'
import { stripeCustomer } from '../tables.ts'
import { createStripeClient } from './stripe-client.ts'
import { createStripeDriver } from './stripe-driver.ts'
import { failureOf } from './stripe-failures.ts'

const RETURN_URL = 'https://gpu.example.com/payments?topup=t_1'
const WORKS = '4242424242424242'

let nowMs = Date.UTC(2026, 2, 10)
const clock = { now: () => new Date(nowMs) }
let database: TestDatabase
let stripe: StripeServer
let driver: PaymentDriver
const logged: unknown[] = []
beforeAll(async () => {
  database = await createTestDatabase()
  stripe = await startStripeServer(clock)
  const log = {
    warn: (...line: unknown[]) => logged.push(line),
    error: (...line: unknown[]) => logged.push(line),
  }
  driver = createStripeDriver({ db: database.db, clock, log, settings: stripe.settings, offered: true })
})
afterAll(async () => {
  await stripe.close()
  await database.drop()
})
beforeEach(() => {
  stripe.requests.length = 0
  logged.length = 0
})

describe('a double of Stripe keeps what every platform must', () => {
  describePayments(() => ({
    driver: () => driver,
    source: async number => stripe.house.card(number),
    answer: async ({ intent_id }, confirmed) => stripe.house.answer(intent_id, confirmed),
    answerVisit: async ({ visit_id }, confirmed) => stripe.house.answerSetup(visit_id ?? '', confirmed),
    async passTime() {
      for (const intent of stripe.house.all('payment_intent')) {
        if (intent.status === 'processing') stripe.house.settle(intent.id)
        disputeByCard(intent)
      }
    },
    async keepsOf(customer) {
      const ids = new Set(customersOf(customer).flatMap(({ id, deleted }) => (deleted === true ? [] : [id])))
      const cards = stripe.house.all('payment_method').filter(pm => ids.has(String(pm.customer)))
      const isNamed = await database.db.$count(stripeCustomer, eq(stripeCustomer.userId, customer))
      return ids.size + cards.length + isNamed > 0
    },
    deliveries: async intentId => eventsOf(intentId).map(event => stripe.deliver(event)),
  }))
})

describe('a page of Checkout', () => {
  test('[R2.22] is made once for a top-up, with its amount, and leads back to it', async () => {
    const request = requestOf()
    const page = await driver.createIntent(request)
    expect(page).toMatchObject({ status: 'requires_action', next_url: expect.stringMatching(/^https:/) })
    expect(await driver.createIntent(request)).toEqual(page)
    expect(await driver.confirm({ intent_id: page.intent_id, return_url: RETURN_URL })).toEqual(page)
    const asked = stripe.requests.find(({ route }) => route === 'POST /v1/checkout/sessions')
    expect(asked?.form).toMatchObject({
      mode: 'payment',
      success_url: RETURN_URL,
      cancel_url: RETURN_URL,
      'line_items[0][price_data][currency]': 'usd',
      'line_items[0][price_data][unit_amount]': '2500',
      'adaptive_pricing[enabled]': 'false',
    })
    expect(asked?.key).toContain(request.reference)
  })

  test('is paid there, and says then what it was paid with; a decline leaves it open', async () => {
    const request = requestOf()
    const { intent_id } = await driver.createIntent(request)
    stripe.house.payAt(intent_id, '4000000000000002')
    expect(await driver.retrieve(intent_id)).toMatchObject({ status: 'requires_action', failure: null })
    // What the decline told moves nothing: another card may be tried there.
    for (const event of await completed(eventsAbout(request.reference))) {
      expect(event).toMatchObject({
        reference: request.reference,
        intent_id: null,
        status: null,
        failure: null,
      })
    }
    stripe.house.payAt(intent_id, WORKS)
    const paid = { status: 'succeeded', next_url: null, card: { brand: 'Visa', last4: '4242' } }
    expect(await driver.retrieve(intent_id)).toMatchObject(paid)
    const told = await completed(eventsAbout(request.reference))
    expect(told.at(-1)).toMatchObject({ ...paid, reference: request.reference, intent_id })
  })

  test('that is ended, or expires, is paid by nobody', async () => {
    const { intent_id } = await driver.createIntent(requestOf())
    expect(await driver.cancel(intent_id)).toMatchObject({ status: 'canceled', next_url: null })
    expect(() => stripe.house.expire(stripe.house.need(intent_id, 'checkout.session', 'id'))).toThrow()
    expect(await driver.cancel(intent_id)).toMatchObject({ status: 'canceled' })
  })

  test.each([
    [true, { status: 'succeeded' }],
    [false, { status: 'failed', failure: 'card_declined' }],
  ])('whose bank takes its time ends as that says: %s', async (succeeds, end) => {
    const { intent_id } = await driver.createIntent(requestOf())
    stripe.house.payAt(intent_id, '6011111111111117')
    expect(await driver.retrieve(intent_id)).toMatchObject({ status: 'processing' })
    stripe.house.settle(paymentOf(intent_id), succeeds)
    expect(await driver.retrieve(intent_id)).toMatchObject(end)
  })

  test('is refunded by its name, and what was refunded at Stripe itself is seen', async () => {
    const { intent_id } = await driver.createIntent(requestOf())
    await expect(
      driver.refund({ intent_id, idempotency_key: randomUUID(), amount_cents: 1 }),
    ).rejects.toThrow(PaymentRefused)
    stripe.house.payAt(intent_id, WORKS)
    stripe.house.refund({ payment_intent: paymentOf(intent_id), amount: '400' })
    const back = await driver.refund({ intent_id, idempotency_key: randomUUID(), amount_cents: 600 })
    expect(back).toMatchObject({ intent_id, refunded_cents: 1_000 })
  })
})

describe('what went back', () => {
  test('[B2] sums of refunds never fall, though Stripe’s own do when one fails', async () => {
    const { intent_id } = await charged()
    await driver.refund({ intent_id, idempotency_key: randomUUID(), amount_cents: 500 })
    const [first] = stripe.house.all('refund').filter(one => one.payment_intent === intent_id)
    stripe.house.failRefund(first?.id ?? '')
    const back = await driver.refund({ intent_id, idempotency_key: randomUUID(), amount_cents: 1_000 })
    expect(back).toMatchObject({ refunded_cents: 1_500, refunds_failed_cents: 500 })
    const told = (await completed(eventsOf(intent_id))).at(-1)
    expect(told).toMatchObject({ refunded_cents: 1_500, refunds_failed_cents: 500 })
  })

  test('[B2] a dispute is told with the payment’s reference; an inquiry takes nothing; a won one came back', async () => {
    const { intent_id, reference } = await charged()
    stripe.house.dispute(intent_id, 2_500, 'warning_needs_response')
    expect((await completed(eventsOf(intent_id))).at(-1)).toMatchObject({ reference, disputed_cents: 0 })
    const dispute = stripe.house.dispute(intent_id, 2_000)
    const taken = { reference, disputed_cents: 2_000, disputes_won_cents: 0 }
    expect((await completed(eventsOf(intent_id))).at(-1)).toMatchObject(taken)
    stripe.house.endDispute(dispute, 'won')
    const won = { disputed_cents: 2_000, disputes_won_cents: 2_000 }
    expect((await completed(eventsOf(intent_id))).at(-1)).toMatchObject(won)
    expect(await driver.retrieve(intent_id)).toMatchObject(won)
  })
})

describe('faults', () => {
  test('[B3] a refund of before, which bears no key of ours, is given again by its key and not made twice', async () => {
    const { intent_id } = await charged()
    const key = randomUUID()
    const { secretKey, apiUrl } = stripe.settings
    const earlier = createStripeClient({ secretKey, apiUrl })
    await earlier.refunds.create(
      { payment_intent: intent_id, amount: 600 },
      { idempotencyKey: `refund:${key}` },
    )
    const back = await driver.refund({ intent_id, idempotency_key: key, amount_cents: 600 })
    expect(back).toMatchObject({ refunded_cents: 600 })
  })

  test.each(['dropped', 'lost', 'failed', 'too_many', 'wrong_key'] as const)(
    '[B3] a creation that is %s is not known, and asking again makes no second page',
    async fault => {
      const request = requestOf()
      stripe.breakNext(fault, /checkout/)
      await expect(driver.createIntent(request)).rejects.toBeInstanceOf(PaymentUnavailable)
      const page = await driver.createIntent(request)
      expect(page.status).toBe('requires_action')
      const pages = stripe.house.all('checkout.session').filter(one => one.client_reference_id !== null)
      const ours = pages.filter(
        ({ metadata }) => (metadata as { reference?: string }).reference === request.reference,
      )
      expect(ours).toHaveLength(1)
    },
  )

  test('[B3] a charge whose answer is lost was made once, and is found', async () => {
    const { intent_id } = await driver.createIntent(requestOf({ source: stripe.house.card(WORKS) }))
    stripe.breakNext('lost', /confirm/)
    await expect(driver.confirm({ intent_id, return_url: RETURN_URL })).rejects.toBeInstanceOf(
      PaymentUnavailable,
    )
    expect(await driver.retrieve(intent_id)).toMatchObject({ status: 'succeeded' })
    expect(await driver.confirm({ intent_id, return_url: RETURN_URL })).toMatchObject({ status: 'succeeded' })
    const charges = stripe.house.all('charge').filter(one => one.payment_intent === intent_id)
    expect(charges).toHaveLength(1)
  })

  test('what can never be is refused with a code, and its words tell no secret', async () => {
    await expect(driver.createIntent(requestOf({ source: 'pm_none' }))).rejects.toMatchObject({
      name: 'PaymentRefused',
      failure: 'payment_failed',
    })
    await expect(driver.retrieve('pi_none')).rejects.toBeInstanceOf(PaymentRefused)
    stripe.breakNext('wrong_key')
    const error = await driver.retrieve('pi_none').catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(PaymentUnavailable)
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('sk_test_0123456789abcdef')
  })

  test('[R6.4] a card of another customer pays for nobody else', async () => {
    const source = stripe.house.card(WORKS)
    await driver.saveMethod(keepOf({ source }))
    await expect(driver.createIntent(requestOf({ source }))).rejects.toBeInstanceOf(PaymentRefused)
  })

  test('a card that wants its customer is refused while they are away, with its own code', async () => {
    const source = stripe.house.card('authentication_required')
    const { intent_id } = await driver.createIntent(requestOf({ source }))
    const refused = await driver.confirm({ intent_id, return_url: RETURN_URL, off_session: true })
    expect(refused).toMatchObject({ status: 'failed', failure: 'card_authentication_required' })
  })
})

describe('customers at Stripe', () => {
  test('[B3] one is made for each of ours, however many ask at once, and anew when it was deleted there', async () => {
    const customer = randomUUID()
    const pay = () => driver.createIntent(requestOf({ customer }))
    await Promise.all(Array.from({ length: 5 }, pay))
    const of = () => customersOf(customer)
    expect(of()).toHaveLength(1)
    Object.assign(of()[0] ?? {}, { deleted: true })
    expect(await pay()).toMatchObject({ status: 'requires_action' })
    expect(of()).toHaveLength(2)
    const [row] = await database.db.select().from(stripeCustomer).where(eq(stripeCustomer.userId, customer))
    expect(row).toMatchObject({ customerId: of()[1]?.id, generation: 1 })
  })

  test('the same card again is the method that there is', async () => {
    const customer = randomUUID()
    const first = stripe.house.card(WORKS, 'fp_one')
    const second = stripe.house.card(WORKS, 'fp_one')
    const { method } = await driver.saveMethod(keepOf({ customer, source: first }))
    nowMs += 1_000
    expect(await driver.saveMethod(keepOf({ customer, source: second }))).toMatchObject({ method })
    const page = await driver.saveMethod(keepOf({ customer, source: 'checkout' }))
    expect(page).toMatchObject({ status: 'open', next_url: expect.stringMatching(/^https:/), method: null })
    stripe.house.payAt(page.visit_id ?? '', '5555555555554444')
    expect(await driver.readVisit(page.visit_id ?? '')).toMatchObject({
      status: 'saved',
      next_url: null,
      method: { brand: 'Mastercard', last4: '4444' },
    })
  })
})

describe('a visit to the page that keeps a card', () => {
  const begin = async () => (await driver.saveMethod(keepOf({ source: 'checkout' }))).visit_id ?? ''

  test('is ended, so that no card is entered any more; one at which it was entered is answered as it is', async () => {
    const open = await begin()
    const ended = { status: 'ended', next_url: null, method: null }
    expect(await driver.endVisit(open)).toMatchObject(ended)
    expect(await driver.endVisit(open)).toMatchObject(ended)
    expect(stripe.house.need(open, 'checkout.session', 'id')).toMatchObject({ status: 'expired' })
    const used = await begin()
    stripe.house.payAt(used, WORKS)
    expect(await driver.endVisit(used)).toMatchObject({ status: 'saved', method: { last4: '4242' } })
  })

  test('keeps nothing that was taken off the customer since', async () => {
    const page = await begin()
    stripe.house.payAt(page, WORKS)
    const kept = (await driver.readVisit(page)).method
    await driver.forgetMethod(kept?.method_id ?? '')
    expect(await driver.readVisit(page)).toMatchObject({ status: 'ended', method: null })
  })
})

describe('events', () => {
  test('[B3] a webhook that is forged, old, dated ahead, of another account or kind of money is refused', async () => {
    const event = eventsOf((await charged()).intent_id)[0] as StripeEvent
    const seconds = Math.floor(nowMs / 1_000)
    expect(driver.readWebhook(stripe.deliver(event, { at: seconds - 299 }))).toHaveLength(1)
    expect(driver.readWebhook(stripe.deliver(event, { at: seconds + 299 }))).toHaveLength(1)
    for (const wrong of [
      stripe.deliver(event, { at: seconds - 301 }),
      stripe.deliver(event, { at: seconds + 301 }),
      stripe.deliver(event, { secret: 'whsec_another0123' }),
      stripe.deliver(event, { changes: { livemode: true } }),
      stripe.deliver(event, { changes: { account: 'acct_other' } }),
    ]) {
      expect(() => driver.readWebhook(wrong)).toThrow(WebhookRefused)
    }
    expect(() => driver.readWebhook(stripe.deliver(event, { changes: { data: null } }))).toThrow(
      WebhookUnreadable,
    )
    // What is told of no payment is taken, and is nothing.
    expect(driver.readWebhook(stripe.deliver(event, { changes: { type: 'payout.paid' } }))).toEqual([])
  })

  test('what another program of the account does is nobody’s, and is asked about once at most', async () => {
    const foreign = stripe.house.makePage({ mode: 'payment', customer: stripe.house.makeCustomer({}).id })
    stripe.house.expire(foreign)
    const own = stripe.house.events.at(-1) as StripeEvent
    stripe.requests.length = 0
    expect(await completed([own])).toMatchObject([{ reference: null }])
    expect(stripe.requests).toEqual([])
    const gone = { ...own, data: { object: { id: 're_1', object: 'refund', payment_intent: 'pi_gone' } } }
    expect(await completed([{ ...gone, type: 'refund.created' }])).toMatchObject([{ reference: null }])
  })

  test('the list is read in pages; one odd event is logged and skipped', async () => {
    nowMs += 60_000
    const since = clock.now()
    const { intent_id } = await charged()
    const [event] = eventsOf(intent_id)
    for (let at = 0; at < 250; at += 1) {
      const odd = at === 7 ? { data: { object: 'odd' } } : {}
      stripe.house.events.push({ ...(event as StripeEvent), ...odd, id: `evt_${since.getTime()}_${at}` })
    }
    const listed: PlatformEvent[] = []
    for await (const page of driver.eventsSince(since)) listed.push(...page)
    expect(new Set(listed.map(({ event_id }) => event_id)).size).toBe(250)
    expect(logged).toHaveLength(1)
    expect(stripe.requests.filter(({ route }) => route === 'GET /v1/events')).toHaveLength(3)
  })
})

test.each(['4242424242424242', '', 'tok_visa', 'pi_1', 'pm_1;drop'])(
  '[R8.1] %j is entered at Stripe and not here',
  source => {
    expect(driver.identify(source)).toEqual({ accepted: false, failure: 'payment_page_required' })
  },
)

test.each([
  ['card_declined', 'fraudulent', 'card_declined'],
  ['card_declined', 'insufficient_funds', 'card_insufficient_funds'],
  ['card_declined', 'do_not_honor', 'card_declined'],
  ['incorrect_cvc', 'incorrect_cvc', 'card_incorrect_cvc'],
  ['payment_intent_authentication_failure', null, 'payment_not_confirmed'],
  ['something_new', null, 'payment_failed'],
])('[R8.1] %s, %s is %s to customers', (code, decline_code, failure) => {
  expect(failureOf({ code, decline_code })).toBe(failure)
})

function requestOf(changes: Partial<IntentRequest> = {}): IntentRequest {
  return {
    reference: randomUUID(),
    customer: randomUUID(),
    amount_cents: 2_500,
    currency: 'USD',
    source: 'checkout',
    return_url: RETURN_URL,
    ...changes,
  }
}

function keepOf(changes: Partial<MethodRequest>): MethodRequest {
  return {
    idempotency_key: randomUUID(),
    customer: randomUUID(),
    source: 'checkout',
    currency: 'USD',
    return_url: RETURN_URL,
    ...changes,
  }
}

/** A payment by a saved card that has succeeded. */
async function charged() {
  const request = requestOf({ source: stripe.house.card(WORKS) })
  const { intent_id } = await driver.createIntent(request)
  await driver.confirm({ intent_id, return_url: RETURN_URL })
  return { intent_id, reference: request.reference }
}

/** What is a customer of ours at Stripe, deleted ones too. */
function customersOf(customer: string): Thing[] {
  const isTheirs = ({ metadata }: Thing) => (metadata as { customer?: string }).customer === customer
  return stripe.house.all('customer').filter(isTheirs)
}

/** What banks do with Stripe's own numbers for disputes: the first time it is disputed, the second it may be won. */
function disputeByCard(intent: Thing): void {
  const kind = stripe.house.kindOf(intent)
  if (kind !== '4000000000000259' && kind !== '4000000000002685') return
  const known = stripe.house.all('dispute').find(one => one.payment_intent === intent.id)
  if (!known) stripe.house.dispute(intent.id, Number(intent.amount))
  else if (known.status !== 'won') stripe.house.endDispute(known.id, kind.endsWith('2685') ? 'won' : 'lost')
}

function paymentOf(pageId: string): string {
  return String(stripe.house.need(pageId, 'checkout.session', 'id').payment_intent)
}

/** The events of a payment intent, and of what belongs to it. */
function eventsOf(intentId: string): StripeEvent[] {
  return stripe.house.events.filter(({ data }) => {
    const about = data.object as { id?: string; payment_intent?: string }
    return about.id === intentId || about.payment_intent === intentId
  })
}

function eventsAbout(reference: string): StripeEvent[] {
  return stripe.house.events.filter(({ data }) => {
    return (data.object as { metadata?: { reference?: string } }).metadata?.reference === reference
  })
}

/** Events as webhooks bring them, with what they leave open. */
async function completed(events: StripeEvent[]): Promise<PlatformEvent[]> {
  const told = events.flatMap(event => driver.readWebhook(stripe.deliver(event)))
  return await Promise.all(
    told.map(async one => (one.incomplete ? ((await driver.complete?.(one)) ?? one) : one)),
  )
}
