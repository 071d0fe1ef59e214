import { and, eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { PaymentUnavailable } from '../../../../drivers/payments/port.ts'
import { type BillingFixture, createBillingFixture, topupRequest } from '../../billing-fixture.ts'
import { paymentIntent } from '../tables.ts'
import { autoTopup } from './tables.ts'

let fixture: BillingFixture
let userId: string

beforeAll(async () => {
  fixture = await createBillingFixture()
})
beforeEach(async () => {
  await fixture.db.delete(autoTopup)
  fixture.events.told.length = 0
  userId = await fixture.customer()
})
afterAll(() => fixture.database.drop())

const SETTINGS = {
  enabled: true,
  threshold: 1_000,
  amount: 2_500,
  monthly_cap: 5_000,
  payment_method_id: null,
}

const silent = () => Promise.reject(new PaymentUnavailable('nobody is there'))
/** A gateway whose platform does not answer one question. */
const cutOff = (question: 'createIntent' | 'confirm') =>
  fixture.replica({ payments: [{ ...fixture.driver, [question]: silent }] })
/** Another platform, which is offered. */
const stripeLike = () => ({ ...fixture.driver, name: 'stripe-like' })

const keep = (source: string) => fixture.billing.methods.add(userId, { platformName: 'testcard', source })
const set = (changes: object = {}) => fixture.billing.autoTopup.set(userId, { ...SETTINGS, ...changes })
const get = () => fixture.billing.autoTopup.get(userId)
const run = () => fixture.billing.autoTopup.run()
const cents = () => fixture.billing.balanceCents(userId)
const news = () =>
  fixture.events.told.flatMap(({ event, payload }) =>
    event === 'auto-top-up.news' ? [(payload as { news: string }).news] : [],
  )
const attempts = () =>
  fixture.db
    .select()
    .from(paymentIntent)
    .where(and(eq(paymentIntent.userId, userId), eq(paymentIntent.origin, 'auto')))

test('[R3.9] a balance below is topped up once, by two gateways at the same time, and the list says by what', async () => {
  await expect(set()).rejects.toMatchObject({ code: 'payment_method_required' })
  expect((await get()).status).toBe('off')
  await keep('4242 4242 4242 4242')
  expect(await set()).toMatchObject({ enabled: true, status: 'waiting', card: { last4: '4242' } })
  const other = fixture.replica({})
  await Promise.all([run(), other.autoTopup.run(), run()])
  expect(await cents()).toBe(2_500)
  expect(await attempts()).toHaveLength(1)
  await run()
  expect(await attempts()).toHaveLength(1)
  const { items } = await fixture.billing.transactions(userId, { page: 1, page_size: 10 })
  expect(items).toMatchObject([{ type: 'topup', about: { origin: 'auto' } }])
  expect(await get()).toMatchObject({ charged_this_month: 2_500 })
})

test('[R3.9] refusals back off, are told, and turn it off after three in a row', async () => {
  await keep('4000 0000 0000 9995')
  await set()
  await run()
  await run()
  expect(await attempts()).toHaveLength(1)
  expect(await get()).toMatchObject({ status: 'backing_off', refused_for: 'card_insufficient_funds' })
  fixture.clock.advance(3_601)
  await run()
  fixture.clock.advance(3_601)
  await run()
  expect(await attempts()).toHaveLength(2)
  fixture.clock.advance(24 * 3_600)
  await run()
  expect(await get()).toMatchObject({ enabled: false, status: 'declined', refused_card: { last4: '9995' } })
  expect(news()).toEqual(['declined', 'declined', 'turned_off'])
  fixture.clock.advance(48 * 3_600)
  await run()
  expect(await attempts()).toHaveLength(3)
  expect(await cents()).toBe(0)
})

test('[R3.9] the cap of a month is never passed, is told once, and ends with the month', async () => {
  await keep('4242 4242 4242 4242')
  await set({ threshold: 1_000_000 })
  for (let round = 0; round < 4; round += 1) await run()
  expect(await cents()).toBe(5_000)
  expect(await get()).toMatchObject({ status: 'capped', charged_this_month: 5_000 })
  await set({ threshold: 900_000 })
  await run()
  expect(news()).toEqual(['capped'])
  fixture.clock.advance(31 * 24 * 3_600)
  await run()
  expect(await cents()).toBe(7_500)
})

test('[R3.9] a charge that a platform left open over the end of a month is begun anew, and counts for the month that it is made in', async () => {
  await keep('4242 4242 4242 4242')
  await set({ threshold: 1_000_000 })
  await cutOff('createIntent').autoTopup.run()
  fixture.clock.advance(31 * 24 * 3_600)
  await fixture.billing.recoverTopups()
  expect(await cents()).toBe(0)
  for (let round = 0; round < 4; round += 1) await run()
  expect(await cents()).toBe(5_000)
  expect(await get()).toMatchObject({ status: 'capped', charged_this_month: 5_000, refused_for: null })
})

test('[R3.9] a charge that is cut off is finished once by recovery, and nothing else is begun meanwhile', async () => {
  await keep('4242 4242 4242 4242')
  await set()
  await cutOff('confirm').autoTopup.run()
  expect(await get()).toMatchObject({ status: 'charging' })
  // That it is under way is known before the database has to refuse another one, every fifteen seconds.
  const logged = vi.spyOn(fixture.log, 'error')
  await run()
  expect(logged).not.toHaveBeenCalled()
  logged.mockRestore()
  expect(await attempts()).toHaveLength(1)
  await fixture.billing.recoverTopups()
  expect(await cents()).toBe(2_500)
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[R3.9] [R8.1] a card whose platform is offered no more tops nothing up, is refused at the form, and pays nothing', async () => {
  const { method } = await keep('4242 4242 4242 4242')
  await set()
  const later = fixture.replica({ payments: [{ ...fixture.driver, offered: false }, stripeLike()] })
  await later.autoTopup.run()
  expect(await attempts()).toEqual([])
  expect(await get()).toMatchObject({
    status: 'backing_off',
    refused_for: 'payment_platform_unknown',
    refused_card: { last4: '4242' },
  })
  expect(news()).toEqual(['declined'])
  await expect(later.autoTopup.set(userId, SETTINGS)).rejects.toMatchObject({
    code: 'payment_platform_unknown',
  })
  // What is off can be saved all the same.
  await later.autoTopup.set(userId, { ...SETTINGS, enabled: false })
  expect(await later.payable(userId)).toMatchObject({ payable: false, reason: 'payment_method_required' })
  const request = { ...topupRequest(userId), source: undefined, methodId: method.id }
  for (const platformName of ['testcard', 'stripe-like']) {
    await expect(later.topUp({ ...request, platformName })).rejects.toThrow()
  }
  const euros = fixture.replica({ payments: [{ ...fixture.driver, currencies: ['EUR'] }] })
  await expect(euros.autoTopup.set(userId, SETTINGS)).rejects.toMatchObject({
    code: 'payment_platform_unknown',
  })
  expect(await cents()).toBe(0)
})

const NOT_NEEDED = { threshold: 500 }

test.each<[string, object]>([
  ['turned off', { enabled: false }],
  ['set to another amount', { amount: 1_000 }],
  ['set to a cap that it passes', { threshold: 1_000_000, monthly_cap: 2_500 }],
  ['not needed any more', NOT_NEEDED],
])('[R3.9] a charge that a platform left open is not made once auto top-up was %s', async (_, changes) => {
  await keep('4242 4242 4242 4242')
  if ('monthly_cap' in changes) {
    await set()
    await run()
    await set({ threshold: 1_000_000 })
  } else await set()
  const had = await cents()
  await cutOff('createIntent').autoTopup.run()
  expect(await get()).toMatchObject({ status: 'charging' })
  await set(changes)
  // What a charge would be needed for is there already.
  if (changes === NOT_NEEDED) await fixture.billing.topUp(topupRequest(userId, { amountCents: 600 }))
  const before = await cents()
  await fixture.billing.recoverTopups()
  expect(await cents()).toBe(before)
  const ended = (await attempts()).filter(({ state }) => state === 'canceled')
  expect(ended).toHaveLength(1)
  // Nobody refused anything, so nothing is said.
  expect(await get()).toMatchObject({ refused_for: null })
  expect(news()).toEqual([])
  expect(had).toBeLessThanOrEqual(before)
})

test('[R3.9] a charge that a platform left open is not made of a card that is charged no more', async () => {
  const { method: visa } = await keep('4242 4242 4242 4242')
  const { method: mastercard } = await keep('5555 5555 5555 4444')
  await set({ payment_method_id: visa.id })
  await cutOff('confirm').autoTopup.run()
  await set({ payment_method_id: mastercard.id })
  await fixture.billing.recoverTopups()
  expect(await cents()).toBe(0)
  await run()
  expect(await cents()).toBe(2_500)
  expect((await attempts()).map(({ state, sourceLast4 }) => [state, sourceLast4]).toSorted()).toEqual([
    ['canceled', '4242'],
    ['succeeded', '4444'],
  ])
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[R5.9] the last method stays while it is on, and the one that it names', async () => {
  const { method: visa } = await keep('4242 4242 4242 4242')
  await set()
  expect(await fixture.billing.methods.list(userId)).toMatchObject([{ kept_for: 'payment_method_in_use' }])
  await expect(fixture.billing.methods.remove(userId, visa.id)).rejects.toMatchObject({
    code: 'payment_method_in_use',
  })
  const { method: mastercard } = await keep('5555 5555 5555 4444')
  await set({ payment_method_id: mastercard.id })
  await expect(fixture.billing.methods.remove(userId, mastercard.id)).rejects.toMatchObject({
    code: 'payment_method_in_use',
  })
  await fixture.billing.methods.remove(userId, visa.id)
  await set({ enabled: false })
  await fixture.billing.methods.remove(userId, mastercard.id)
  expect(await fixture.billing.methods.list(userId)).toEqual([])
})

test('[R3.9] what is refused of it leaves all as it was', async () => {
  await keep('4242 4242 4242 4242')
  await set()
  const before = await get()
  const unknown = `m_${fixture.ids.uuid()}`
  await expect(set({ amount: 3_000, payment_method_id: unknown })).rejects.toMatchObject({
    code: 'not_found',
  })
  expect(await get()).toEqual(before)
})
