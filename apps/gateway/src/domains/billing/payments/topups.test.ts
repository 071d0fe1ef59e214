import { OPEN_TOPUPS_PER_USER_MAX } from '@berth/contract/limits'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type PaymentDriver, PaymentUnavailable } from '../../../drivers/payments/port.ts'
import { testcardIntent } from '../../../drivers/payments/tables.ts'
import { type BillingFixture, createBillingFixture, topupRequest } from '../billing-fixture.ts'
import { topUpPaid } from '../events.ts'
import { paymentIntent } from './tables.ts'

let fixture: BillingFixture
let userId: string
beforeAll(async () => {
  fixture = await createBillingFixture()
})
afterAll(() => fixture.database.drop())
beforeEach(async () => {
  userId = await fixture.customer()
})

test('[R7.5] [R9.3] a top-up charges the card and adds its cents to the wallet', async () => {
  const answer = await fixture.billing.topUp(topupRequest(userId, { amountCents: 1_999 }))
  expect(answer).toEqual({
    transaction_id: expect.stringMatching(/^t_/),
    amount: 1_999,
    currency: 'USD',
    status: 'settled',
    next_url: null,
  })
  expect(await fixture.billing.balanceCents(userId)).toBe(1_999)
  expect(await charges()).toMatchObject([{ amountCents: 1_999, currency: 'USD', failure: null }])
  expect(await rows()).toMatchObject([
    {
      state: 'succeeded',
      source: null,
      sourceBrand: 'Visa',
      sourceLast4: '4242',
      finishedAt: expect.any(Date),
    },
  ])
})

test('[B3] twenty parallel top-ups with one key make one charge and get one answer', async () => {
  const request = topupRequest(userId)
  const answers = await Promise.all(Array.from({ length: 20 }, () => fixture.billing.topUp(request)))
  expect(new Set(answers.map(answer => JSON.stringify(answer))).size).toBe(1)
  expect(await charges()).toHaveLength(1)
  expect(await fixture.billing.balanceCents(userId)).toBe(2_500)
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[B3] the same key with other content is refused and charges nothing', async () => {
  const request = topupRequest(userId)
  await fixture.billing.topUp(request)
  for (const change of [{ amountCents: 2_501 }, { source: '5555555555554444' }]) {
    await expect(fixture.billing.topUp({ ...request, ...change })).rejects.toMatchObject({
      code: 'idempotency_key_reused',
    })
  }
  expect(await charges()).toHaveLength(1)
})

test('no more payments of one customer are open than a person can follow, however many begin at once', async () => {
  const asks = '4000002500003155'
  const requests = Array.from({ length: OPEN_TOPUPS_PER_USER_MAX + 5 }, () =>
    topupRequest(userId, { source: asks }),
  )
  const tried = await Promise.allSettled(requests.map(request => fixture.billing.topUp(request)))
  const refused = tried.filter(({ status }) => status === 'rejected')
  expect(refused).toHaveLength(5)
  for (const one of refused) {
    expect(one).toMatchObject({
      reason: { code: 'topup_limit', values: { limit: OPEN_TOPUPS_PER_USER_MAX } },
    })
  }
  expect(await rows()).toHaveLength(OPEN_TOPUPS_PER_USER_MAX)
  expect(await fixture.billing.openTopups(userId)).toHaveLength(OPEN_TOPUPS_PER_USER_MAX)
  // Whoever asks again for one of them is told of it, and one that ends makes room; others have their own count.
  const begun = requests.filter((_, at) => tried[at]?.status === 'fulfilled')
  expect(await fixture.billing.topUp(begun[0] ?? topupRequest(userId))).toMatchObject({
    status: 'requires_action',
  })
  await fixture.billing.topUp(topupRequest(await fixture.customer(), { source: asks }))
  const [first] = await fixture.billing.openTopups(userId)
  await fixture.billing.cancelTopup(userId, first?.transaction_id ?? '')
  await fixture.billing.topUp(topupRequest(userId, { source: asks }))
})

test('[B3] [R2.22] of two forms that know of no other top-up one pays, also when both are sent in one moment', async () => {
  const { billing } = fixture
  const both = [{ amountCents: 1_100 }, { amountCents: 1_100 }].map(of =>
    topupRequest(userId, { ...of, after: null }),
  )
  const tried = await Promise.allSettled(both.map(request => billing.topUp(request)))
  const refused = tried.filter(({ status }) => status === 'rejected')
  expect(refused).toMatchObject([{ reason: { code: 'topup_elsewhere' } }])
  expect(await billing.balanceCents(userId)).toBe(1_100)
  // The same one again is told what became of it, and whoever knows of it may pay again.
  const paid = both.find((_, nth) => tried[nth]?.status === 'fulfilled') ?? topupRequest(userId)
  const { transaction_id: after } = await billing.topUp(paid)
  fixture.clock.advance(1)
  await billing.topUp(topupRequest(userId, { amountCents: 300, after }))
  // What charged nothing is none, and whoever says nothing of it does not mind.
  const declined = topupRequest(userId, { source: '4000000000000002' })
  await expect(billing.topUp(declined)).rejects.toMatchObject({ code: 'card_declined' })
  await expect(billing.topUp(topupRequest(userId, { after }))).rejects.toMatchObject({
    code: 'topup_elsewhere',
  })
  const { items } = await billing.transactions(userId, { type: 'topup', page: 1, page_size: 10 })
  const newest = items.find(({ status }) => status === 'settled')?.id ?? ''
  fixture.clock.advance(1)
  await billing.topUp(topupRequest(userId, { amountCents: 100, after: newest }))
  await billing.topUp(topupRequest(userId, { amountCents: 100 }))
  expect(await billing.balanceCents(userId)).toBe(1_600)
  // One that was known and came to nothing makes no older one another.
  fixture.clock.advance(1)
  const { transaction_id: waiting } = await billing.topUp(
    topupRequest(userId, { source: '4000002500003155' }),
  )
  await billing.cancelTopup(userId, waiting)
  await billing.topUp(topupRequest(userId, { amountCents: 100, after: waiting }))
  await expect(billing.topUp(topupRequest(userId, { after: waiting }))).rejects.toMatchObject({
    code: 'topup_elsewhere',
  })
})

test('[B3] the same key of two customers is two top-ups', async () => {
  const other = await fixture.customer()
  const request = topupRequest(userId)
  await fixture.billing.topUp(request)
  await fixture.billing.topUp({ ...request, userId: other })
  expect(await fixture.billing.balanceCents(userId)).toBe(2_500)
  expect(await fixture.billing.balanceCents(other)).toBe(2_500)
})

test.each([
  ['4000000000000002', 'card_declined'],
  ['4000 0000 0000 9995', 'card_insufficient_funds'],
  ['4000000000009987', 'card_lost'],
  ['4000000000009979', 'card_stolen'],
  ['4000000000000069', 'card_expired'],
  ['4000000000000127', 'card_incorrect_cvc'],
  ['4000000000000119', 'card_processing_error'],
])('[R5.8] [R8.1] %s is refused with %s, twice the same, and adds nothing', async (source, code) => {
  const request = topupRequest(userId, { source })
  await expect(fixture.billing.topUp(request)).rejects.toMatchObject({ name: 'ApiError', code })
  await expect(fixture.billing.topUp(request)).rejects.toMatchObject({ name: 'ApiError', code })
  expect(await rows()).toMatchObject([{ state: 'failed', failure: code, source: null }])
  expect(paid()).toEqual([])
  expect(await fixture.billing.balanceCents(userId)).toBe(0)
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test.each(['4242424242424242', '5555 5555 5555 4444', '4000056655665556', '3782 822463 10005'])(
  '[R5.8] %s succeeds',
  async source => {
    await fixture.billing.topUp(topupRequest(userId, { source }))
    expect(await fixture.billing.balanceCents(userId)).toBe(2_500)
  },
)

test('any other number is refused, and no number is stored anywhere, of test cards neither', async () => {
  const real = '4111111111111111'
  await expect(fixture.billing.topUp(topupRequest(userId, { source: real }))).rejects.toMatchObject({
    code: 'test_card_required',
  })
  await fixture.billing.topUp(topupRequest(userId, { source: '4242424242424242' }))
  expect(await rows()).toHaveLength(1)
  const stored = await fixture.db.execute<{ dump: string }>(sql`
    select coalesce(string_agg(row::text, ' '), '') as dump from (
      select to_jsonb(t) as row from payment_intent t union all select to_jsonb(c) from testcard_intent c
        union all select to_jsonb(e) from testcard_event e
    ) all_rows`)
  expect(stored.rows[0]?.dump).toContain('"4242"')
  expect(stored.rows[0]?.dump).not.toMatch(/4111111111|4242424242/)
})

test.each([
  ['invalid_amount', { amountCents: 99 }],
  ['invalid_amount', { amountCents: 1_000_001 }],
  ['invalid_amount', { amountCents: 100.5 }],
  ['invalid_amount', { amountCents: Number.NaN }],
  ['payment_platform_unknown', { platformName: 'stripe' }],
] as const)('[R5.8] %s refuses before anything is stored: %o', async (code, changes) => {
  await expect(fixture.billing.topUp(topupRequest(userId, changes))).rejects.toMatchObject({ code })
  expect(await rows()).toEqual([])
})

test('where no way to pay is offered nothing is topped up, and what has begun can be ended', async () => {
  const begun = await fixture.billing.topUp(topupRequest(userId, { source: '4000002500003155' }))
  const off = fixture.replica({ payments: [{ ...fixture.driver, offered: false }] })
  expect(off.payPlatforms).toEqual([])
  await expect(off.topUp(topupRequest(userId))).rejects.toMatchObject({
    name: 'ApiError',
    code: 'payments_not_set_up',
  })
  expect(await rows()).toHaveLength(1)
  expect(await off.cancelTopup(userId, begun.transaction_id)).toMatchObject({ status: 'canceled' })
})

test("[R9.3] a currency other than the wallet's is refused and named", async () => {
  const european = await fixture.customer({ currency: 'EUR' })
  await expect(fixture.billing.topUp(topupRequest(european))).rejects.toMatchObject({
    code: 'currency_mismatch',
    values: { currency: 'EUR' },
  })
  await fixture.billing.topUp(topupRequest(european, { currency: 'EUR' }))
  expect(await fixture.billing.balance(european)).toMatchObject({
    currency: 'EUR',
    account_balance: { amount: 2_500 },
  })
})

/** What was told of the customer's top-ups. */
const paid = () =>
  fixture.events.told
    .filter(({ event }) => event === topUpPaid.name)
    .map(({ payload }) => topUpPaid.payload.parse(payload))
    .filter(told => told.userId === userId)

/** Where a gateway can die between its steps, as a driver that breaks off there. */
const CRASHES: [string, (real: PaymentDriver) => Partial<PaymentDriver>][] = [
  ['after the row, before the intent', () => ({ createIntent: () => Promise.reject(new Error('killed')) })],
  [
    'after the intent was made, before its id is kept',
    real => ({
      createIntent: async request => {
        await real.createIntent(request)
        throw new Error('killed')
      },
    }),
  ],
  ['after the intent, before the charge', () => ({ confirm: () => Promise.reject(new Error('killed')) })],
  [
    'after the charge, before its answer is booked',
    real => ({
      confirm: async request => {
        await real.confirm(request)
        throw new Error('killed')
      },
    }),
  ],
  [
    'while the platform does not answer',
    () => ({ createIntent: () => Promise.reject(new PaymentUnavailable('silence')) }),
  ],
  [
    'when the platform charged and its answer was lost',
    real => ({
      confirm: async request => {
        await real.confirm(request)
        throw new PaymentUnavailable('silence')
      },
    }),
  ],
]

test.each(CRASHES)(
  '[B3] a top-up that broke off %s is finished once by recovery',
  async (_where, breaking) => {
    const request = topupRequest(userId)
    await expect(brokenReplica(breaking).topUp(request)).rejects.toThrow()
    expect(await rows()).toMatchObject([{ state: 'created' }])
    expect(await fixture.billing.balanceCents(userId)).toBe(0)

    await Promise.all([fixture.billing.recoverTopups(), fixture.billing.recoverTopups()])
    expect(await fixture.billing.balanceCents(userId)).toBe(2_500)
    expect(await charges()).toHaveLength(1)
    expect(await fixture.billing.recoverTopups()).toBe(0)
    expect(await fixture.billing.topUp(request)).toMatchObject({ status: 'settled' })
    expect(await fixture.billing.balanceCents(userId)).toBe(2_500)
    expect(paid()).toMatchObject([{ amountCents: 2_500, currency: 'USD' }])
    expect(await fixture.billing.checkBooks()).toEqual([])
  },
)

test.each(CRASHES)(
  '[B3] after %s, the same key carries on with the same charge',
  async (_where, breaking) => {
    const request = topupRequest(userId)
    await expect(brokenReplica(breaking).topUp(request)).rejects.toThrow()
    expect(await fixture.billing.topUp(request)).toMatchObject({ status: 'settled' })
    expect(await charges()).toHaveLength(1)
    expect(await fixture.billing.balanceCents(userId)).toBe(2_500)
  },
)

test('[B3] of two payments that were made for one top-up, the one that is booked is charged and no other', async () => {
  const confirmed: string[] = []
  // Its key was forgotten, or its customer was made anew, between the two.
  const late = fixture.replica({
    payments: [
      {
        ...fixture.driver,
        async createIntent(request) {
          const booked = await fixture.driver.createIntent(request)
          await fixture.db
            .update(paymentIntent)
            .set({ platformIntentId: booked.intent_id })
            .where(eq(paymentIntent.id, request.reference))
          return { ...booked, intent_id: 'pi_second' }
        },
        async confirm(request) {
          confirmed.push(request.intent_id)
          return await fixture.driver.confirm(request)
        },
      },
    ],
  })
  expect(await late.topUp(topupRequest(userId))).toMatchObject({ status: 'pending' })
  expect(confirmed).toEqual([])
  expect(await fixture.billing.recoverTopups()).toBe(1)
  expect(await fixture.billing.balanceCents(userId)).toBe(2_500)
  expect(await charges()).toHaveLength(1)
})

test('a platform that does not answer is told as pending, because nobody knows yet', async () => {
  const silent = brokenReplica(() => ({
    createIntent: () => Promise.reject(new PaymentUnavailable('silence')),
  }))
  await expect(silent.topUp(topupRequest(userId))).rejects.toMatchObject({
    name: 'ApiError',
    code: 'payment_pending',
  })
  await fixture.billing.recoverTopups()
})

test('[B3] a booking that died halfway left nothing, and is done again', async () => {
  const request = topupRequest(userId)
  const dying = fixture.replica({ payments: [fixture.driver] })
  await fixture.db.execute(
    sql`alter table payment_intent add constraint died check (state <> 'succeeded') not valid`,
  )
  await expect(dying.topUp(request)).rejects.toThrow()
  await fixture.db.execute(sql`alter table payment_intent drop constraint died`)
  expect(await fixture.billing.balanceCents(userId)).toBe(0)
  expect(await fixture.billing.checkBooks()).toEqual([])
  expect(await fixture.billing.recoverTopups()).toBe(1)
  expect(await fixture.billing.balanceCents(userId)).toBe(2_500)
})

test('[B3] what was booked first stands, even if the platform says otherwise afterwards', async () => {
  const request = topupRequest(userId)
  const late = brokenReplica(real => ({
    confirm: async asked => {
      await fixture.billing.topUp(request)
      return { ...(await real.confirm(asked)), status: 'failed', failure: 'card_declined' }
    },
  }))
  expect(await late.topUp(request)).toMatchObject({ status: 'settled' })
  expect(await rows()).toMatchObject([{ state: 'succeeded', failure: null }])
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[B3] recovery books a refusal too, and one that fails never stops the rest', async () => {
  const stuck = await fixture.customer()
  const broken = brokenReplica(() => ({ createIntent: () => Promise.reject(new Error('killed')) }))
  const declined = topupRequest(userId, { source: '4000000000000002' })
  for (const request of [topupRequest(stuck), declined, topupRequest(userId)]) {
    await expect(broken.topUp(request)).rejects.toThrow()
  }
  const choosy: PaymentDriver = {
    ...fixture.driver,
    createIntent: async request => {
      const [row] = await fixture.db
        .select()
        .from(paymentIntent)
        .where(eq(paymentIntent.id, request.reference))
      if (row?.userId === stuck) throw new PaymentUnavailable('silence')
      return await fixture.driver.createIntent(request)
    },
  }
  expect(await fixture.replica({ payments: [choosy] }).recoverTopups()).toBe(2)
  expect((await rows()).map(({ state, failure }) => ({ state, failure }))).toEqual([
    { state: 'failed', failure: 'card_declined' },
    { state: 'succeeded', failure: null },
  ])
  expect(await fixture.billing.recoverTopups()).toBe(0)
  fixture.clock.advance(15)
  expect(await fixture.billing.recoverTopups()).toBe(1)
  expect(await fixture.billing.balanceCents(stuck)).toBe(2_500)
})

function brokenReplica(breaking: (real: PaymentDriver) => Partial<PaymentDriver>) {
  return fixture.replica({ payments: [{ ...fixture.driver, ...breaking(fixture.driver) }] })
}

function rows() {
  return fixture.db
    .select()
    .from(paymentIntent)
    .where(eq(paymentIntent.userId, userId))
    .orderBy(paymentIntent.id)
}

/** What the platform charged this customer for. */
function charges() {
  return fixture.db
    .select()
    .from(testcardIntent)
    .where(
      sql`${testcardIntent.reference} in (select id::text from payment_intent where user_id = ${userId})
        and ${testcardIntent.status} = 'succeeded'`,
    )
}
