import { and, eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type StripeServer, startStripeServer } from '../../../../../test/stripe-server.ts'
import { createStripeDriver } from '../../../../drivers/payments/stripe/stripe-driver.ts'
import { stripeCustomer } from '../../../../drivers/payments/tables.ts'
import { accountDeleted } from '../../../identity/events.ts'
import type { Billing } from '../../billing.ts'
import { type BillingFixture, createBillingFixture, topupRequest } from '../../billing-fixture.ts'
import { paymentIntent } from '../tables.ts'
import { leavingCustomer, paymentMethod } from './tables.ts'

/**
 * Goal: what a row names is what Stripe has, however often a card is kept, removed and kept again (R3.7).
 * Method: the whole domain, with the driver against a double of Stripe.
 */

const WORKS = '4242424242424242'

let fixture: BillingFixture
let stripe: StripeServer
let billing: Billing
let userId: string
beforeAll(async () => {
  fixture = await createBillingFixture()
  const { db, clock, log } = fixture
  stripe = await startStripeServer(clock)
  const driver = createStripeDriver({ db, clock, log, settings: stripe.settings, offered: true })
  billing = fixture.replica({ payments: [driver] })
})
beforeEach(async () => {
  userId = await fixture.customer()
})
afterAll(async () => {
  await stripe.close()
  await fixture.database.drop()
})

const add = (source: string) => billing.methods.add(userId, { platformName: 'stripe', source })
const list = () => billing.methods.list(userId)
const rows = () => fixture.db.select().from(paymentMethod).where(eq(paymentMethod.userId, userId))
const pay = (methodId: string) =>
  billing.topUp(topupRequest(userId, { platformName: 'stripe', source: undefined, methodId }))
const pageOf = (nextUrl: string | null) => nextUrl?.split('/').at(-1) ?? ''
async function recover(): Promise<void> {
  fixture.clock.advance(3_600)
  await billing.methods.recover()
}

test('[R3.7] the same card is one row, however it is entered, and is forgotten with that alone', async () => {
  const { method } = await add(stripe.house.card(WORKS, 'fp_same'))
  fixture.clock.advance(1)
  expect((await add(stripe.house.card(WORKS, 'fp_same'))).method.id).toBe(method.id)
  expect(await list()).toHaveLength(1)
  // Two visits at once, of which one is finished by two gateways.
  const visits = [await add('checkout'), await add('checkout')]
  for (const { next_url } of visits) stripe.house.payAt(pageOf(next_url), '5555555555554444')
  for (const pm of stripe.house.all('payment_method')) {
    if ((pm.card as { last4?: string }).last4 === '4444')
      Object.assign(pm.card ?? {}, { fingerprint: 'fp_page' })
  }
  await Promise.all([recover(), recover()])
  await recover()
  const kept = await list()
  expect(kept.map(({ last4, status }) => [last4, status])).toEqual([
    ['4242', 'saved'],
    ['4444', 'saved'],
  ])
  for (const { id } of kept) expect(await pay(id)).toMatchObject({ status: 'settled' })
})

test('[R3.7] a card is kept with the payment that it is entered for, at either place, where its customer says so and it is paid', async () => {
  const payWith = (source: string, savesMethod: boolean) =>
    billing.topUp(topupRequest(userId, { platformName: 'stripe', source, savesMethod }))
  const kept = async () => {
    fixture.clock.advance(3_600)
    await billing.recoverTopups()
    await recover()
    return (await list()).map(({ last4, status }) => [last4, status])
  }
  // At Stripe's page: first without being kept, then with it, the first card there being declined.
  stripe.house.payAt(pageOf((await payWith('checkout', false)).next_url), WORKS)
  expect(await kept()).toEqual([])
  const page = pageOf((await payWith('checkout', true)).next_url)
  stripe.house.payAt(page, '4000000000000002')
  stripe.house.payAt(page, WORKS)
  expect(await kept()).toEqual([['4242', 'saved']])
  // In our own form, where Stripe's script has named it.
  expect(await payWith(stripe.house.card('5555555555554444'), false)).toMatchObject({ status: 'settled' })
  await expect(payWith(stripe.house.card('4000000000000002'), true)).rejects.toMatchObject({
    code: 'card_declined',
  })
  expect(await kept()).toHaveLength(1)
  await payWith(stripe.house.card('5555555555554444'), true)
  expect((await list()).map(({ last4 }) => last4)).toEqual(['4242', '4444'])
  for (const { id } of await list()) expect(await pay(id)).toMatchObject({ status: 'settled' })
  expect(await billing.checkBooks()).toEqual([])
})

test('[R3.7] a card that another row names is not forgotten at the platform', async () => {
  const { method } = await add(stripe.house.card(WORKS, 'fp_named'))
  const [row] = await rows()
  if (!row) throw new Error('nothing was kept')
  // As versions before have left it.
  const twin = { ...row, id: fixture.ids.uuid(), fingerprint: 'another', isDefault: false }
  await fixture.db.insert(paymentMethod).values(twin)
  await billing.methods.remove(userId, `m_${twin.id}`)
  expect(await rows()).toHaveLength(1)
  expect(await pay(method.id)).toMatchObject({ status: 'settled' })
  await billing.methods.remove(userId, method.id)
  expect(stripe.house.need(row.platformMethodId ?? '', 'payment_method', 'id')).toMatchObject({
    customer: null,
  })
})

test('[R3.7] a card that is kept again while the platform is to forget it stays, and what charges it goes on', async () => {
  const { method } = await add(stripe.house.card(WORKS, 'fp_again'))
  stripe.breakNext('dropped', /POST .*payment_intents$/)
  await expect(pay(method.id)).rejects.toMatchObject({ code: 'payment_pending' })
  await billing.methods.remove(userId, method.id)
  fixture.clock.advance(1)
  const { method: again } = await add(stripe.house.card(WORKS, 'fp_again'))
  expect(again).toMatchObject({ status: 'saved', source: method.source, is_default: true })
  await recover()
  await billing.recoverTopups()
  expect(await billing.balanceCents(userId)).toBe(2_500)
  const isOpen = and(eq(paymentIntent.userId, userId), eq(paymentIntent.state, 'created'))
  expect(await fixture.db.$count(paymentIntent, isOpen)).toBe(0)
  expect(await rows()).toHaveLength(1)
  expect(await pay(again.id)).toMatchObject({ status: 'settled' })
  expect(await billing.checkBooks()).toEqual([])
})

test('[R3.7] what the platform is forgetting at the moment is kept only once it has, and as another one', async () => {
  const { method } = await add(stripe.house.card(WORKS, 'fp_late'))
  stripe.breakNext('dropped', /detach/)
  await billing.methods.remove(userId, method.id)
  await expect(add(stripe.house.card(WORKS, 'fp_late'))).rejects.toMatchObject({ code: 'payment_pending' })
  await recover()
  await recover()
  const [kept] = await list()
  expect(kept).toMatchObject({ status: 'saved' })
  expect(kept?.source).not.toBe(method.source)
  expect(await pay(kept?.id ?? '')).toMatchObject({ status: 'settled' })
})

test('[R3.7] a visit that is removed takes no card any more; one that was used before keeps none', async () => {
  const { method, next_url } = await add('checkout')
  await billing.methods.remove(userId, method.id)
  expect(stripe.house.need(pageOf(next_url), 'checkout.session', 'id')).toMatchObject({ status: 'expired' })
  const used = await add('checkout')
  stripe.house.payAt(pageOf(used.next_url), WORKS)
  await billing.methods.remove(userId, used.method.id)
  expect(await rows()).toEqual([])
  const attached = stripe.house.all('payment_method').filter(({ customer }) => customer === customerOf())
  expect(attached).toEqual([])
})

test('[R3.7] an account that is deleted leaves no customer at the platform, once that answers', async () => {
  await add(stripe.house.card(WORKS))
  await pay((await list())[0]?.id ?? '')
  const { next_url } = await add('checkout')
  const customer = customerOf()
  stripe.breakNext('dropped', /DELETE/)
  // A call that was under way may have added something: it is told more than once.
  for (let time = 0; time < 2; time += 1) await fixture.events.hear(accountDeleted, { userId })
  await billing.methods.recover()
  expect(stripe.house.need(customer, 'customer', 'id').deleted).not.toBe(true)
  expect(stripe.house.need(pageOf(next_url), 'checkout.session', 'id')).toMatchObject({ status: 'expired' })
  await recover()
  expect(stripe.house.things.get(customer)).toMatchObject({ deleted: true })
  expect(await fixture.db.$count(stripeCustomer, eq(stripeCustomer.userId, userId))).toBe(0)
  expect(await fixture.db.$count(leavingCustomer, eq(leavingCustomer.userId, userId))).toBe(0)
  const made = stripe.house.all('customer').length
  await fixture.events.hear(accountDeleted, { userId })
  await recover()
  expect(stripe.house.all('customer')).toHaveLength(made)
})

test('[R3.7] a customer whose card a platform has not forgotten yet is forgotten after it', async () => {
  await add(stripe.house.card(WORKS))
  await fixture.events.hear(accountDeleted, { userId })
  stripe.breakNext('dropped', /detach/)
  await billing.methods.recover()
  expect(stripe.house.need(customerOf(), 'customer', 'id').deleted).not.toBe(true)
  const customer = customerOf()
  await recover()
  await recover()
  expect(stripe.house.things.get(customer)).toMatchObject({ deleted: true })
  expect(await rows()).toEqual([])
})

/** The customer's customer at Stripe. */
function customerOf(): string {
  const isTheirs = stripe.house
    .all('customer')
    .find(({ metadata }) => (metadata as { customer?: string }).customer === userId)
  return isTheirs?.id ?? ''
}
