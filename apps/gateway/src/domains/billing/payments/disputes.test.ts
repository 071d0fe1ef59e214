import { randomUUID } from 'node:crypto'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { PaymentUnavailable, type PlatformEvent } from '../../../drivers/payments/port.ts'
import {
  type BillingFixture,
  createBillingFixture,
  instance,
  topupRequest,
  UNIT,
} from '../billing-fixture.ts'
import { disputeWon, paymentDisputed, topUpPaid } from '../events.ts'
import { paymentEvent, paymentIntent, paymentRefund } from './tables.ts'

/**
 * Goal: what a bank takes for a dispute, and what of it it gives back, moves the money once, however it is told, and
 * beside refunds of the same payment (B2, B3).
 * Method: events of a platform's list of calls, told through the port.
 */

let fixture: BillingFixture
let userId: string
let intentId: string
beforeAll(async () => {
  fixture = await createBillingFixture()
})
afterAll(() => fixture.database.drop())
beforeEach(async () => {
  userId = await fixture.customer()
  const { transaction_id } = await fixture.billing.topUp(topupRequest(userId))
  intentId = transaction_id.slice(2)
})

test('[B2] a dispute takes the cash, a won one puts it back, and list, mails and books say so', async () => {
  await tell({ disputed_cents: 2_500 })
  expect(await totals()).toEqual({ cash: 0, owed: 0 })
  expect(await listed()).toMatchObject([
    {
      status: 'settled',
      amount_micro: '-25000000',
      about: { refund_reason: 'dispute', credit_reason: null },
    },
  ])
  // It is no refund: the payment stays what it was.
  expect(await state()).toBe('succeeded')
  await tell({ disputed_cents: 2_500, disputes_won_cents: 2_500 })
  expect(await totals()).toEqual({ cash: 2_500, owed: 0 })
  expect(await listed()).toMatchObject([{ status: 'failed', about: { refund_reason: 'dispute' } }])
  expect(told()).toEqual([
    [topUpPaid.name, 2_500],
    [paymentDisputed.name, 2_500],
    [disputeWon.name, 2_500],
  ])
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[B2] what of a disputed payment was spent is owed; the next cash pays it, and a won dispute forgives the rest', async () => {
  const subject = instance(`i-${randomUUID()}`)
  await fixture.db.transaction(tx => fixture.billing.hold(tx, { userId, subject, amountMicro: 20n * UNIT }))
  await tell({ disputed_cents: 2_500 })
  expect(await totals()).toEqual({ cash: 2_000, owed: 2_000 })
  await fixture.billing.topUp(topupRequest(userId, { amountCents: 500 }))
  expect(await totals()).toEqual({ cash: 2_000, owed: 1_500 })
  await tell({ disputed_cents: 2_500, disputes_won_cents: 2_500 })
  expect(await totals()).toEqual({ cash: 3_000, owed: 0 })
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test.each([
  ['in order', [0, 1, 2, 3]],
  ['backwards', [3, 2, 1, 0]],
  ['each twice', [1, 1, 0, 3, 3, 2, 2, 0]],
])('[B3] refunds and disputes of one payment come to the same, told %s', async (_, order) => {
  const steps: Telling[] = [
    { refunded_cents: 1_000 },
    { disputed_cents: 1_500 },
    { refunded_cents: 1_000, refunds_failed_cents: 400 },
    { disputed_cents: 1_500, disputes_won_cents: 500 },
  ]
  for (const at of order) await Promise.all([tell(steps[at] ?? {}), tell(steps[at] ?? {})])
  // 25.00, less 6.00 that arrived, less 10.00 that the bank keeps.
  expect(await totals()).toEqual({ cash: 900, owed: 0 })
  expect(await state()).toBe('partly_refunded')
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[B2] the audit sees a dispute that is in its row alone, or called a refund', async () => {
  await tell({ disputed_cents: 1_000 })
  expect(await fixture.billing.checkBooks()).toEqual([])
  const ours = eq(paymentRefund.intentId, intentId)
  await fixture.db.update(paymentRefund).set({ reason: 'refund' }).where(ours)
  expect((await fixture.billing.checkBooks()).join()).toContain('a payment has the disputes that it says')
  await fixture.db.update(paymentRefund).set({ reason: 'dispute' }).where(ours)
  const payment = eq(paymentIntent.id, intentId)
  await fixture.db.update(paymentIntent).set({ disputedCents: 900 }).where(payment)
  expect((await fixture.billing.checkBooks()).join()).toContain('a payment has the disputes that it says')
  await fixture.db.update(paymentIntent).set({ disputedCents: 1_000 }).where(payment)
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[B3] an event that leaves open how far is asked about once, and is not noted while nobody answers', async () => {
  const event = eventOf({ reference: null, incomplete: true })
  let asked = 0
  let answers = false
  const driver = {
    ...fixture.driver,
    readWebhook: () => [event],
    async complete({ incomplete: _, ...known }: PlatformEvent): Promise<PlatformEvent> {
      asked += 1
      if (!answers) throw new PaymentUnavailable('no answer')
      return { ...known, reference: intentId, disputed_cents: 700 }
    },
  }
  const billing = fixture.replica({ payments: [driver] })
  const delivery = { body: new Uint8Array(), headers: {} }
  await expect(billing.receiveWebhook('testcard', delivery)).rejects.toBeInstanceOf(PaymentUnavailable)
  expect(await fixture.db.$count(paymentEvent, eq(paymentEvent.eventId, event.event_id))).toBe(0)
  answers = true
  await billing.receiveWebhook('testcard', delivery)
  await billing.receiveWebhook('testcard', delivery)
  expect(asked).toBe(2)
  expect(await totals()).toEqual({ cash: 1_800, owed: 0 })
})

test('[B3] a platform’s own page says later what was paid with, and the same key is still the same top-up', async () => {
  const driver = {
    ...fixture.driver,
    entry: 'hosted' as const,
    identify: () => ({ accepted: true, reference: 'visa_3155', card: { brand: 'Page', last4: '' } }) as const,
    readWebhook: () => [paid],
  }
  const billing = fixture.replica({ payments: [driver] })
  const request = topupRequest(userId, { source: 'checkout' })
  const asked = await billing.topUp(request)
  expect(asked.status).toBe('requires_action')
  const paid = eventOf({
    reference: asked.transaction_id.slice(2),
    intent_id: null,
    status: 'succeeded',
    card: { brand: 'Visa', last4: '4242' },
  })
  await billing.receiveWebhook('testcard', { body: new Uint8Array(), headers: {} })
  expect(await billing.topup(userId, asked.transaction_id)).toMatchObject({
    status: 'settled',
    card: { brand: 'Visa', last4: '4242' },
  })
  expect(await billing.topUp(request)).toMatchObject({ transaction_id: asked.transaction_id })
  await expect(billing.topUp({ ...request, amountCents: 100 })).rejects.toMatchObject({
    code: 'idempotency_key_reused',
  })
})

type Telling = Partial<
  Pick<PlatformEvent, 'refunded_cents' | 'refunds_failed_cents' | 'disputed_cents' | 'disputes_won_cents'>
>

function eventOf(changes: Partial<PlatformEvent>): PlatformEvent {
  return {
    event_id: `evt_${randomUUID()}`,
    occurred_at: fixture.clock.now(),
    reference: intentId,
    intent_id: null,
    status: null,
    failure: null,
    refunded_cents: 0,
    refunds_failed_cents: 0,
    next_url: null,
    ...changes,
  }
}

async function tell(sums: Telling): Promise<void> {
  const driver = { ...fixture.driver, readWebhook: () => [eventOf(sums)] }
  await fixture
    .replica({ payments: [driver] })
    .receiveWebhook('testcard', { body: new Uint8Array(), headers: {} })
}

async function totals() {
  const { cashMicro, owedMicro } = await fixture.billing.totals(fixture.db, userId)
  return { cash: Number(cashMicro / 10_000n), owed: Number(owedMicro / 10_000n) }
}

async function state(): Promise<string | undefined> {
  const [row] = await fixture.db.select().from(paymentIntent).where(eq(paymentIntent.id, intentId))
  return row?.state
}

async function listed() {
  return (await fixture.billing.transactions(userId, { page: 1, page_size: 20, type: 'refund' })).items
}

/** What other domains were told of the customer, with its amounts. */
function told() {
  return fixture.events.told
    .map(({ event, payload }) => ({ event, payload: payload as { userId: string; amountCents: number } }))
    .filter(({ payload }) => payload.userId === userId)
    .map(({ event, payload }) => [event, payload.amountCents])
}
