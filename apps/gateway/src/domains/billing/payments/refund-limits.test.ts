import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { PaymentUnavailable, type PlatformEvent } from '../../../drivers/payments/port.ts'
import { type BillingFixture, createBillingFixture, topupRequest, UNIT } from '../billing-fixture.ts'

/** Goal: what goes back to a customer is never more than stayed of a payment, nor than their wallet can give (R6.5, B2). */

let fixture: BillingFixture
let userId: string
let first: string
let second: string
beforeAll(async () => {
  fixture = await createBillingFixture()
})
beforeEach(async () => {
  userId = await fixture.customer()
  first = (await fixture.billing.topUp(topupRequest(userId))).transaction_id
  second = (await fixture.billing.topUp(topupRequest(userId))).transaction_id
})
afterAll(async () => {
  expect(await fixture.billing.checkBooks()).toEqual([])
  await fixture.database.drop()
})

const refund = (paymentId: string, amountCents?: number, billing = fixture.billing) =>
  billing.refunds.create({
    id: randomUUID(),
    paymentId,
    ...(amountCents === undefined ? {} : { amountCents }),
  })

/** What a platform says by itself of the first payment. */
async function tell(sums: Partial<PlatformEvent>): Promise<void> {
  const event: PlatformEvent = {
    ...{ event_id: randomUUID(), occurred_at: fixture.clock.now(), reference: first.slice(2) },
    ...{ intent_id: null, status: null, failure: null, next_url: null },
    ...{ refunded_cents: 0, refunds_failed_cents: 0, ...sums },
  }
  const platform = fixture.replica({ payments: [{ ...fixture.driver, readWebhook: () => [event] }] })
  await platform.receiveWebhook('testcard', { body: new Uint8Array(), headers: {} })
}

test('[R3.8] [R6.5] credits are never paid out: neither by an operator, nor where the platform gives back what was spent', async () => {
  const instanceId = `i-${userId}`
  await fixture.open({ userId, instanceId, rateMicroPerHour: 40n * UNIT })
  fixture.clock.advance(3_600)
  await fixture.close({ userId, instanceId })
  const credits = { id: randomUUID(), userId, amountMicro: 30n * UNIT, kind: 'demo', reason: 'demo' } as const
  await fixture.db.transaction(tx => fixture.billing.grantCredit(tx, credits))
  await expect(refund(first, 1_001)).rejects.toThrow(/spent cannot be refunded.* 1000 cents/)
  await tell({ refunded_cents: 2_500 })
  expect(await fixture.billing.totals(fixture.db, userId)).toMatchObject({
    cashMicro: 0n,
    availableMicro: 30n * UNIT,
    owedMicro: 15n * UNIT,
  })
})

test('[R6.5] of a payment that a bank disputes, only the rest is refunded', async () => {
  await tell({ disputed_cents: 1_000 })
  await expect(refund(first, 1_501)).rejects.toThrow('1500 cents are left')
  expect(await refund(first)).toMatchObject({ amountCents: 1_500, state: 'done' })
  expect(await fixture.billing.balanceCents(userId)).toBe(2_500)
})

test('[R6.5] what was asked for of one payment is not given away with another', async () => {
  await fixture.hold({ userId, instanceId: `i-${userId}`, amountMicro: 30n * UNIT })
  const lost = { ...fixture.driver, refund: () => Promise.reject(new PaymentUnavailable('lost')) }
  expect(await refund(first, 1_500, fixture.replica({ payments: [lost] }))).toMatchObject({ state: 'asked' })
  await expect(refund(second, 501)).rejects.toThrow(/spent cannot be refunded.* 500 cents/)
  expect(await refund(second, 500)).toMatchObject({ state: 'done' })
  fixture.clock.advance(60)
  await fixture.billing.recoverTopups()
  expect(await fixture.billing.totals(fixture.db, userId)).toMatchObject({
    availableMicro: 0n,
    owedMicro: 0n,
  })
})
