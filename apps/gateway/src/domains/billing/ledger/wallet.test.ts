import { randomUUID } from 'node:crypto'
import { spendableCents } from '@berth/contract/billing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BillingFixture, createBillingFixture, topupRequest, UNIT } from '../billing-fixture.ts'
import { toBalance } from './balance.ts'

let fixture: BillingFixture
beforeAll(async () => {
  fixture = await createBillingFixture()
})
afterAll(() => fixture.database.drop())

test('[R3.6] a new wallet is empty, in cents of its currency', async () => {
  const userId = await fixture.customer({ currency: 'EUR' })
  expect(await fixture.billing.balance(userId)).toEqual({
    currency: 'EUR',
    account_balance: {
      amount: 0,
      amount_available: 0,
      amount_credits: 0,
      amount_free: 0,
      amount_freeze: 0,
      amount_owed: 0,
    },
    coupon_count: 0,
    burn_micro_per_hour: '0',
    lasts_seconds: null,
  })
})

test('[R3.6] the balance tells cash, credits and what is set aside, and what it lasts for', async () => {
  const userId = await fixture.customer({ creditCents: 500 })
  await fixture.billing.topUp(topupRequest(userId, { amountCents: 2_000 }))
  const instanceId = `i-${randomUUID()}`
  await fixture.hold({ userId, instanceId, amountMicro: UNIT })
  await fixture.open({ userId, instanceId, rateMicroPerHour: UNIT })
  const balance = await fixture.billing.balance(userId)
  expect(balance.account_balance).toEqual({
    amount: 2_500,
    amount_available: 2_400,
    amount_credits: 500,
    amount_free: 0,
    amount_freeze: 100,
    amount_owed: 0,
  })
  expect(balance).toMatchObject({ burn_micro_per_hour: '1000000', lasts_seconds: 25 * 3_600 })
  expect(await fixture.billing.balanceCents(userId)).toBe(2_500)
  expect(await fixture.billing.totals(fixture.db, userId)).toMatchObject({
    burnMicroPerHour: UNIT,
    availableMicro: 24n * UNIT,
    currency: 'USD',
  })
})

test('[R3.6] what is set aside anew is whole: what ran before is paid from what was set aside then', async () => {
  const userId = await fixture.customer({ creditCents: 1_000 })
  const instanceId = `i-${randomUUID()}`
  await fixture.hold({ userId, instanceId, amountMicro: UNIT })
  await fixture.open({ userId, instanceId, rateMicroPerHour: UNIT })
  fixture.clock.advance(1_800)
  expect(await lock(userId)).toMatchObject({ heldMicro: UNIT / 2n, totalMicro: (19n * UNIT) / 2n })
  await fixture.hold({ userId, instanceId, amountMicro: 2n * UNIT })
  expect(await lock(userId)).toMatchObject({ heldMicro: 2n * UNIT, totalMicro: (19n * UNIT) / 2n })
  // It is used from there on.
  fixture.clock.advance(1_800)
  expect(await lock(userId)).toMatchObject({ heldMicro: (3n * UNIT) / 2n, totalMicro: 9n * UNIT })
  await fixture.close({ userId, instanceId })
})

test('[B2] what was waived while a wallet was empty is not asked of the money that comes later', async () => {
  const userId = await fixture.customer({ creditCents: 100 })
  const instanceId = `i-${randomUUID()}`
  await fixture.open({ userId, instanceId, rateMicroPerHour: UNIT })
  fixture.clock.advance(3 * 3_600)
  await fixture.post()
  await fixture.billing.topUp(topupRequest(userId, { amountCents: 500 }))
  expect(await lock(userId)).toMatchObject({ totalMicro: 5n * UNIT, unpostedMicro: 0n, takenMicro: 0n })
  fixture.clock.advance(3_600)
  expect(await lock(userId)).toMatchObject({ totalMicro: 4n * UNIT, unpostedMicro: UNIT, takenMicro: UNIT })
  await fixture.close({ userId, instanceId })
  expect(await fixture.billing.balanceCents(userId)).toBe(400)
})

test('[B2] what ran for an empty wallet and is not posted yet is not asked of a top-up either', async () => {
  const userId = await fixture.customer({ creditCents: 100 })
  const instanceId = `i-${randomUUID()}`
  await fixture.open({ userId, instanceId, rateMicroPerHour: UNIT })
  fixture.clock.advance(3 * 3_600)
  await fixture.billing.topUp(topupRequest(userId, { amountCents: 500 }))
  expect(await lock(userId)).toMatchObject({ totalMicro: 5n * UNIT, unpostedMicro: 0n, takenMicro: 0n })
  await fixture.close({ userId, instanceId })
  expect(await fixture.billing.balanceCents(userId)).toBe(500)
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test.each([
  { cash: 19_999n, credits: 0n, held: 0n, shown: [1, 0, 1, 0] },
  { cash: 0n, credits: 19_999n, held: 0n, shown: [1, 0, 1, 1] },
  { cash: 0n, credits: 20_000n, held: 5_000n, shown: [1, 0, 1, 1] },
  { cash: 10_000n, credits: 20_000n, held: 15_000n, shown: [1, 1, 2, 2] },
  { cash: 9_999n, credits: 0n, held: 9_999n, shown: [0, 0, 0, 0] },
])('[R3.6] [R9.3] cents never show what is not there and add up: $cash + $credits less $held', example => {
  const totalMicro = example.cash + example.credits
  const totals = {
    userId: randomUUID(),
    currency: 'USD',
    cashMicro: example.cash,
    creditsMicro: example.credits,
    totalMicro,
    heldMicro: example.held,
    availableMicro: totalMicro - example.held,
    burnMicroPerHour: 0n,
    owedMicro: 0n,
    unpostedMicro: 0n,
    unpostedSince: null,
    takenMicro: 0n,
    postableMicro: 0n,
    unpaidSubjects: 0,
    freeMicro: 0n,
    endings: [],
    couponCount: 0,
  } as const
  const { account_balance: shown } = toBalance({ ...totals, endings: [] }, fixture.clock.now())
  expect([shown.amount_available, shown.amount_freeze, shown.amount, shown.amount_credits]).toEqual(
    example.shown,
  )
  expect(shown.amount).toBe(shown.amount_available + shown.amount_freeze)
})

test.each([
  { available: 5_000n, free: 5_000n, spendable: 0 },
  { available: 19_999n, free: 19_999n, spendable: 1 },
  { available: 20_000n, free: 50_000n, spendable: 2 },
])('[R3.6] what is for models alone makes no cent for machines: $available and $free', example => {
  const { account_balance } = toBalance(
    {
      ...{ userId: randomUUID(), currency: 'USD', cashMicro: example.available, creditsMicro: 0n },
      ...{ totalMicro: example.available, heldMicro: 0n, availableMicro: example.available },
      ...{ burnMicroPerHour: 0n, owedMicro: 0n, unpostedMicro: 0n, unpostedSince: null, takenMicro: 0n },
      ...{ postableMicro: 0n, unpaidSubjects: 0, freeMicro: example.free, endings: [], couponCount: 0 },
    },
    fixture.clock.now(),
  )
  expect(spendableCents({ account_balance })).toBe(example.spendable)
  expect(account_balance.amount).toBe(account_balance.amount_available + account_balance.amount_freeze)
})

test('a hold takes from what is available, is one for each instance, and comes back', async () => {
  const userId = await fixture.customer({ creditCents: 300 })
  await fixture.hold({ userId, instanceId: `${userId}-a`, amountMicro: 2n * UNIT })
  await expect(
    fixture.hold({ userId, instanceId: `${userId}-b`, amountMicro: 2n * UNIT }),
  ).rejects.toMatchObject({
    code: 'insufficient_balance',
    values: { needed: '$2.00', available: '$1.00' },
  })
  await fixture.hold({ userId, instanceId: `${userId}-a`, amountMicro: 3n * UNIT })
  expect(await lock(userId)).toMatchObject({ heldMicro: 3n * UNIT, availableMicro: 0n })
  await fixture.releaseHold({ userId, instanceId: `${userId}-a` })
  await fixture.releaseHold({ userId, instanceId: `${userId}-a` })
  expect(await lock(userId)).toMatchObject({ heldMicro: 0n, availableMicro: 3n * UNIT })
})

test('[B2] of a hold that was used in part, only the rest comes back', async () => {
  const userId = await fixture.customer({ creditCents: 500 })
  const instanceId = `${userId}-a`
  await fixture.hold({ userId, instanceId, amountMicro: 3n * UNIT })
  await fixture.open({ userId, instanceId, rateMicroPerHour: UNIT })
  fixture.clock.advance(3_600)
  await fixture.post()
  expect(await lock(userId)).toMatchObject({ heldMicro: 2n * UNIT, availableMicro: 2n * UNIT })
  await fixture.close({ userId, instanceId })
  await fixture.releaseHold({ userId, instanceId })
  expect(await lock(userId)).toMatchObject({ heldMicro: 0n, availableMicro: 4n * UNIT })
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[B2] [R3.8] of credits that ended, a hold that was used in part lets go its own rest and nobody else’s', async () => {
  const userId = await fixture.customer()
  const [used, other] = [`${userId}-a`, `${userId}-b`]
  const endsAt = new Date(fixture.clock.now().getTime() + 1_800_000)
  const grant = {
    id: randomUUID(),
    userId,
    amountMicro: 5n * UNIT,
    kind: 'bonus',
    reason: 'test',
    endsAt,
  } as const
  await fixture.db.transaction(tx => fixture.billing.grantCredit(tx, grant))
  await fixture.hold({ userId, instanceId: used, amountMicro: 3n * UNIT })
  await fixture.hold({ userId, instanceId: other, amountMicro: 2n * UNIT })
  await fixture.open({ userId, instanceId: used, rateMicroPerHour: UNIT })
  fixture.clock.advance(3_600)
  await fixture.close({ userId, instanceId: used })
  await fixture.releaseHold({ userId, instanceId: used })
  expect(await lock(userId)).toMatchObject({
    heldMicro: 2n * UNIT,
    totalMicro: 2n * UNIT,
    availableMicro: 0n,
  })
  // What the other one has set aside is there: the totals alone would not say so.
  expect(await fixture.billing.checkBooks()).toEqual([])
  const { items } = await fixture.billing.credits(userId, { page: 1, page_size: 1 })
  expect(items).toMatchObject([{ used_micro: '1000000' }])
  await fixture.releaseHold({ userId, instanceId: other })
  expect(await lock(userId)).toMatchObject({ totalMicro: 0n })
})

test('[B2] of holds that race for the last money, only as many win as it covers', async () => {
  // Again and again: the first rounds only open the connections that then race.
  for (let round = 0; round < 10; round++) {
    const userId = await fixture.customer({ creditCents: 300 })
    const tries = await Promise.allSettled(
      Array.from({ length: 8 }, (_, n) =>
        fixture.hold({ userId, instanceId: `${userId}-${n}`, amountMicro: UNIT }),
      ),
    )
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
    expect(await lock(userId)).toMatchObject({ heldMicro: 3n * UNIT, availableMicro: 0n })
  }
})

test('[B2] a credit is given once for its id, and another amount under it is refused', async () => {
  const userId = await fixture.customer()
  const id = randomUUID()
  const grant = (amountMicro: bigint) =>
    fixture.db.transaction(tx =>
      fixture.billing.grantCredit(tx, { id, userId, amountMicro, kind: 'demo', reason: 'demo' }),
    )
  await Promise.all([grant(UNIT), grant(UNIT), grant(UNIT)])
  await expect(grant(2n * UNIT)).rejects.toMatchObject({ code: 'exists_with_other_content' })
  expect(await fixture.billing.balanceCents(userId)).toBe(100)
})

test('opening a wallet again changes nothing; in another currency it is refused', async () => {
  const userId = await fixture.customer({ creditCents: 100 })
  await fixture.db.transaction(tx => fixture.billing.openWallet(tx, { userId, currency: 'USD' }))
  expect(await fixture.billing.balanceCents(userId)).toBe(100)
  const other = fixture.db.transaction(tx => fixture.billing.openWallet(tx, { userId, currency: 'EUR' }))
  await expect(other).rejects.toThrow('another currency')
})

test('a customer without a wallet is not found', async () => {
  await expect(fixture.billing.balance(randomUUID())).rejects.toMatchObject({ code: 'not_found' })
  await expect(lock(randomUUID())).rejects.toMatchObject({ code: 'not_found' })
})

test('balances that are asked for together are each their own', async () => {
  const customers = await Promise.all([100, 200, 300].map(creditCents => fixture.customer({ creditCents })))
  const asked = Array.from({ length: 60 }, (_, n) => customers[n % 3] ?? '')
  const amounts = await Promise.all(asked.map(userId => fixture.billing.balanceCents(userId)))
  expect(amounts).toEqual(asked.map((_, n) => ((n % 3) + 1) * 100))
})

function lock(userId: string) {
  return fixture.db.transaction(async tx => {
    await fixture.billing.lockWallet(tx, userId)
    return await fixture.billing.totals(tx, userId)
  })
}
