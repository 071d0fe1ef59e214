import { randomUUID } from 'node:crypto'
import { asc } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type BillingFixture,
  createBillingFixture,
  instance,
  topupRequest,
  UNIT,
} from '../billing-fixture.ts'
import type { Grant } from './grants.ts'
import { creditUse } from './tables.ts'

/**
 * Goal: credits are spent lot by lot, and a lot ends to the second, whoever looks first and how late (R3.8). Method: the
 * same life is looked at by reads alone and by postings at other moments; both must say the same.
 */

let fixture: BillingFixture
beforeAll(async () => {
  fixture = await createBillingFixture()
})
afterAll(async () => {
  expect(await fixture.billing.checkBooks()).toEqual([])
  await fixture.database.drop()
})

const HOUR = 3_600
const later = (seconds: number) => new Date(fixture.clock.now().getTime() + seconds * 1_000)

async function give(userId: string, grant: Partial<Grant> = {}): Promise<string> {
  const id = randomUUID()
  const whole = { id, userId, amountMicro: UNIT, kind: 'bonus', reason: 'test', ...grant } as const
  await fixture.db.transaction(tx => fixture.billing.grantCredit(tx, whole))
  return id
}

async function lots(userId: string) {
  const { items } = await fixture.billing.credits(userId, { page: 1, page_size: 100 })
  return items.map(({ id, left_micro, used_micro, status }) => [id, left_micro, used_micro, status])
}

const totals = (userId: string) => fixture.billing.totals(fixture.db, userId)

test('[R3.8] credits are spent before cash, the nearest end first, what has none last, then the oldest', async () => {
  const userId = await fixture.customer()
  const old = await give(userId)
  fixture.clock.advance(1)
  const young = await give(userId)
  const far = await give(userId, { endsAt: later(900 * HOUR) })
  const near = await give(userId, { endsAt: later(800 * HOUR) })
  await fixture.billing.topUp(topupRequest(userId, { amountCents: 100 }))
  const order = [near, far, old, young]
  await fixture.open({ userId, instanceId: `${userId}-a` })
  for (const [used, id] of order.entries()) {
    expect((await lots(userId))[0]).toEqual([id, '1000000', '0', 'active'])
    fixture.clock.advance(HOUR / 2)
    expect((await lots(userId))[0]).toEqual([id, '500000', '500000', 'active'])
    fixture.clock.advance(HOUR / 2)
    await fixture.post()
    expect(await totals(userId)).toMatchObject({
      creditsMicro: BigInt(order.length - 1 - used) * UNIT,
      cashMicro: UNIT,
    })
  }
  fixture.clock.advance(HOUR / 4)
  await fixture.close({ userId, instanceId: `${userId}-a` })
  expect(await totals(userId)).toMatchObject({ creditsMicro: 0n, cashMicro: 750_000n })
  const uses = await fixture.db.select().from(creditUse).orderBy(asc(creditUse.grantId))
  expect(uses.filter(use => use.userId === userId)).toHaveLength(4)
})

test('[R3.8] a lot is there until its last moment and gone from it on, in every read, before anything is posted', async () => {
  const userId = await fixture.customer()
  await give(userId, { amountMicro: 5n * UNIT, endsAt: later(HOUR) })
  await give(userId, { amountMicro: 2n * UNIT })
  fixture.clock.advance(HOUR - 1)
  expect(await totals(userId)).toMatchObject({ availableMicro: 7n * UNIT })
  fixture.clock.advance(1)
  expect(await totals(userId)).toMatchObject({ availableMicro: 2n * UNIT, creditsMicro: 2n * UNIT })
  expect((await fixture.billing.balance(userId)).account_balance).toMatchObject({
    amount: 200,
    amount_credits: 200,
  })
  const hold = fixture.hold({ userId, instanceId: `${userId}-a`, amountMicro: 3n * UNIT })
  await expect(hold).rejects.toMatchObject({ code: 'insufficient_balance' })
})

test.each([
  { name: 'nobody looks until long after', looks: [10 * HOUR] },
  { name: 'it is posted before, at and after the end', looks: [600, HOUR, HOUR + 1, 2 * HOUR, 10 * HOUR] },
  { name: 'it is posted a second before', looks: [HOUR - 1, 10 * HOUR] },
])(
  '[R3.8] what runs is paid from a lot up to its end and from the rest after it: $name',
  async ({ looks }) => {
    const userId = await fixture.customer()
    await give(userId, { amountMicro: 5n * UNIT, endsAt: later(HOUR) })
    await fixture.billing.topUp(topupRequest(userId, { amountCents: 2_000 }))
    const began = fixture.clock.now().getTime()
    await fixture.open({ userId, instanceId: `${userId}-a`, rateMicroPerHour: 2n * UNIT })
    for (const at of looks) {
      fixture.clock.advance(at - (fixture.clock.now().getTime() - began) / 1_000)
      const seen = await totals(userId)
      await fixture.post()
      expect(await totals(userId)).toMatchObject({
        creditsMicro: seen.creditsMicro,
        cashMicro: seen.cashMicro,
        availableMicro: seen.availableMicro,
      })
    }
    // Of the lot's 5.00 two were used in its hour; the other nine hours are paid in cash.
    expect(await totals(userId)).toMatchObject({ creditsMicro: 0n, cashMicro: 2n * UNIT })
    expect(await lots(userId)).toMatchObject([[expect.any(String), '0', '2000000', 'expired']])
    const { items } = await fixture.billing.transactions(userId, { page: 1, page_size: 20 })
    expect(items.reduce((sum, { amount_micro }) => sum + BigInt(amount_micro), 0n)).toBe(2n * UNIT)
    const ended = items.find(({ about }) => about.credit_reason === 'ended')
    expect(ended).toMatchObject({
      type: 'credit',
      amount_micro: '-3000000',
      date: new Date(began + HOUR * 1_000).toISOString(),
    })
    expect((await fixture.receipt(userId, ended?.id ?? '')).lines).toMatchObject([
      { from_account: 'credits', to_account: 'promotions', amount_micro: '3000000' },
    ])
  },
)

test('[R3.8] the end of credits empties a wallet: what runs is found without money, and what it costs from then is waived', async () => {
  const userId = await fixture.customer()
  await give(userId, { amountMicro: 5n * UNIT, endsAt: later(HOUR) })
  await fixture.open({ userId, instanceId: `${userId}-a` })
  fixture.clock.advance(HOUR - 1)
  expect((await fixture.billing.postDue()).exhausted).not.toContain(userId)
  fixture.clock.advance(1)
  expect((await totals(userId)).unpaidSubjects).toBe(1)
  fixture.clock.advance(60)
  expect((await fixture.billing.postDue()).exhausted).toContain(userId)
  await fixture.close({ userId, instanceId: `${userId}-a` })
  expect(await totals(userId)).toMatchObject({ totalMicro: 0n })
})

test('[R3.8] how long a balance lasts knows the ends to come', async () => {
  const userId = await fixture.customer()
  await give(userId, { amountMicro: 10n * UNIT, endsAt: later(2 * HOUR) })
  await fixture.billing.topUp(topupRequest(userId, { amountCents: 300 }))
  await fixture.open({ userId, instanceId: `${userId}-a` })
  expect(await fixture.billing.balance(userId)).toMatchObject({ lasts_seconds: 5 * HOUR })
  await fixture.close({ userId, instanceId: `${userId}-a` })
})

test('[R3.8] what was set aside when its credits ended pays for that alone; let go, it is not there again', async () => {
  const userId = await fixture.customer()
  await give(userId, { amountMicro: 4n * UNIT, endsAt: later(HOUR) })
  const [a, b] = [`${userId}-a`, `${userId}-b`]
  await fixture.hold({ userId, instanceId: a, amountMicro: UNIT })
  await fixture.hold({ userId, instanceId: b, amountMicro: UNIT })
  fixture.clock.advance(HOUR)
  expect(await totals(userId)).toMatchObject({ heldMicro: 2n * UNIT, availableMicro: 0n })
  await fixture.open({ userId, instanceId: a })
  fixture.clock.advance(HOUR / 2)
  await fixture.close({ userId, instanceId: a })
  expect(await totals(userId)).toMatchObject({ heldMicro: 1_500_000n, availableMicro: 0n })
  await fixture.billing.topUp(topupRequest(userId, { amountCents: 100 }))
  expect(await totals(userId)).toMatchObject({ availableMicro: UNIT })
  await fixture.releaseHold({ userId, instanceId: a })
  await fixture.releaseHold({ userId, instanceId: b })
  expect(await totals(userId)).toMatchObject({ heldMicro: 0n, totalMicro: UNIT, creditsMicro: 0n })
})

test('[R3.8] what is given back returns to the lots that it came from; to one that has ended, it is gone', async () => {
  const userId = await fixture.customer()
  const ends = await give(userId, { amountMicro: UNIT, endsAt: later(HOUR) })
  // The newer one is first in the list.
  fixture.clock.advance(1)
  const stays = await give(userId, { amountMicro: 2n * UNIT })
  const subject = instance(`${userId}-a`)
  const now = fixture.clock.now()
  const term = {
    ...{ userId, subject, name: 'a', from: now, until: later(10 * HOUR) },
    meters: [{ sku: 'sku', label: '', unit: 'hour', quantity: 1, rateMicro: 300_000n }] as const,
  }
  await fixture.db.transaction(tx =>
    fixture.billing.chargeTerm(tx, { ...term, meters: term.meters.map(meter => ({ ...meter })) }),
  )
  expect(await lots(userId)).toMatchObject([
    [stays, '0', '2000000', 'used'],
    [ends, '0', '1000000', 'used'],
  ])
  fixture.clock.advance(2 * HOUR)
  const end = { userId, subject, at: fixture.clock.now() }
  // 2.40 of the 3.00 are given back: 2.00 of the one without an end, and 0.40 that are gone.
  expect(await fixture.billing.termBackMicro(fixture.db, end)).toBe(2n * UNIT)
  expect(await fixture.db.transaction(tx => fixture.billing.endTerm(tx, end))).toBe(2n * UNIT)
  expect(await lots(userId)).toEqual([
    [stays, '2000000', '0', 'active'],
    [ends, '0', '600000', 'expired'],
  ])
  expect(await totals(userId)).toMatchObject({ totalMicro: 2n * UNIT, availableMicro: 2n * UNIT })
})

test('[R3.8] in the second of its end a lot has ended: in the list, and for what is given back', async () => {
  const userId = await fixture.customer()
  const used = await give(userId, { amountMicro: UNIT, endsAt: later(HOUR) })
  const subject = instance(`${userId}-a`)
  const term = {
    ...{ userId, subject, name: 'a', from: fixture.clock.now(), until: later(10 * HOUR) },
    meters: [{ sku: 'sku', label: '', unit: 'hour' as const, quantity: 1, rateMicro: 100_000n }],
  }
  await fixture.db.transaction(tx => fixture.billing.chargeTerm(tx, term))
  fixture.clock.advance(HOUR / 2)
  const unused = await give(userId, { amountMicro: 2n * UNIT, endsAt: later(HOUR / 2) })
  fixture.clock.advance(HOUR / 2)
  const end = { userId, subject, at: fixture.clock.now() }
  expect(await fixture.billing.termBackMicro(fixture.db, end)).toBe(0n)
  expect(await fixture.db.transaction(tx => fixture.billing.endTerm(tx, end))).toBe(0n)
  expect(await totals(userId)).toMatchObject({ totalMicro: 0n })
  expect(await lots(userId)).toEqual([
    [unused, '0', '0', 'expired'],
    [used, '0', '100000', 'expired'],
  ])
})

test('[R3.8] what was let go before is not let go again when its credits have ended', async () => {
  const userId = await fixture.customer()
  await give(userId, { amountMicro: 3n * UNIT, endsAt: later(HOUR) })
  const [a, b] = [`${userId}-a`, `${userId}-b`]
  await fixture.hold({ userId, instanceId: a, amountMicro: 2n * UNIT })
  await fixture.releaseHold({ userId, instanceId: a })
  await fixture.hold({ userId, instanceId: a, amountMicro: UNIT / 2n })
  await fixture.hold({ userId, instanceId: b, amountMicro: UNIT })
  fixture.clock.advance(HOUR)
  expect(await totals(userId)).toMatchObject({ heldMicro: 1_500_000n, totalMicro: 1_500_000n })
  await fixture.releaseHold({ userId, instanceId: a })
  expect(await totals(userId)).toMatchObject({ heldMicro: UNIT, totalMicro: UNIT })
})

test('[R3.8] [R3.6] credits for models are shown, and pay for models alone', async () => {
  const userId = await fixture.customer()
  const free = await give(userId, { kind: 'check_in', amountMicro: UNIT, endsAt: later(HOUR) })
  expect(await fixture.billing.balance(userId)).toMatchObject({
    account_balance: { amount: 100, amount_available: 100, amount_credits: 100, amount_free: 100 },
  })
  const hold = fixture.hold({ userId, instanceId: `${userId}-a`, amountMicro: 1n })
  await expect(hold).rejects.toMatchObject({ code: 'insufficient_balance' })
  const use = (amountMicro: bigint) =>
    fixture.db.transaction(tx =>
      fixture.billing.chargeOnce(tx, {
        ...{
          userId,
          subject: { kind: 'model_call', id: randomUUID() },
          name: 'call',
          at: fixture.clock.now(),
        },
        meters: [{ sku: 'm', label: '', unit: 'video_second', quantity: 1, rateMicro: amountMicro }],
      }),
    )
  await use(400_000n)
  expect(await lots(userId)).toEqual([[free, '600000', '400000', 'active']])
  fixture.clock.advance(HOUR)
  expect((await fixture.billing.balance(userId)).account_balance).toMatchObject({ amount: 0, amount_free: 0 })
  await give(userId, { amountMicro: UNIT })
  await use(100_000n)
  expect(await totals(userId)).toMatchObject({ creditsMicro: 900_000n, freeMicro: 0n })
})

test('[R3.8] ends are booked by the tick for customers for whom nothing runs, and one whose books are broken stops no other', async () => {
  const broken = await fixture.customer()
  const whole = await fixture.customer()
  for (const userId of [broken, whole]) await give(userId, { endsAt: later(60) })
  const [account] = [`user:${broken}:credits`]
  const setBalance = (micro: bigint) =>
    fixture.db.execute(`update ledger_account set balance_micro = ${micro} where id = '${account}'`)
  await setBalance(0n)
  fixture.clock.advance(61)
  await fixture.billing.postDue()
  expect((await fixture.db.execute(`select * from credit_end where user_id = '${whole}'`)).rows).toHaveLength(
    1,
  )
  expect((await fixture.db.execute(`select * from credit_end where user_id = '${broken}'`)).rows).toEqual([])
  await setBalance(UNIT)
  await fixture.billing.postDue()
  expect(
    (await fixture.db.execute(`select * from credit_end where user_id = '${broken}'`)).rows,
  ).toHaveLength(1)
})
