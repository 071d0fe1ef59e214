import { PAYMENT_METHODS_PER_USER_MAX } from '@berth/contract/limits'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type PaymentDriver, PaymentUnavailable } from '../../../../drivers/payments/port.ts'
import { testcardIntent, testcardMethod } from '../../../../drivers/payments/tables.ts'
import { accountDeleted } from '../../../identity/events.ts'
import { type BillingFixture, createBillingFixture, topupRequest } from '../../billing-fixture.ts'
import { paymentIntent } from '../tables.ts'
import { paymentMethod } from './tables.ts'

const VISA = '4242 4242 4242 4242'
const MASTERCARD = '5555 5555 5555 4444'

let fixture: BillingFixture
let userId: string

beforeAll(async () => {
  fixture = await createBillingFixture()
})
beforeEach(async () => {
  await fixture.db.delete(paymentMethod)
  await fixture.db.delete(testcardMethod)
  userId = await fixture.customer()
})
afterAll(() => fixture.database.drop())

const add = (source = VISA, billing = fixture.billing) =>
  billing.methods.add(userId, { platformName: 'testcard', source })
const list = () => fixture.billing.methods.list(userId)

/** A platform that does not answer what is asked of it. */
function away(changes: Partial<PaymentDriver>) {
  return fixture.replica({ payments: [{ ...fixture.driver, ...changes }] })
}
const silent = () => Promise.reject(new PaymentUnavailable('nobody is there'))

test('[R3.7] the first card is the default, another is made it, and removing it makes the newest the default', async () => {
  const { method: visa } = await add()
  expect(visa).toMatchObject({
    brand: 'Visa',
    last4: '4242',
    is_default: true,
    status: 'saved',
    expired: false,
  })
  const { method: mastercard } = await add(MASTERCARD)
  expect(mastercard.is_default).toBe(false)
  await fixture.billing.methods.makeDefault(userId, mastercard.id, { source: mastercard.source })
  expect((await list()).map(({ last4, is_default }) => [last4, is_default])).toEqual([
    ['4444', true],
    ['4242', false],
  ])
  await fixture.billing.methods.remove(userId, mastercard.id)
  expect(await list()).toMatchObject([{ last4: '4242', is_default: true }])
  expect(await fixture.db.select().from(testcardMethod)).toHaveLength(1)
})

test('[R3.7] a card is kept once, however often and at the same time it is added', async () => {
  await Promise.all([add(), add(), add()])
  await add()
  expect(await list()).toHaveLength(1)
  expect(await fixture.db.select().from(testcardMethod)).toHaveLength(1)
})

test('of a card that the platform refuses the list says nothing, and no more than so many are kept', async () => {
  await expect(add('4000000000000069')).rejects.toMatchObject({ code: 'card_expired' })
  expect(await list()).toEqual([])
  const full = Array.from({ length: PAYMENT_METHODS_PER_USER_MAX }, (_, at) => ({
    id: fixture.ids.uuid(),
    userId,
    platformName: 'testcard',
    state: 'saving' as const,
    fingerprint: String(at),
    brand: 'Visa',
    last4: '0000',
    createdAt: fixture.clock.now(),
  }))
  await fixture.db.insert(paymentMethod).values(full)
  await expect(add()).rejects.toMatchObject({ code: 'payment_method_limit' })
})

test('what the platform did not answer is kept, or forgotten, by recovery; what it never answers is given up', async () => {
  await expect(add(VISA, away({ saveMethod: silent }))).rejects.toMatchObject({ code: 'payment_pending' })
  expect(await list()).toMatchObject([{ status: 'saving', is_default: false }])
  await fixture.billing.methods.recover()
  const [saved] = await list()
  expect(saved).toMatchObject({ status: 'saved', is_default: true })
  await away({ forgetMethod: silent }).methods.remove(userId, saved?.id ?? '')
  expect(await list()).toEqual([])
  expect(await fixture.db.select().from(testcardMethod)).toHaveLength(1)
  fixture.clock.advance(3_600)
  await fixture.billing.methods.recover()
  expect(await fixture.db.select().from(testcardMethod)).toEqual([])
  expect(await fixture.db.select().from(paymentMethod)).toEqual([])
  const lost = away({ saveMethod: silent })
  await expect(add(VISA, lost)).rejects.toMatchObject({ code: 'payment_pending' })
  fixture.clock.advance(25 * 3_600)
  await lost.methods.recover()
  expect(await fixture.db.select().from(paymentMethod)).toEqual([])
})

test('[R2.22] a saved card pays, once for each key; an expired one and a stranger’s do not', async () => {
  const { method } = await add()
  const request = { ...topupRequest(userId), source: undefined, methodId: method.id }
  await fixture.billing.topUp(request)
  await fixture.billing.topUp(request)
  expect(await fixture.billing.balanceCents(userId)).toBe(2_500)
  const stranger = await fixture.customer()
  const foreign = { ...topupRequest(stranger), source: undefined, methodId: method.id }
  await expect(fixture.billing.topUp(foreign)).rejects.toMatchObject({ code: 'not_found' })
  await fixture.db.update(paymentMethod).set({ expiryYear: 2020 })
  expect(await list()).toMatchObject([{ expired: true }])
  await expect(
    fixture.billing.topUp({ ...request, idempotencyKey: fixture.ids.uuid() }),
  ).rejects.toMatchObject({ code: 'card_expired' })
})

test('[R2.22] a saved card is charged by the platform that keeps it, and by no other', async () => {
  const other = { ...fixture.driver, name: 'other' }
  const billing = fixture.replica({ payments: [fixture.driver, other] })
  const { method } = await billing.methods.add(userId, { platformName: 'testcard', source: VISA })
  const request = {
    ...topupRequest(userId, { platformName: 'other' }),
    source: undefined,
    methodId: method.id,
  }
  await expect(billing.topUp(request)).rejects.toMatchObject({
    code: 'validation_failed',
    fields: [{ path: 'platform_name', rule: 'not_allowed' }],
  })
  expect(await billing.balanceCents(userId)).toBe(0)
})

test('[R2.22] [R3.7] a card is charged to the last second of its month, and not from the first of the next', async () => {
  const { method } = await add()
  const now = fixture.clock.now()
  const [expiryYear, month] = [now.getUTCFullYear(), now.getUTCMonth()]
  await fixture.db.update(paymentMethod).set({ expiryYear, expiryMonth: month + 1 })
  const pay = () => fixture.billing.topUp({ ...topupRequest(userId), source: undefined, methodId: method.id })
  expect(await list()).toMatchObject([{ expired: false }])
  fixture.clock.advance((Date.UTC(expiryYear, month + 1) - now.getTime()) / 1_000 - 1)
  expect(await pay()).toMatchObject({ status: 'settled' })
  fixture.clock.advance(1)
  expect(await list()).toMatchObject([{ expired: true }])
  await expect(pay()).rejects.toMatchObject({ code: 'card_expired' })
  expect(await fixture.billing.balanceCents(userId)).toBe(2_500)
})

test('[R2.22] what was entered is kept when it was paid, and not when it was refused', async () => {
  const request = { ...topupRequest(userId), savesMethod: true }
  await fixture.billing.topUp(request)
  await fixture.billing.topUp(request)
  expect(await list()).toMatchObject([{ last4: '4242', status: 'saved', is_default: true }])
  const refused = { ...topupRequest(userId, { source: '4000000000000002' }), savesMethod: true }
  await expect(fixture.billing.topUp(refused)).rejects.toMatchObject({ code: 'card_declined' })
  expect(await list()).toHaveLength(1)
})

test('a card that is being charged is forgotten by the platform only afterwards', async () => {
  const { method } = await add()
  const request = { ...topupRequest(userId), source: undefined, methodId: method.id }
  await expect(away({ createIntent: silent }).topUp(request)).rejects.toMatchObject({
    code: 'payment_pending',
  })
  await fixture.billing.methods.remove(userId, method.id)
  expect(await fixture.db.select().from(testcardMethod)).toHaveLength(1)
  await fixture.billing.recoverTopups()
  expect(await fixture.billing.balanceCents(userId)).toBe(2_500)
  fixture.clock.advance(3_600)
  await fixture.billing.methods.recover()
  expect(await fixture.db.select().from(testcardMethod)).toEqual([])
})

test('an account that is deleted has all of its cards forgotten', async () => {
  await add()
  await fixture.events.hear(accountDeleted, { userId })
  await fixture.billing.methods.recover()
  expect(await fixture.db.select().from(testcardMethod)).toEqual([])
})

test('a payment begins by card, or keeps it where no amount is said; its page is where the customer goes on', async () => {
  const begin = (paymentMethod: string, amountCents?: number) =>
    fixture.billing.beginPayment({ userId, idempotencyKey: fixture.ids.uuid(), paymentMethod, amountCents })
  expect(await fixture.billing.payable(userId)).toMatchObject({
    payable: false,
    reason: 'payment_method_required',
  })
  const kept = await begin(VISA)
  expect(kept).toMatchObject({ status: 'settled', transaction_id: null, client_secret: null })
  expect(await fixture.billing.payable(userId)).toMatchObject({ payable: true, by: 'payment_method' })
  expect(await begin(kept.payment_method_id ?? '', 2_500)).toMatchObject({ status: 'settled' })
  expect(await fixture.billing.payable(userId)).toMatchObject({ payable: true, by: 'balance' })
  expect((await fixture.billing.checkoutUrl(userId)).url).toMatch(/\/payments\?topup=open$/)
  const asked = await begin('4000 0025 0000 3155', 2_500)
  expect(asked.status).toBe('requires_action')
  const page = await fixture.billing.checkoutUrl(userId)
  expect(page).toMatchObject({ transaction_id: asked.transaction_id })
  expect(page.url).toContain('/gateway/pay/testcard/')
  const intents = await fixture.db.select().from(paymentIntent).where(eq(paymentIntent.userId, userId))
  expect(intents).toHaveLength(2)
  expect((await fixture.db.select().from(testcardIntent)).length).toBeGreaterThan(1)
})
