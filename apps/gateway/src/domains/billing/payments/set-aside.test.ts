import { randomUUID } from 'node:crypto'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type PaymentDriver, PaymentUnavailable, type PlatformEvent } from '../../../drivers/payments/port.ts'
import { type BillingFixture, createBillingFixture, topupRequest } from '../billing-fixture.ts'
import { asidePauseMs } from './set-aside.ts'
import { paymentEvent, paymentEventAside, paymentFeed } from './tables.ts'

/**
 * Goal: an event that cannot be booked holds up no other, is lost by nobody, and is booked once when it can be (B3).
 * Method: the domain on its database, which refuses by a constraint to book a certain payment until it is mended.
 */

/** It asks its customer to confirm, so that the payment stays open. */
const ASKS = '4000 0025 0000 3155'
const HOUR_S = 3_600
const EVENTS = 20

let fixture: BillingFixture
let userId: string
beforeAll(async () => {
  fixture = await createBillingFixture()
})
beforeEach(async () => {
  userId = await fixture.customer()
})
afterAll(() => fixture.database.drop())

type Sums = Partial<Pick<PlatformEvent, 'status' | 'refunded_cents' | 'refunds_failed_cents' | 'incomplete'>>

/** What the platform says of a payment. */
function told(reference: string, sums: Sums = {}): PlatformEvent {
  return {
    ...{ event_id: `evt_${randomUUID()}`, reference, intent_id: null, occurred_at: fixture.clock.now() },
    ...{ status: 'succeeded', failure: null, next_url: null, refunded_cents: 0, refunds_failed_cents: 0 },
    ...sums,
  }
}

/** A payment of 25.00 that waits, as the platform knows it. */
async function waiting(of = userId): Promise<string> {
  const { transaction_id } = await fixture.billing.topUp(topupRequest(of, { source: ASKS }))
  return transaction_id.slice(2)
}

/** Another gateway, for which the platform lists these events; `list` is what they can be read from. */
const gateway = (list: () => PlatformEvent[], changes: Partial<PaymentDriver> = {}) =>
  fixture.replica({
    payments: [
      {
        ...fixture.driver,
        async *eventsSince(since) {
          yield list().filter(({ occurred_at }) => occurred_at >= since)
        },
        ...changes,
      },
    ],
  })
const delivery = { body: new Uint8Array(), headers: {} }
const cents = () => fixture.billing.balanceCents(userId)
const aside = () => fixture.db.select().from(paymentEventAside)
const readTo = async () => (await fixture.db.select().from(paymentFeed))[0]?.readTo

/** The database refuses to note that this payment succeeded, as by a constraint that we got wrong. @returns Mends it. */
async function refuseToBook(id: string): Promise<() => Promise<unknown>> {
  await fixture.db.execute(
    sql.raw(
      `alter table payment_intent add constraint got_wrong check (id <> '${id}' or state <> 'succeeded')`,
    ),
  )
  return () => fixture.db.execute(sql`alter table payment_intent drop constraint got_wrong`)
}

test.each([
  [1, 15_000],
  [2, 30_000],
  [8, 1_920_000],
  [9, 3_600_000],
  [5_000, 3_600_000],
])('after %i tries an event is left alone for %i ms', (tries, pauseMs) => {
  expect(asidePauseMs(tries)).toBe(pauseMs)
})

test('[B3] one event of twenty that always throws holds up none of the others, and is booked once when it can be', async () => {
  const customers = await Promise.all(Array.from({ length: EVENTS }, () => fixture.customer()))
  const payments = await Promise.all(customers.map(waiting))
  const sum = async () => {
    const all = await Promise.all(customers.map(customer => fixture.billing.balanceCents(customer)))
    return all.reduce((one, other) => one + other)
  }
  fixture.clock.advance(1)
  const events = payments.map(id => told(id))
  const [broken] = events
  const mend = await refuseToBook(broken?.reference ?? '')
  const first = gateway(() => events)
  await Promise.all([first.recoverTopups(), gateway(() => events).recoverTopups()])
  expect(await sum()).toBe((EVENTS - 1) * 2_500)
  expect(await aside()).toMatchObject([
    { eventId: broken?.event_id, reference: broken?.reference, tries: 1, via: 'list' },
  ])
  expect((await aside())[0]?.reason).toContain('got_wrong')
  // The list is not read from before it again, however long it stays.
  expect(await readTo()).toEqual(broken?.occurred_at)

  // A gateway that starts anew, whose platform tells the event no more, tries it in pauses that grow.
  const restarted = gateway(() => [])
  const tries: number[] = []
  for (let minute = 0; minute < 6 * 60; minute += 1) {
    fixture.clock.advance(60)
    await restarted.recoverTopups()
    tries.push((await aside())[0]?.tries ?? 0)
  }
  expect(tries.at(9)).toBe(6)
  expect(tries.at(-1)).toBeGreaterThanOrEqual(11)
  expect(tries.at(-1)).toBeLessThanOrEqual(14)
  expect(await sum()).toBe((EVENTS - 1) * 2_500)

  await mend()
  fixture.clock.advance(HOUR_S)
  // Two gateways at once, while the platform tells it to both once more.
  const again = { readWebhook: () => [broken as PlatformEvent] }
  const two = [gateway(() => events, again), gateway(() => events, again)]
  await Promise.all(two.flatMap(one => [one.recoverTopups(), one.receiveWebhook('testcard', delivery)]))
  for (const one of two) await one.recoverTopups()
  expect(await sum()).toBe(EVENTS * 2_500)
  expect(await aside()).toEqual([])
  const noted = eq(paymentEvent.eventId, broken?.event_id ?? '')
  expect(await fixture.db.$count(paymentEvent, noted)).toBe(1)
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[B3] a webhook that cannot be booked is taken and kept, those behind it in the same one are booked', async () => {
  const [bad, good] = [await waiting(), await waiting()]
  const mend = await refuseToBook(bad)
  const secret = '/gateway/pay/testcard/whoever-has-it-confirms'
  const event = { ...told(bad), next_url: secret }
  const one = gateway(() => [event], { readWebhook: () => [event, told(good)] })
  await one.receiveWebhook('testcard', delivery)
  expect(await cents()).toBe(2_500)
  expect(await aside()).toMatchObject([{ eventId: event.event_id, tries: 1, via: 'webhook' }])
  expect(JSON.stringify(await aside())).not.toContain(secret)
  await mend()
  // Told again, in both ways, it is not tried out of turn.
  await one.receiveWebhook('testcard', delivery)
  await one.recoverTopups()
  expect(await cents()).toBe(2_500)
  fixture.clock.advance(15)
  await one.recoverTopups()
  expect(await cents()).toBe(5_000)
  expect(await aside()).toEqual([])
})

test('[B3] an event that is booked after newer ones of its payment undoes nothing of them', async () => {
  const id = await waiting()
  const paid = told(id)
  const events = [
    { ...paid, incomplete: true as const },
    told(id, { status: null, refunded_cents: 1_000 }),
    told(id, { refunded_cents: 2_000 }),
    told(id, { status: null, refunded_cents: 2_000, refunds_failed_cents: 500 }),
  ]
  let asked = 0
  const one = gateway(() => events, {
    async complete({ incomplete: _, ...event }) {
      asked += 1
      if (asked === 1) throw new PaymentUnavailable('nobody is there')
      // What it says is older than what is known by then.
      return event
    },
  })
  await one.recoverTopups()
  expect(await cents()).toBe(1_000)
  expect(await aside()).toMatchObject([{ eventId: paid.event_id }])
  fixture.clock.advance(15)
  await one.recoverTopups()
  expect(asked).toBe(2)
  expect(await aside()).toEqual([])
  expect(await cents()).toBe(1_000)
  expect(await fixture.billing.topup(userId, `t_${id}`)).toMatchObject({ refunded_amount: 1_500 })
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[B2] the books name what is still set aside after six hours, and name it no more once it is booked', async () => {
  const id = await waiting()
  const event = told(id)
  const mend = await refuseToBook(id)
  const one = gateway(() => [event])
  await one.recoverTopups()
  fixture.clock.advance(6 * HOUR_S - 1)
  expect(await one.checkBooks()).toEqual([])
  fixture.clock.advance(1)
  await one.recoverTopups()
  const [problem, ...more] = await one.checkBooks()
  expect(more).toEqual([])
  expect(problem).toContain(
    `what a payment platform tells is booked: testcard ${event.event_id} of payment ${id}: `,
  )
  expect(problem).toMatch(/set aside since 2026-03-1\dT\d\d:\d\d:\d\dZ, tried 2 times, .*"got_wrong"$/)
  await mend()
  fixture.clock.advance(HOUR_S)
  await one.recoverTopups()
  expect(await one.checkBooks()).toEqual([])
  expect(await cents()).toBe(2_500)
})

test('[B3] what the database could not even set aside is read again', async () => {
  const id = await waiting()
  fixture.clock.advance(2 * HOUR_S)
  const before = await readTo()
  const event = told(id)
  const mend = await refuseToBook(id)
  await fixture.db.execute(sql`alter table payment_event_aside add constraint full_up check (tries > 1)`)
  const one = gateway(() => [event])
  await one.recoverTopups()
  expect(await aside()).toEqual([])
  expect(await readTo()).toEqual(before)
  await fixture.db.execute(sql`alter table payment_event_aside drop constraint full_up`)
  await mend()
  await one.recoverTopups()
  expect(await cents()).toBe(2_500)
})
