import { randomUUID } from 'node:crypto'
import { and, eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { PaymentUnavailable, type PlatformEvent } from '../../../../drivers/payments/port.ts'
import { type BillingFixture, createBillingFixture, topupRequest, UNIT } from '../../billing-fixture.ts'
import { whileLocked } from '../../wallet-lock-fixture.ts'
import { paymentMethod } from '../methods/tables.ts'
import { paymentIntent } from '../tables.ts'
import { autoTopup } from './tables.ts'

/** Goal: auto top-up charges no sooner, no more and nothing else than its customer has said (R3.9). */

const GOOD = '4242 4242 4242 4242'
const POOR = '4000 0000 0000 9995'

let fixture: BillingFixture
let userId: string
beforeAll(async () => {
  fixture = await createBillingFixture()
})
beforeEach(async () => {
  await fixture.db.delete(autoTopup)
  userId = await fixture.customer()
})
afterAll(async () => {
  expect(await fixture.billing.checkBooks()).toEqual([])
  await fixture.database.drop()
})

const keep = async (source: string, of = userId) =>
  (await fixture.billing.methods.add(of, { platformName: 'testcard', source })).method
const set = (changes: object = {}, of = userId) =>
  fixture.billing.autoTopup.set(of, {
    ...{ enabled: true, threshold: 1_000, amount: 2_500, monthly_cap: 5_000, payment_method_id: null },
    ...changes,
  })
const get = () => fixture.billing.autoTopup.get(userId)
const run = () => fixture.billing.autoTopup.run()
const charges = async (of = userId) =>
  await fixture.db
    .select()
    .from(paymentIntent)
    .where(and(eq(paymentIntent.userId, of), eq(paymentIntent.origin, 'auto')))

test('[R3.9] the cap counts what it charged by itself: neither what was refused nor what was paid by hand', async () => {
  await keep(POOR)
  await set({ threshold: 1_000_000 })
  await run()
  expect(await get()).toMatchObject({ status: 'backing_off', charged_this_month: 0 })
  await fixture.billing.methods.makeDefault(userId, (await keep(GOOD)).id, {})
  await set({ threshold: 1_000_000 })
  await fixture.billing.topUp(topupRequest(userId))
  for (let round = 0; round < 3; round += 1) await run()
  expect(await get()).toMatchObject({ status: 'capped', charged_this_month: 5_000 })
  expect(await fixture.billing.balanceCents(userId)).toBe(7_500)
})

test('[R3.9] what is under way counts for the cap', async () => {
  await keep(GOOD)
  await set()
  const silent = () => Promise.reject(new PaymentUnavailable('nobody is there'))
  await fixture.replica({ payments: [{ ...fixture.driver, confirm: silent }] }).autoTopup.run()
  expect(await get()).toMatchObject({ status: 'charging', charged_this_month: 2_500 })
  await fixture.billing.recoverTopups()
  expect(await get()).toMatchObject({ status: 'waiting', charged_this_month: 2_500 })
})

test('[R3.9] a balance at the threshold is left alone, and one below it is topped up', async () => {
  await keep(GOOD)
  await fixture.billing.topUp(topupRequest(userId, { amountCents: 1_000 }))
  await set({ threshold: 1_000 })
  await run()
  expect(await charges()).toEqual([])
  // What is set aside is not available.
  await fixture.hold({ userId, instanceId: `i-${randomUUID()}`, amountMicro: 1n })
  await run()
  expect(await charges()).toHaveLength(1)
})

test('[R3.9] money that comes while it looks is seen before it charges', async () => {
  await keep(GOOD)
  await set()
  const grant = { id: randomUUID(), userId, amountMicro: 20n * UNIT, kind: 'bonus', reason: 'test' } as const
  await whileLocked(fixture, userId, {
    change: tx => fixture.billing.grantCredit(tx, grant),
    meanwhile: run,
  })
  expect(await charges()).toEqual([])
})

test.each([
  ['was turned off', () => ({ enabled: false })],
  ['was refused', () => ({ declines: 1, nextTryAt: new Date(fixture.clock.now().getTime() + 3_600_000) })],
])('[R3.9] what %s while it looks is seen before it charges', async (_, now) => {
  await keep(GOOD)
  await set()
  await whileLocked(fixture, userId, {
    change: tx => tx.update(autoTopup).set(now()).where(eq(autoTopup.userId, userId)),
    meanwhile: run,
  })
  expect(await charges()).toEqual([])
})

test('[R3.9] a charge that succeeds forgets the refusals before it', async () => {
  await keep(POOR)
  await set()
  await run()
  await fixture.billing.methods.makeDefault(userId, (await keep(GOOD)).id, {})
  fixture.clock.advance(3_601)
  await run()
  expect(await get()).toMatchObject({
    status: 'waiting',
    refused_at: null,
    refused_for: null,
    next_try_at: null,
  })
})

test('[R3.9] [B3] a charge that succeeds after all, though it was told as refused, is forgotten as a refusal', async () => {
  await keep(POOR)
  await set()
  await run()
  const [charge] = await charges()
  const event: PlatformEvent = {
    ...{ event_id: randomUUID(), occurred_at: fixture.clock.now(), reference: charge?.id ?? '' },
    ...{ intent_id: null, status: 'succeeded', failure: null, next_url: null },
    ...{ refunded_cents: 0, refunds_failed_cents: 0 },
  }
  const platform = fixture.replica({ payments: [{ ...fixture.driver, readWebhook: () => [event] }] })
  await platform.receiveWebhook('testcard', { body: new Uint8Array(), headers: {} })
  expect(await fixture.billing.balanceCents(userId)).toBe(2_500)
  expect(await get()).toMatchObject({ status: 'waiting', refused_for: null })
})

test('[R3.9] an expired card is neither chosen nor charged, and said to be so', async () => {
  await keep(GOOD)
  await set()
  await fixture.db.update(paymentMethod).set({ expiryYear: 2020 }).where(eq(paymentMethod.userId, userId))
  await run()
  expect(await charges()).toEqual([])
  expect(await get()).toMatchObject({ status: 'backing_off', refused_for: 'card_expired' })
  await expect(set()).rejects.toMatchObject({ code: 'card_expired' })
})

test('[R3.9] a customer who cannot be charged keeps nobody else from it', async () => {
  const customers = [userId, await fixture.customer(), await fixture.customer()]
  for (const of of customers) {
    await keep(GOOD, of)
    await set({}, of)
  }
  const [broken = ''] = customers.toSorted()
  await fixture.db.execute(
    sql.raw(`alter table payment_intent add constraint broken check (user_id <> '${broken}') not valid`),
  )
  await run()
  await fixture.db.execute(sql`alter table payment_intent drop constraint broken`)
  const begun = await Promise.all(customers.map(async of => (await charges(of)).length))
  expect(begun).toEqual(customers.map(of => (of === broken ? 0 : 1)))
})
