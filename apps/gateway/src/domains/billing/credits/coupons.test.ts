import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { PlatformEvent } from '../../../drivers/payments/port.ts'
import { openDatabase } from '../../../platform/database/open-database.ts'
import { type BillingFixture, createBillingFixture, topupRequest, UNIT } from '../billing-fixture.ts'
import type { NewCoupon } from './coupon-desk.ts'

let fixture: BillingFixture
beforeAll(async () => {
  fixture = await createBillingFixture()
})
afterAll(async () => {
  expect(await fixture.billing.checkBooks()).toEqual([])
  await fixture.database.drop()
})

const DAY = 86_400
const later = (seconds: number) => new Date(fixture.clock.now().getTime() + seconds * 1_000)
let made = 0

/** A coupon of 20.00 for everybody, once each, unless told otherwise. @returns Its code. */
async function makeCoupon(changes: Partial<NewCoupon> = {}): Promise<string> {
  made += 1
  const whole: NewCoupon = {
    ...{
      code: `LAUNCH${made}`,
      currency: 'USD' as const,
      amountMicro: 20n * UNIT,
      modelsOnly: false,
      endsAt: null,
    },
    ...{ perCustomerMax: 1, totalMax: null, firstTopupOnly: false, paidMinMicro: 0n, creditDays: 30 },
    ...changes,
  }
  return (await fixture.billing.couponDesk.create(whole))?.code ?? ''
}

const redeem = (userId: string, code: string, idempotencyKey: string = randomUUID()) =>
  fixture.billing.redeemCoupon({ userId, idempotencyKey, code })

test('[R3.8] a coupon is credit for as many days as it says, and is listed, typed in whatever case', async () => {
  const userId = await fixture.customer()
  const code = await makeCoupon({ code: 'Spring-5' })
  const lot = await redeem(userId, '  sPRING-5 ')
  expect(lot).toMatchObject({ kind: 'coupon', reason: code, left_micro: '20000000', status: 'active' })
  const balance = await fixture.billing.balance(userId)
  expect(balance).toMatchObject({
    account_balance: { amount: 2_000, amount_credits: 2_000 },
    coupon_count: 1,
  })
  const list = () => fixture.billing.coupons(userId, { page: 1, page_size: 10 })
  expect(await list()).toMatchObject({
    items: [
      {
        code: 'SPRING-5',
        amount: 2_000,
        status: 'active',
        effect_date: fixture.clock.now().toISOString(),
        expiration_date: later(30 * DAY).toISOString(),
      },
    ],
    total: 1,
  })
  await fixture.open({ userId, instanceId: `${userId}-a` })
  fixture.clock.advance(5 * 3_600)
  await fixture.close({ userId, instanceId: `${userId}-a` })
  const page = { page: 1, page_size: 10 }
  expect((await fixture.billing.transactions(userId, page)).items).toMatchObject([
    { type: 'usage', amount_micro: '-5000000', coupon_amount_micro: '-5000000', bonus_amount_micro: '0' },
    {
      type: 'credit',
      amount_micro: '20000000',
      coupon_amount_micro: '20000000',
      about: { credit_reason: code },
    },
  ])
  fixture.clock.advance(30 * DAY)
  expect((await list()).items).toMatchObject([{ status: 'expired', left_micro: '0' }])
  expect(await fixture.billing.balance(userId)).toMatchObject({ coupon_count: 0 })
  expect((await fixture.billing.transactions(userId, page)).items[0]).toMatchObject({
    ...{ type: 'credit', amount_micro: '-15000000', coupon_amount_micro: '-15000000' },
    about: { credit_reason: 'ended' },
  })
})

test('[R3.8] [R3.6] a coupon for models pays for models alone', async () => {
  const userId = await fixture.customer()
  expect(await redeem(userId, await makeCoupon({ modelsOnly: true }))).toMatchObject({ models_only: true })
  expect((await fixture.billing.balance(userId)).account_balance).toMatchObject({ amount_free: 2_000 })
  const hold = fixture.hold({ userId, instanceId: `${userId}-a`, amountMicro: 1n })
  await expect(hold).rejects.toMatchObject({ code: 'insufficient_balance' })
})

test('[R3.8] a coupon whose credits are used up says so', async () => {
  const userId = await fixture.customer()
  await redeem(userId, await makeCoupon({ amountMicro: UNIT }))
  await fixture.open({ userId, instanceId: `${userId}-a` })
  fixture.clock.advance(3_600)
  const { items } = await fixture.billing.coupons(userId, { page: 1, page_size: 10 })
  expect(items).toMatchObject([{ status: 'used', left_micro: '0' }])
  expect(await fixture.billing.balance(userId)).toMatchObject({ coupon_count: 0 })
  await fixture.close({ userId, instanceId: `${userId}-a` })
})

const REFUSED: [code: string, coupon: Partial<NewCoupon>, topupCents: number[]][] = [
  ['coupon_currency', { currency: 'EUR' }, []],
  ['coupon_first_topup_only', { firstTopupOnly: true }, []],
  ['coupon_first_topup_only', { firstTopupOnly: true }, [500, 500]],
  ['coupon_minimum', { paidMinMicro: 10n * UNIT }, [500]],
]
test.each(REFUSED)(
  '[R3.8] refused with %s, and nothing is given: %o, topped up %o',
  async (code, coupon, topups) => {
    const userId = await fixture.customer()
    for (const amountCents of topups) await fixture.billing.topUp(topupRequest(userId, { amountCents }))
    const before = await fixture.billing.balanceCents(userId)
    await expect(redeem(userId, await makeCoupon(coupon))).rejects.toMatchObject({ code })
    expect(await fixture.billing.balanceCents(userId)).toBe(before)
  },
)

test('[R3.8] it is there from its beginning and until its end, and as often as it says', async () => {
  const [first, second] = [await fixture.customer(), await fixture.customer()]
  const code = await makeCoupon({ startsAt: later(DAY), endsAt: later(2 * DAY), totalMax: 1 })
  await expect(redeem(first, `${code}x`)).rejects.toMatchObject({ code: 'coupon_not_found' })
  await expect(redeem(first, code)).rejects.toMatchObject({
    code: 'coupon_not_yet',
    values: { from: '2026-04-10 18:00 UTC' },
  })
  fixture.clock.advance(DAY)
  await redeem(first, code)
  await expect(redeem(first, code)).rejects.toMatchObject({ code: 'coupon_used' })
  await expect(redeem(second, code)).rejects.toMatchObject({ code: 'coupon_used_up' })
  fixture.clock.advance(DAY)
  await expect(redeem(second, code)).rejects.toMatchObject({ code: 'coupon_ended' })
})

test('[R3.8] what it asks of top-ups is met by those that stayed', async () => {
  const userId = await fixture.customer()
  const code = await makeCoupon({ firstTopupOnly: true, paidMinMicro: 10n * UNIT })
  const declined = topupRequest(userId, { amountCents: 1_000, source: '4000000000000002' })
  await expect(fixture.billing.topUp(declined)).rejects.toMatchObject({ code: 'card_declined' })
  await expect(redeem(userId, code)).rejects.toMatchObject({ code: 'coupon_first_topup_only' })
  await fixture.billing.topUp(topupRequest(userId, { amountCents: 1_000 }))
  expect(await redeem(userId, code)).toMatchObject({ status: 'active' })
})

/** Has the platform say what of a payment went back. */
async function tellBack(transactionId: string, sums: Partial<PlatformEvent>): Promise<void> {
  const event: PlatformEvent = {
    ...{ event_id: randomUUID(), occurred_at: fixture.clock.now(), reference: transactionId.slice(2) },
    ...{ intent_id: null, status: null, failure: null, next_url: null },
    ...{ refunded_cents: 0, refunds_failed_cents: 0, ...sums },
  }
  const driver = { ...fixture.driver, readWebhook: () => [event] }
  const platform = fixture.replica({ payments: [driver] })
  await platform.receiveWebhook('testcard', { body: new Uint8Array(), headers: {} })
}

test('[R3.8] what went back to the customer, or is disputed by their bank, was not paid', async () => {
  const userId = await fixture.customer()
  const code = await makeCoupon({ paidMinMicro: 10n * UNIT })
  const { transaction_id } = await fixture.billing.topUp(topupRequest(userId, { amountCents: 1_000 }))
  const tell = (sums: Partial<PlatformEvent>) => tellBack(transaction_id, sums)
  const paid = (amount: string) => ({ code: 'coupon_minimum', values: { needed: '$10.00', paid: amount } })
  await tell({ refunded_cents: 100 })
  await expect(redeem(userId, code)).rejects.toMatchObject(paid('$9.00'))
  await tell({ refunded_cents: 100, refunds_failed_cents: 100, disputed_cents: 1_000 })
  await expect(redeem(userId, code)).rejects.toMatchObject(paid('$0.00'))
  await tell({ disputed_cents: 1_000, disputes_won_cents: 1_000 })
  expect(await redeem(userId, code)).toMatchObject({ status: 'active' })
})

test('[R3.8] a first top-up that went back as a whole earns nothing, and does not make the next one the first', async () => {
  const userId = await fixture.customer()
  const code = await makeCoupon({ firstTopupOnly: true })
  const refused = { code: 'coupon_first_topup_only' }
  const first = await fixture.billing.topUp(topupRequest(userId, { amountCents: 1_000 }))
  await tellBack(first.transaction_id, { refunded_cents: 1_000 })
  await expect(redeem(userId, code)).rejects.toMatchObject(refused)
  await fixture.billing.topUp(topupRequest(userId, { amountCents: 1_000 }))
  await expect(redeem(userId, code)).rejects.toMatchObject(refused)
  expect(await fixture.billing.balanceCents(userId)).toBe(1_000)
})

test('[R3.8] a first top-up of which anything stayed, or came back, is one', async () => {
  const [partly, failed, won] = [await fixture.customer(), await fixture.customer(), await fixture.customer()]
  const code = await makeCoupon({ firstTopupOnly: true })
  const gone: [string, Partial<PlatformEvent>, Partial<PlatformEvent>][] = [
    [partly, { refunded_cents: 400, disputed_cents: 600 }, { disputes_won_cents: 1 }],
    [failed, { refunded_cents: 1_000 }, { refunds_failed_cents: 1_000 }],
    [won, { disputed_cents: 1_000 }, { disputes_won_cents: 1_000 }],
  ]
  for (const [userId, sums, back] of gone) {
    const { transaction_id } = await fixture.billing.topUp(topupRequest(userId, { amountCents: 1_000 }))
    await tellBack(transaction_id, sums)
    await expect(redeem(userId, code)).rejects.toMatchObject({ code: 'coupon_first_topup_only' })
    await tellBack(transaction_id, { ...sums, ...back })
    expect(await redeem(userId, code)).toMatchObject({ status: 'active' })
  }
})

test('[R3.8] [B3] the same key again gives the same credits once', async () => {
  const userId = await fixture.customer()
  const code = await makeCoupon()
  const key = randomUUID()
  const lots = await Promise.all([redeem(userId, code, key), redeem(userId, code, key)])
  expect(lots[0]).toEqual(lots[1])
  expect(await fixture.billing.balanceCents(userId)).toBe(2_000)
})

test('[R3.8] of twenty who redeem at once through two gateways, as many get it as it is for, each as often as they may', async () => {
  const code = await makeCoupon({ totalMax: 5, perCustomerMax: 2 })
  const second = openDatabase({ url: fixture.database.url, log: fixture.log, poolSize: 10 })
  onTestFinished(() => second.close())
  const other = fixture.replica({ db: second.db })
  const customers = await Promise.all(Array.from({ length: 4 }, () => fixture.customer()))
  const tries = await Promise.allSettled(
    Array.from({ length: 20 }, (_, n) =>
      (n % 2 === 0 ? fixture.billing : other).redeemCoupon({
        ...{ userId: customers[n % 4] ?? '', idempotencyKey: randomUUID(), code },
      }),
    ),
  )
  expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
  const refused = tries.flatMap(one =>
    one.status === 'rejected' ? [(one.reason as { code: string }).code] : [],
  )
  expect(refused.filter(code => code !== 'coupon_used' && code !== 'coupon_used_up')).toEqual([])
  const counts = await Promise.all(
    customers.map(async userId => (await fixture.billing.coupons(userId, { page: 1, page_size: 20 })).total),
  )
  expect(Math.max(...counts)).toBeLessThanOrEqual(2)
  expect(await fixture.billing.couponDesk.show(code)).toMatchObject({ redeemed: 5 })
})

test('[R6.5] a code is taken once, in whatever case; one that was ended is redeemed no more', async () => {
  const userId = await fixture.customer()
  const { couponDesk } = fixture.billing
  const code = await makeCoupon({ code: 'summer' })
  expect(await makeCoupon({ code: 'SUMMER' })).toBe('')
  const endsAt = fixture.clock.now()
  expect(await couponDesk.end(code)).toMatchObject({ endsAt })
  fixture.clock.advance(1)
  // Ended once more, it is not there any longer than it was.
  expect(await couponDesk.end(code)).toMatchObject({ endsAt })
  await expect(redeem(userId, code)).rejects.toMatchObject({ code: 'coupon_ended' })
  await expect(couponDesk.end('nothing')).rejects.toMatchObject({ code: 'coupon_not_found' })
  expect((await couponDesk.list()).map(one => one.code)).toContain('SUMMER')
})
