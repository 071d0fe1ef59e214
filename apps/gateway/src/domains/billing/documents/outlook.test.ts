import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BillingFixture, createBillingFixture, UNIT } from '../billing-fixture.ts'

let fixture: BillingFixture

beforeAll(async () => {
  fixture = await createBillingFixture()
})
afterAll(() => fixture.database.drop())

test('[R2.27] [B4] what uses the balance adds up to its burn, and each deletion has its date', async () => {
  const { billing, clock } = fixture
  const userId = await fixture.customer()
  const look = () => billing.outlook(userId, async () => true)
  expect(await look()).toEqual({
    currency: 'USD',
    uses: [],
    empty_at: null,
    deletions: [],
  })
  await fixture.db.transaction(tx =>
    billing.grantCredit(tx, {
      id: randomUUID(),
      userId,
      amountMicro: 20n * UNIT,
      kind: 'demo',
      reason: 'demo',
    }),
  )
  const machines = [1n, 2n, 3n, 4n, 5n, 6n, 7n]
  for (const rate of machines) {
    const rateMicroPerHour = (rate * UNIT) / 7n
    await fixture.open({ userId, instanceId: randomUUID(), instanceName: `m-${rate}`, rateMicroPerHour })
  }
  const kept = [
    { kind: 'network_volume', sku: 'volume' },
    { kind: 'network_volume', sku: 'volume' },
    { kind: 'image', sku: 'image' },
  ] as const
  for (const { kind, sku } of kept) {
    await fixture.db.transaction(tx =>
      billing.openMeters(tx, {
        userId,
        subject: { kind, id: randomUUID() },
        name: 'kept',
        meters: [{ sku, label: 'kept', unit: 'gb_day', quantity: 10, rateMicro: 24_000n }],
        stopsWhenEmpty: false,
        at: clock.now(),
      }),
    )
  }
  const { uses, empty_at, deletions } = await look()
  expect(uses).toHaveLength(8)
  expect(uses.slice(0, 2)).toMatchObject([
    { usage: 'compute', instance_name: 'm-7', count: 1, rate_micro_per_hour: '1000000' },
    { usage: 'compute', instance_name: 'm-6', count: 1 },
  ])
  expect(uses).toContainEqual({
    usage: 'compute',
    instance_id: null,
    instance_name: null,
    count: 2,
    rate_micro_per_hour: '428571',
  })
  expect(uses).toContainEqual(
    expect.objectContaining({ usage: 'volume', count: 2, rate_micro_per_hour: '20000' }),
  )
  expect(uses).toContainEqual(
    expect.objectContaining({ usage: 'image', count: 1, rate_micro_per_hour: '10000' }),
  )
  const balance = await billing.balance(userId)
  const sum = uses.reduce((total, use) => total + BigInt(use.rate_micro_per_hour), 0n)
  expect(sum.toString()).toBe(balance.burn_micro_per_hour)
  expect(Date.parse(empty_at ?? '')).toBe(clock.now().getTime() + (balance.lasts_seconds ?? 0) * 1_000)
  const after = (days: number) => new Date(Date.parse(empty_at ?? '') + days * 86_400_000).toISOString()
  expect(deletions).toEqual([
    { what: 'volumes', at: after(14) },
    { what: 'images', at: after(14) },
    { what: 'machines', at: after(30) },
  ])
})

test('[R2.27] a pod that would be kept is not announced as deleted', async () => {
  const userId = await fixture.customer({ creditCents: 1_000 })
  await fixture.open({ userId, instanceId: randomUUID() })
  const { deletions, empty_at } = await fixture.billing.outlook(userId, async () => false)
  expect(empty_at).not.toBeNull()
  expect(deletions).toEqual([])
})

test('[B4] an address is announced to go back, before anything is deleted', async () => {
  const userId = await fixture.customer({ creditCents: 1_000 })
  await fixture.db.transaction(tx =>
    fixture.billing.openMeters(tx, {
      userId,
      subject: { kind: 'public_ip', id: randomUUID() },
      name: '203.0.113.7',
      meters: [{ sku: 'public_ip', label: '203.0.113.7', unit: 'hour', quantity: 1, rateMicro: 5_000n }],
      stopsWhenEmpty: false,
      at: fixture.clock.now(),
    }),
  )
  const { deletions, empty_at } = await fixture.billing.outlook(userId, async () => false)
  const at = new Date(Date.parse(empty_at ?? '') + 7 * 86_400_000).toISOString()
  expect(deletions).toEqual([{ what: 'public_ips', at }])
})
