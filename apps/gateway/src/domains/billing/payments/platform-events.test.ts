import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type PaymentDriver, PaymentUnavailable, type PlatformEvent } from '../../../drivers/payments/port.ts'
import { type BillingFixture, createBillingFixture, topupRequest } from '../billing-fixture.ts'

/** Goal: what a platform tells moves its own payments alone, and nothing of it is lost, however late it is listed (B3). */

/** It asks its customer to confirm, so that the payment stays open. */
const ASKS = '4000 0025 0000 3155'

let fixture: BillingFixture
let userId: string
beforeAll(async () => {
  fixture = await createBillingFixture()
})
beforeEach(async () => {
  userId = await fixture.customer()
})
afterAll(() => fixture.database.drop())

/** A payment that waits, and the event that says that it was paid. */
async function paidLater(afterSeconds: number): Promise<PlatformEvent> {
  const { transaction_id } = await fixture.billing.topUp(topupRequest(userId, { source: ASKS }))
  return {
    ...{ event_id: randomUUID(), reference: transaction_id.slice(2), intent_id: null },
    ...{ status: 'succeeded', failure: null, next_url: null, refunded_cents: 0, refunds_failed_cents: 0 },
    occurred_at: new Date(fixture.clock.now().getTime() + afterSeconds * 1_000),
  }
}

/** The platform with a list of its own. */
const listing = (events: () => PlatformEvent[], changes: Partial<PaymentDriver> = {}) =>
  fixture.replica({
    payments: [
      {
        ...fixture.driver,
        async *eventsSince(since) {
          yield events().filter(({ occurred_at }) => occurred_at >= since)
        },
        ...changes,
      },
    ],
  })
const cents = () => fixture.billing.balanceCents(userId)

test("[B3] a platform moves no payment of another platform's, whatever it names", async () => {
  const event = await paidLater(0)
  const delivery = { body: new Uint8Array(), headers: {} }
  const told = { ...fixture.driver, readWebhook: () => [event] }
  const both = fixture.replica({ payments: [told, { ...told, name: 'other' }] })
  await both.receiveWebhook('other', delivery)
  expect(await cents()).toBe(0)
  await both.receiveWebhook('testcard', delivery)
  expect(await cents()).toBe(2_500)
})

test("[B3] an event that names a payment by another id of the platform's changes nothing, and stands in the log", async () => {
  const event = await paidLater(0)
  const told = (changes: Partial<PlatformEvent>) => {
    const readWebhook = () => [{ ...event, event_id: randomUUID(), ...changes }]
    const platform = fixture.replica({ payments: [{ ...fixture.driver, readWebhook }] })
    return platform.receiveWebhook('testcard', { body: new Uint8Array(), headers: {} })
  }
  await told({ intent_id: 'pi_of_somebody_else' })
  expect(await cents()).toBe(0)
  const [waiting] = await fixture.billing.openTopups(userId)
  expect(waiting).toMatchObject({ status: 'requires_action', next_url: expect.stringMatching(/./) })
  const { rows } = await fixture.db.execute<{ id: string }>(
    sql`select platform_intent_id as id from payment_intent where id = ${event.reference}`,
  )
  await told({ intent_id: rows[0]?.id ?? '' })
  expect(await cents()).toBe(2_500)
})

test('[B3] an event that could not be explained is asked for again, though a newer one was taken', async () => {
  const [older, newer] = [await paidLater(0), await paidLater(3_600)]
  let asked = 0
  const platform = listing(() => [{ ...older, incomplete: true }, newer], {
    async complete({ incomplete: _, ...event }) {
      asked += 1
      if (asked === 1) throw new PaymentUnavailable('nobody is there')
      return event
    },
  })
  await platform.recoverTopups()
  expect(await cents()).toBe(2_500)
  fixture.clock.advance(15)
  await platform.recoverTopups()
  expect(await cents()).toBe(5_000)
  await platform.recoverTopups()
  expect(asked).toBe(2)
})

test('[B3] an event that is listed some minutes after a newer one is found', async () => {
  fixture.clock.advance(2 * 3_600)
  const events = [await paidLater(0)]
  const late = await paidLater(-240)
  const platform = listing(() => events)
  await platform.recoverTopups()
  expect(await cents()).toBe(2_500)
  events.push(late)
  await platform.recoverTopups()
  expect(await cents()).toBe(5_000)
})
