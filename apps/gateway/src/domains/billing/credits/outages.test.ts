import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BillingFixture, createBillingFixture, SLA, UNIT } from '../billing-fixture.ts'
import { outageMicro } from './outages.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const SINCE = new Date('2026-03-10T08:00:00.000Z')

let fixture: BillingFixture

beforeAll(async () => {
  fixture = await createBillingFixture()
})
afterAll(() => fixture.database.drop())

const microOf = (outMs: number, sla: typeof SLA | undefined = SLA) =>
  outageMicro({ since: SINCE, until: new Date(SINCE.getTime() + outMs), microPerHour: UNIT }, sla)

test('[B17] an outage up to the limit gives nothing, a longer one all of its time, and no more than the most', () => {
  expect(microOf(15 * MINUTE_MS)).toBe(0n)
  expect(microOf(15 * MINUTE_MS + 1)).toBe(250_000n)
  expect(microOf(2 * HOUR_MS)).toBe(2n * UNIT)
  expect(microOf(24 * HOUR_MS)).toBe(24n * UNIT)
  expect(microOf(1_000 * HOUR_MS)).toBe(24n * UNIT)
  expect(microOf(2 * HOUR_MS, { ...SLA, percent: 50 })).toBe(UNIT)
})

test('[B17] a catalogue that promises nothing gives nothing', () => {
  expect(outageMicro({ since: SINCE, until: new Date(), microPerHour: UNIT }, undefined)).toBe(0n)
})

test('[B17] a longer outage never gives less, and none gives more than its time has cost', () => {
  const minutes = fc.integer({ min: 0, max: 5_000 })
  fc.assert(
    fc.property(minutes, minutes, (one, other) => {
      const [short, long] = [Math.min(one, other) * MINUTE_MS, Math.max(one, other) * MINUTE_MS]
      expect(microOf(long)).toBeGreaterThanOrEqual(microOf(short))
      expect(microOf(long)).toBeLessThanOrEqual((BigInt(long) * UNIT) / BigInt(HOUR_MS))
    }),
  )
})

test('[B17] an outage is credited once, with the events of its time as the receipt, and the books balance', async () => {
  const { billing, db } = fixture
  const userId = await fixture.customer()
  const instance = { id: `i-${randomUUID()}`, name: 'llama' }
  const until = new Date(SINCE.getTime() + 3 * HOUR_MS)
  const outage = { userId, instance, since: SINCE, until, microPerHour: UNIT / 2n }
  await db.transaction(tx => billing.creditOutage(tx, outage))
  await db.transaction(tx =>
    billing.creditOutage(tx, { ...outage, until: new Date(SINCE.getTime() + 1_000) }),
  )
  const { items } = await billing.transactions(userId, { page: 1, page_size: 10, search: 'llam' })
  expect(items).toMatchObject([
    { type: 'credit', amount_micro: '1500000', about: { credit_reason: 'outage', instance_name: 'llama' } },
  ])
  const asked: object[] = []
  const event = { at: SINCE, status: 'unknown', code: 'lost_sight', detail: '' } as const
  const receipt = await billing.receipt(userId, items[0]?.id ?? '', async (_, input) => {
    asked.push(input)
    return [event]
  })
  expect(asked).toEqual([{ userId, instanceId: instance.id, from: SINCE, to: until }])
  expect(receipt.events).toMatchObject([{ code: 'lost_sight', at: SINCE.toISOString() }])
  expect((await billing.balance(userId)).account_balance).toMatchObject({ amount: 150, amount_credits: 150 })
  expect(await billing.checkBooks()).toEqual([])
})

test('[B17] an outage that goes on is credited by parts, which come to what all of it gives', async () => {
  const { billing, db } = fixture
  const userId = await fixture.customer()
  const outage = {
    ...{ userId, instance: { id: `i-${randomUUID()}`, name: 'llama' }, since: SINCE },
    microPerHour: UNIT / 2n,
  }
  const creditUpTo = (hours: number) =>
    db.transaction(tx =>
      billing.creditOutage(tx, { ...outage, until: new Date(SINCE.getTime() + hours * HOUR_MS) }),
    )
  const amounts = async () => {
    const { items } = await billing.transactions(userId, { page: 1, page_size: 10 })
    return items.map(({ amount_micro }) => amount_micro).reverse()
  }
  await creditUpTo(10)
  await creditUpTo(10)
  expect(await amounts()).toEqual(['5000000'])
  const of = { instanceId: outage.instance.id, since: SINCE }
  expect(await billing.outageCreditedUntil(db, of)).toEqual(new Date(SINCE.getTime() + 10 * HOUR_MS))
  await creditUpTo(30)
  await creditUpTo(400)
  // No more than for the hours that the catalogue names.
  expect(await amounts()).toEqual(['5000000', '7000000'])
  // Another outage of the same instance is one of its own.
  const again = new Date(SINCE.getTime() + 500 * HOUR_MS)
  await db.transaction(tx =>
    billing.creditOutage(tx, { ...outage, since: again, until: new Date(again.getTime() + HOUR_MS) }),
  )
  expect((await amounts()).at(-1)).toBe('500000')
  expect(await billing.checkBooks()).toEqual([])
})
