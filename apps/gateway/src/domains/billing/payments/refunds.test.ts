import { randomUUID } from 'node:crypto'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { SIGNATURE_HEADER, signWebhook } from '../../../drivers/payments/testcard/testcard-signature.ts'
import {
  type BillingFixture,
  createBillingFixture,
  instance,
  topupRequest,
  UNIT,
  WEBHOOK_SECRET,
} from '../billing-fixture.ts'
import { paymentRefunded, refundFailed, topUpPaid } from '../events.ts'
import { paymentEvent, paymentIntent, paymentRefund } from './tables.ts'

/**
 * Goal: what a platform gives back, and what of it does not arrive, moves the money once, however it is told (B2, B3).
 * Method: events made by hand, signed as the platform signs them, about a payment that the platform itself leaves
 * alone.
 */

let fixture: BillingFixture
let userId: string
/** The payment's row. */
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

test('[B2] a refund that fails puts the cash back, and the list and the books say so', async () => {
  await tell({ refunded: 1_000 })
  expect(await cash()).toBe(1_500)
  expect(await state()).toBe('partly_refunded')
  await tell({ refunded: 1_000, failed: 1_000 })
  expect(await cash()).toBe(2_500)
  expect(await state()).toBe('succeeded')
  const [refund] = await listed()
  expect(refund).toMatchObject({ status: 'failed', amount_micro: '-10000000', cash_amount_micro: '0' })
  expect(told()).toEqual([
    [topUpPaid.name, 2_500],
    [paymentRefunded.name, 1_000],
    [refundFailed.name, 1_000],
  ])
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test("[R6.4] nobody lists another customer's refunds, nor opens or exports them", async () => {
  await tell({ refunded: 1_000 })
  const [refund] = await listed()
  const stranger = await fixture.customer()
  const page = { page: 1, page_size: 20 }
  for (const query of [page, { ...page, type: 'refund' as const }]) {
    expect(await fixture.billing.transactions(stranger, query)).toMatchObject({ items: [], total: 0 })
  }
  expect(refund?.id).toMatch(/^r_/)
  await expect(fixture.receipt(stranger, refund?.id ?? '')).rejects.toMatchObject({ code: 'not_found' })
  expect((await fixture.billing.invoices.list(stranger, page)).items).toEqual([])
})

test('[B2] a customer from whom nothing can be collected holds up none of the others', async () => {
  const owing: { userId: string; subject: ReturnType<typeof instance> }[] = []
  for (const id of [userId, await fixture.customer()].toSorted()) {
    userId = id
    const { transaction_id } = await fixture.billing.topUp(topupRequest(userId))
    intentId = transaction_id.slice(2)
    const subject = instance(`i-${randomUUID()}`)
    const { cashMicro: amountMicro } = await fixture.billing.totals(fixture.db, userId)
    await fixture.db.transaction(tx => fixture.billing.hold(tx, { userId, subject, amountMicro }))
    await tell({ refunded: 1_000 })
    owing.push({ userId, subject })
  }
  for (const { userId, subject } of owing) {
    await fixture.db.transaction(tx => fixture.billing.releaseHold(tx, { userId, subject }))
  }
  const [first, second] = owing
  const name = sql.raw('cannot_be_collected')
  await fixture.db.execute(sql`alter table payment_refund add constraint ${name}
    check (user_id <> ${sql.raw(`'${first?.userId}'`)} or repaid_micro = 0)`)
  await fixture.billing.recoverTopups()
  const owed = async (of = '') => (await fixture.billing.totals(fixture.db, of)).owedMicro
  expect([await owed(first?.userId), await owed(second?.userId)]).toEqual([10n * UNIT, 0n])
  await fixture.db.execute(sql`alter table payment_refund drop constraint ${name}`)
  await fixture.billing.recoverTopups()
  expect(await owed(first?.userId)).toBe(0n)
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[B2] what was owed of a refund that fails is owed no more; what was repaid comes back', async () => {
  await setAside(20n * UNIT)
  await tell({ refunded: 2_500 })
  expect(await totals()).toEqual({ cash: 2_000, owed: 2_000 })
  // The next cash pays a part of it.
  await fixture.billing.topUp(topupRequest(userId, { amountCents: 500 }))
  expect(await totals()).toEqual({ cash: 2_000, owed: 1_500 })
  await tell({ refunded: 2_500, failed: 1_000 })
  expect(await totals()).toEqual({ cash: 2_000, owed: 500 })
  await tell({ refunded: 2_500, failed: 2_500 })
  expect(await totals()).toEqual({ cash: 3_000, owed: 0 })
  // Of what failed nothing is owed, rather than repaid from what came back.
  const [refund] = await fixture.db.select().from(paymentRefund).where(eq(paymentRefund.intentId, intentId))
  expect(refund).toMatchObject({ owedMicro: 5n * UNIT, repaidMicro: 5n * UNIT })
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[B2] what is owed is paid part by part, by as many top-ups as it takes, and the rest is cash', async () => {
  await setAside(20n * UNIT)
  await tell({ refunded: 2_500 })
  for (const owed of [1_500, 1_000, 500, 0, 0]) {
    // The parts are alike, and are not taken for one.
    await fixture.billing.topUp(topupRequest(userId, { amountCents: 500 }))
    expect((await totals()).owed).toBe(owed)
  }
  expect(await totals()).toEqual({ cash: 2_500, owed: 0 })
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[B2] a part of several refunds that fails is taken off the newest, and they can be given again', async () => {
  await tell({ refunded: 1_000 })
  await tell({ refunded: 2_500 })
  await tell({ refunded: 2_500, failed: 2_000 })
  expect(await parts()).toEqual([
    { amountCents: 1_000, failedCents: 500 },
    { amountCents: 1_500, failedCents: 1_500 },
  ])
  const [newest, oldest] = await listed()
  expect(newest).toMatchObject({ status: 'failed' })
  expect(oldest).toMatchObject({ status: 'settled', amount_micro: '-5000000', cash_amount_micro: '-5000000' })
  await tell({ refunded: 4_500, failed: 2_000 })
  expect(await cash()).toBe(0)
  expect(await state()).toBe('refunded')
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test.each([
  ['in order', [0, 1, 2, 3]],
  ['backwards', [3, 2, 1, 0]],
  ['the failure first', [2, 0, 1, 3]],
  ['each twice', [1, 1, 0, 2, 2, 3, 3, 0]],
])('[B3] refunds and their failures come to the same, told %s', async (_, order) => {
  const steps = [
    { refunded: 1_000 },
    { refunded: 2_500 },
    { refunded: 2_500, failed: 1_500 },
    { refunded: 3_000, failed: 1_500 },
  ]
  for (const at of order) await tell(steps[at] ?? {})
  expect(await cash()).toBe(1_000)
  expect(await state()).toBe('partly_refunded')
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[B3] one event moves money once, however often it comes and however many take it at once', async () => {
  const id = `evt_${randomUUID()}`
  await Promise.all(Array.from({ length: 10 }, () => tell({ refunded: 1_000, id })))
  expect(await cash()).toBe(1_500)
  expect(await parts()).toEqual([{ amountCents: 1_000, failedCents: 0 }])
  expect(await fixture.db.$count(paymentEvent, eq(paymentEvent.eventId, id))).toBe(1)
  // Also under ids of its own each: it is the sum that counts.
  await Promise.all(Array.from({ length: 10 }, () => tell({ refunded: 1_000 })))
  await Promise.all(Array.from({ length: 10 }, () => tell({ refunded: 1_000, failed: 1_000 })))
  expect(await cash()).toBe(2_500)
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[B3] a success that is told after a failure is booked once; refunds that were told before it follow it', async () => {
  const { transaction_id } = await fixture.billing.topUp(
    topupRequest(userId, { source: '4000002500003155', amountCents: 800 }),
  )
  intentId = transaction_id.slice(2)
  await tell({ status: 'failed' })
  expect(await state()).toBe('failed')
  await tell({ refunded: 300, failed: 100 })
  expect([await state(), await cash()]).toEqual(['failed', 2_500])
  await Promise.all([tell({ status: 'succeeded' }), tell({ status: 'succeeded' })])
  expect([await state(), await cash()]).toEqual(['partly_refunded', 3_100])
  await tell({ status: 'failed' })
  expect([await state(), await cash()]).toEqual(['partly_refunded', 3_100])
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[B2] the audit sees a refund that came back in its row alone, or in the books alone', async () => {
  await tell({ refunded: 1_000, failed: 400 })
  expect(await fixture.billing.checkBooks()).toEqual([])
  const ours = eq(paymentRefund.intentId, intentId)
  await fixture.db.update(paymentRefund).set({ failedCents: 300 }).where(ours)
  expect((await fixture.billing.checkBooks()).length).toBeGreaterThanOrEqual(2)
  await fixture.db.update(paymentRefund).set({ failedCents: 400 }).where(ours)
  expect(await fixture.billing.checkBooks()).toEqual([])
})

interface Telling {
  id?: string
  status?: 'succeeded' | 'failed'
  refunded?: number
  failed?: number
}

/** Sends an event about the payment: of its status, or of all refunds so far. */
async function tell({
  id = `evt_${randomUUID()}`,
  status,
  refunded = 0,
  failed = 0,
}: Telling): Promise<void> {
  const [row] = await fixture.db.select().from(paymentIntent).where(eq(paymentIntent.id, intentId))
  const body = Buffer.from(
    JSON.stringify({
      id,
      type: status ? 'intent.moved' : 'intent.refunded',
      created: fixture.clock.now().toISOString(),
      intent: {
        id: row?.platformIntentId,
        reference: intentId,
        status: status ?? 'succeeded',
        failure: status === 'failed' ? 'card_declined' : null,
        refunded_cents: refunded,
        refunds_failed_cents: failed,
      },
    }),
  )
  const signature = signWebhook(WEBHOOK_SECRET, body, fixture.clock.now())
  await fixture.billing.receiveWebhook('testcard', { body, headers: { [SIGNATURE_HEADER]: signature } })
}

async function setAside(amountMicro: bigint): Promise<void> {
  const subject = instance(`i-${randomUUID()}`)
  await fixture.db.transaction(tx => fixture.billing.hold(tx, { userId, subject, amountMicro }))
}

async function totals() {
  const { cashMicro, owedMicro } = await fixture.billing.totals(fixture.db, userId)
  return { cash: Number(cashMicro / 10_000n), owed: Number(owedMicro / 10_000n) }
}

const cash = async () => (await totals()).cash

async function state(): Promise<string | undefined> {
  const [row] = await fixture.db.select().from(paymentIntent).where(eq(paymentIntent.id, intentId))
  return row?.state
}

/** The payment's refunds, oldest first. */
async function parts() {
  return await fixture.db
    .select({ amountCents: paymentRefund.amountCents, failedCents: paymentRefund.failedCents })
    .from(paymentRefund)
    .where(eq(paymentRefund.intentId, intentId))
    .orderBy(sql`created_at, id`)
}

/** The refunds as customers see them, newest first. */
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
