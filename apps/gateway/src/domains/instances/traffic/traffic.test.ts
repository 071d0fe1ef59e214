import { eq } from 'drizzle-orm'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { usageInterval, usageMeter } from '../../billing/meters/tables.ts'
import { createInstancesFixture, type InstancesFixture } from '../instances-fixture.ts'
import { instanceTraffic } from '../tables.ts'
import { chargeTraffic } from './traffic.ts'
import { BYTES_PER_GB, isChargedNow, trafficMicro } from './traffic-rules.ts'

/** 0.05 for each GB. */
const MICRO_PER_GB = 50_000n
const GB = Number(BYTES_PER_GB)
const HOUR_S = 3_600

let fixture: InstancesFixture
beforeAll(async () => {
  fixture = await createInstancesFixture({ trafficMicroPerGb: MICRO_PER_GB })
  await fixture.instances.reconciler.start()
})
afterAll(() => fixture.close())

/** Counters of one machine, a minute after another. */
async function looks(instanceId: string, ...counters: number[]): Promise<void> {
  for (const bytes of counters) {
    fixture.clock.advance(60)
    await fixture.instances.noteTraffic([{ instanceId, bytes, at: fixture.clock.now() }])
  }
}

const sentBytes = async (id: string) =>
  (await fixture.db.select().from(instanceTraffic).where(eq(instanceTraffic.instanceId, id)))[0]?.sentBytes

/** What was charged for what an instance sent, in order. */
const charges = (id: string) =>
  fixture.db
    .select({
      sku: usageMeter.sku,
      bytes: usageMeter.quantity,
      micro: usageInterval.rateMicro,
      postedMicro: usageInterval.postedMicro,
      waivedMicro: usageInterval.waivedMicro,
    })
    .from(usageInterval)
    .innerJoin(usageMeter, eq(usageMeter.intervalId, usageInterval.id))
    .where(eq(usageInterval.subjectId, id))
    .orderBy(usageInterval.startedAt)
    .then(rows => rows.filter(({ sku }) => sku.startsWith('traffic.')))

async function sender(creditCents?: number): Promise<{ userId: string; id: string }> {
  const userId = await fixture.payer(creditCents)
  const id = await fixture.running(userId)
  await looks(id, 1_000)
  return { userId, id }
}

describe('[B2] what machines send, where a region asks for it', () => {
  test('is quoted with the machine, and counted from the first look by what the counter grows', async () => {
    const { id } = await sender()
    expect(await fixture.row(id)).toMatchObject({ trafficMicroPerGb: MICRO_PER_GB })
    expect(await sentBytes(id)).toBe(0)
    await looks(id, 5_000, 5_000, 9_000)
    expect(await sentBytes(id)).toBe(8_000)
    // A machine that began anew counts from zero.
    await looks(id, 300)
    expect(await sentBytes(id)).toBe(8_300)
    await fixture.instances.chargeTraffic()
    expect(await charges(id)).toEqual([])
  })

  test('counts once when two gateways note it, and not what is older or was never possible', async () => {
    const { id } = await sender()
    fixture.clock.advance(60)
    const look = { instanceId: id, bytes: 501_000, at: fixture.clock.now() }
    const other = await fixture.gateway()
    await Promise.all([fixture.instances.noteTraffic([look]), other.noteTraffic([look])])
    expect(await sentBytes(id)).toBe(500_000)
    await other.noteTraffic([{ ...look, bytes: 900_000, at: new Date(look.at.getTime() - 1_000) }])
    expect(await sentBytes(id)).toBe(500_000)
    for (const bytes of [Number.NaN, -1, 0.5, Number.POSITIVE_INFINITY]) {
      await other.noteTraffic([{ ...look, bytes, at: new Date(look.at.getTime() + 1_000) }])
    }
    expect(await sentBytes(id)).toBe(500_000)
    await other.noteTraffic([{ ...look, bytes: 2 ** 52, at: new Date(look.at.getTime() + 1_000) }])
    expect(await sentBytes(id)).toBe(500_000 + 125_000_000_000)
  })

  test('is charged hourly, and sooner where it is much, as usage of its own kind', async () => {
    const { userId, id } = await sender()
    await looks(id, 1_000 + GB)
    await fixture.instances.chargeTraffic()
    expect(await charges(id)).toEqual([])
    fixture.clock.advance(HOUR_S)
    await fixture.instances.chargeTraffic()
    const first = {
      sku: 'traffic.us-west',
      bytes: GB,
      micro: MICRO_PER_GB,
      postedMicro: MICRO_PER_GB,
      waivedMicro: 0n,
    }
    expect(await charges(id)).toEqual([first])
    await looks(id, 1_000 + 4 * GB)
    await Promise.all([fixture.instances.chargeTraffic(), (await fixture.gateway()).chargeTraffic()])
    const second = { ...first, bytes: 3 * GB, micro: 3n * MICRO_PER_GB, postedMicro: 3n * MICRO_PER_GB }
    expect(await charges(id)).toEqual([first, second])
    const month = fixture.clock.now().toISOString().slice(0, 7)
    const bill = await fixture.billing.bill(userId, { group: 'kind', month, page: 1, page_size: 20 })
    expect(bill.items.find(({ usage }) => usage === 'traffic')?.amount_micro).toBe(String(4n * MICRO_PER_GB))
    await fixture.expectSound(id)
  })

  test('is charged to the last byte that costs something when the machine is gone, and forgotten then', async () => {
    const { userId, id } = await sender()
    await looks(id, 1_000 + 100_000_000)
    await fixture.instances.terminate({ userId, instanceId: id })
    await fixture.until(id, 'terminated')
    await fixture.instances.chargeTraffic()
    const micro = (100_000_000n * MICRO_PER_GB) / BYTES_PER_GB
    expect(await charges(id)).toMatchObject([{ bytes: 100_000_000, postedMicro: micro }])
    await fixture.instances.chargeTraffic()
    expect(await sentBytes(id)).toBeUndefined()
  })

  test('[B4] stops what cannot pay for it, also in a term paid in advance', async () => {
    const userId = await fixture.payer()
    const id = await fixture.running(userId, { billing_type: 'prepay', charge_cycle: 'weekly' })
    await looks(id, 0, 10_000 * GB)
    await fixture.instances.chargeTraffic()
    await fixture.until(id, 'stopped')
    expect(await fixture.row(id)).toMatchObject({ desired: 'stopped', reasonCode: 'balance_used_up' })
    const [charged] = await charges(id)
    expect(charged?.waivedMicro).toBeGreaterThan(0n)
    await fixture.expectSound(id)
  })

  test('of one that fails, the others are charged', async () => {
    const [bad, good] = [await sender(), await sender()].toSorted((a, b) => a.id.localeCompare(b.id))
    if (!bad || !good) throw new Error('two were made')
    await looks(bad.id, 1_000 + 10 * GB)
    await looks(good.id, 1_000 + 10 * GB)
    const { db, clock, log, billing } = fixture
    const failing = {
      ...billing,
      chargeOnce: (...[tx, used]: Parameters<typeof billing.chargeOnce>) =>
        used.subject.id === bad.id ? Promise.reject(new Error('a test')) : billing.chargeOnce(tx, used),
    }
    await chargeTraffic({ db, clock, log, billing: failing, stopUnpaid: async () => [] })
    expect(await charges(bad.id)).toEqual([])
    expect(await charges(good.id)).toHaveLength(1)
    expect(await sentBytes(bad.id)).toBe(10 * GB)
  })

  test('costs in many pieces no more than in one, and less by a micro-unit for each at the most', () => {
    const bytes = fc.integer({ min: 0, max: 2 ** 40 })
    fc.assert(
      fc.property(
        fc.array(bytes, { maxLength: 20 }),
        fc.bigInt({ min: 0n, max: 10n ** 7n }),
        (pieces, microPerGb) => {
          const whole = trafficMicro({ bytes: pieces.reduce((sum, one) => sum + one, 0), microPerGb })
          const parts = pieces.reduce((sum, one) => sum + trafficMicro({ bytes: one, microPerGb }), 0n)
          expect(parts <= whole && whole - parts <= BigInt(pieces.length)).toBe(true)
        },
      ),
    )
  })

  test('waits while it costs less than a micro-unit, however long', () => {
    const sent = { bytes: 19_000, chargedAt: new Date(0), microPerGb: MICRO_PER_GB, runs: false }
    expect(isChargedNow(sent, new Date('2030-01-01'))).toBe(false)
    expect(isChargedNow({ ...sent, bytes: 20_000 }, new Date(0))).toBe(true)
  })
})

test('[B2] where a region asks nothing for it, nothing is counted', async () => {
  const free = await createInstancesFixture({ trafficMicroPerGb: 0n })
  try {
    await free.instances.reconciler.start()
    const id = await free.running(await free.payer())
    await free.instances.noteTraffic([{ instanceId: id, bytes: GB, at: free.clock.now() }])
    expect(await free.db.select().from(instanceTraffic)).toEqual([])
    expect(await free.instances.runningOn(['fake'])).not.toContainEqual(
      expect.objectContaining({ paysForTraffic: true }),
    )
  } finally {
    await free.close()
  }
})
