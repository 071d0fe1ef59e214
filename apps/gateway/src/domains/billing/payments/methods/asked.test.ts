import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type StripeServer, startStripeServer } from '../../../../../test/stripe-server.ts'
import { type PaymentDriver, PaymentUnavailable } from '../../../../drivers/payments/port.ts'
import { createStripeDriver } from '../../../../drivers/payments/stripe/stripe-driver.ts'
import type { Billing } from '../../billing.ts'
import { type BillingFixture, createBillingFixture, topupRequest } from '../../billing-fixture.ts'
import { paymentMethod } from './tables.ts'

/**
 * Goal: a card whose bank wants its customer before it is kept comes to its end by what the platform says alone, and says
 * where it stands after a reload and in every tab (R3.7). Method: the whole domain, on test cards and on a double of Stripe.
 */

const ASKS = '4000002500003155'
const ASKS_AND_DECLINES = '4000008400001629'

let fixture: BillingFixture
let stripe: StripeServer
let stripeDriver: PaymentDriver
let userId: string
beforeAll(async () => {
  fixture = await createBillingFixture()
  const { db, clock, log } = fixture
  stripe = await startStripeServer(clock)
  stripeDriver = createStripeDriver({ db, clock, log, settings: stripe.settings, offered: true })
})
beforeEach(async () => {
  userId = await fixture.customer()
})
afterAll(async () => {
  await stripe.close()
  await fixture.database.drop()
})

interface Platform {
  billing: Billing
  add: (card?: string) => ReturnType<Billing['methods']['add']>
  answer: (nextUrl: string | null, isConfirmed: boolean) => Promise<unknown>
}

const platforms: Record<string, () => Platform> = {
  testcard: () => ({
    billing: fixture.billing,
    add: (source = ASKS) => fixture.billing.methods.add(userId, { platformName: 'testcard', source }),
    async answer(nextUrl, isConfirmed) {
      const token = nextUrl?.split('/').at(-1) ?? ''
      const form = new URLSearchParams({ answer: isConfirmed ? 'confirm' : 'refuse' })
      return await fixture.driver.embedded?.page({ method: 'POST', token, form, language: 'en' })
    },
  }),
  stripe: () => {
    const billing = fixture.replica({ payments: [stripeDriver] })
    return {
      billing,
      add: (card = ASKS) => {
        const source = stripe.house.card(card as Parameters<StripeServer['house']['card']>[0])
        return billing.methods.add(userId, { platformName: 'stripe', source })
      },
      answer: async (nextUrl, isConfirmed) =>
        stripe.house.answerSetup(nextUrl?.split('/').at(-1) ?? '', isConfirmed),
    }
  },
}
const names = Object.keys(platforms)
const on = (name: string): Platform => {
  const platform = platforms[name]
  if (!platform) throw new Error(`there is no ${name}`)
  return platform()
}
const rows = () => fixture.db.select().from(paymentMethod).where(eq(paymentMethod.userId, userId))

test.each(names)(
  '[R3.7] %s: where the bank asks is found again after a reload and in every tab, and the card is kept once it was confirmed there',
  async name => {
    const { billing, add, answer } = on(name)
    const { method, next_url } = await add()
    expect(method).toMatchObject({ status: 'saving', is_default: false, next_url })
    expect(next_url).toMatch(/./)
    for (let tab = 0; tab < 2; tab += 1) {
      expect(await billing.methods.listFresh(userId)).toMatchObject([{ id: method.id, next_url }])
    }
    // Whoever has the address may confirm: it stands nowhere as it is.
    const dump = JSON.stringify(await rows())
    expect(dump).not.toContain(next_url ?? '')
    await expect(billing.methods.makeDefault(userId, method.id, {})).rejects.toMatchObject({
      code: 'not_found',
    })
    expect((await billing.payable(userId)).payable).toBe(false)
    await answer(next_url, true)
    fixture.clock.advance(3)
    expect(await billing.methods.listFresh(userId)).toMatchObject([
      { id: method.id, status: 'saved', is_default: true, last4: '3155', next_url: null },
    ])
    const pay = { ...topupRequest(userId, { platformName: name, source: undefined }), methodId: method.id }
    expect(['settled', 'requires_action']).toContain((await billing.topUp(pay)).status)
  },
)

test.each([
  ['testcard', ASKS, false, 'payment_not_confirmed'],
  ['testcard', ASKS_AND_DECLINES, true, 'card_declined'],
  ['stripe', ASKS, false, 'payment_not_confirmed'],
  ['stripe', ASKS_AND_DECLINES, true, 'card_declined'],
])(
  '[R3.7] %s: card %s, confirmed: %s, is not kept; the list says why for a day, and it can be added again',
  async (name, card, isConfirmed, code) => {
    const { billing, add, answer } = on(name)
    const { method, next_url } = await add(card)
    await answer(next_url, isConfirmed)
    fixture.clock.advance(3)
    const refused = { id: method.id, status: 'refused', refused_for: code, next_url: null, is_default: false }
    expect(await billing.methods.listFresh(userId)).toMatchObject([refused])
    expect((await billing.payable(userId)).payable).toBe(false)
    fixture.clock.advance(23 * 3_600)
    await billing.methods.recover()
    expect(await billing.methods.list(userId)).toMatchObject([refused])
    const again = await add(card)
    expect(again.method).toMatchObject({ status: 'saving' })
    expect(again.method.id).not.toBe(method.id)
    fixture.clock.advance(3_601)
    await billing.methods.recover()
    expect((await billing.methods.list(userId)).map(({ id }) => id)).toEqual([again.method.id])
    // What is still asked can be removed, and so can what was refused.
    await answer(again.next_url, false)
    await billing.methods.recover()
    await billing.methods.remove(userId, again.method.id)
    expect(await billing.methods.list(userId)).toEqual([])
    fixture.clock.advance(24 * 3_600)
    await billing.methods.recover()
    expect(await rows()).toEqual([])
  },
)

test.each(names)(
  '[R3.7] %s: a card that is removed while its bank asks is never kept, whatever is answered there afterwards',
  async name => {
    const { billing, add, answer } = on(name)
    const { method, next_url } = await add()
    await billing.methods.remove(userId, method.id)
    expect(await rows()).toEqual([])
    await answer(next_url, true).catch(() => {})
    fixture.clock.advance(3_600)
    await billing.methods.recover()
    expect(await billing.methods.listFresh(userId)).toEqual([])
    const customer = stripe.house.all('customer').find(one => JSON.stringify(one).includes(userId))
    const cards = stripe.house.all('payment_method').filter(pm => customer && pm.customer === customer.id)
    expect(cards).toEqual([])
  },
)

test.each(names)('[R3.7] %s: what nobody answers for a day is given up, and asks no more', async name => {
  const { billing, add, answer } = on(name)
  const { next_url } = await add()
  const visit = (await rows())[0]?.platformPageId ?? ''
  const driver = name === 'stripe' ? stripeDriver : fixture.driver
  expect(await driver.readVisit(visit)).toMatchObject({ status: 'open' })
  fixture.clock.advance(25 * 3_600)
  await billing.methods.recover()
  fixture.clock.advance(1)
  await billing.methods.recover()
  expect(await rows()).toEqual([])
  await answer(next_url, true).catch(() => {})
  expect(await driver.readVisit(visit)).toMatchObject({ status: 'ended', method: null })
  expect(await billing.methods.listFresh(userId)).toEqual([])
})

test('[B3] [R3.7] an answer that was lost asks the bank once: recovery finds the same question, and what came of it', async () => {
  const { billing, add, answer } = on('stripe')
  stripe.breakNext('lost', /POST .*setup_intents$/)
  await expect(add()).rejects.toMatchObject({ code: 'payment_pending' })
  const asked = () => stripe.house.all('setup_intent').filter(({ status }) => status === 'requires_action')
  const [setup, ...others] = asked()
  expect(others).toEqual([])
  fixture.clock.advance(60)
  await billing.methods.recover()
  const [method] = await billing.methods.list(userId)
  expect(method?.next_url).toContain(setup?.id)
  expect(asked()).toHaveLength(1)
  await answer(method?.next_url ?? '', true)
  fixture.clock.advance(3_600)
  await Promise.all([billing.methods.recover(), billing.methods.recover()])
  expect(await billing.methods.list(userId)).toMatchObject([{ status: 'saved', last4: '3155' }])
})

test('[R3.7] a card that was paid with and confirmed then is kept without being asked for again', async () => {
  const { billing, answer } = on('testcard')
  const paid = await billing.topUp({ ...topupRequest(userId, { source: ASKS }), savesMethod: true })
  await answer(paid.next_url, true)
  fixture.clock.advance(3_600)
  await billing.recoverTopups()
  await billing.methods.recover()
  expect(await billing.methods.list(userId)).toMatchObject([
    { status: 'saved', last4: '3155', next_url: null },
  ])
})

test('a platform that hangs holds the list up no longer than a page would wait, and is asked once for many looks', async () => {
  const { next_url } = await on('testcard').add()
  let asked = 0
  const hanging = { ...fixture.driver, readVisit: () => new Promise<never>(() => asked++) }
  const billing = fixture.replica({ payments: [hanging] })
  const began = performance.now()
  const looks = await Promise.all(Array.from({ length: 4 }, () => billing.methods.listFresh(userId)))
  expect(performance.now() - began).toBeLessThan(20_000)
  for (const look of looks) expect(look).toMatchObject([{ status: 'saving', next_url }])
  expect(asked).toBe(1)
  fixture.clock.advance(3)
  const failing = { ...fixture.driver, readVisit: () => Promise.reject(new PaymentUnavailable('away')) }
  const away = fixture.replica({ payments: [failing] })
  expect(await away.methods.listFresh(userId)).toMatchObject([{ status: 'saving', next_url }])
})
