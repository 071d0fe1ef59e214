import { USAGE_KINDS, type UsageKind } from '@berth/contract/usage-kinds'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BillingFixture, createBillingFixture, UNIT } from '../billing-fixture.ts'
import type { Subject } from '../subject.ts'

let fixture: BillingFixture
beforeAll(async () => {
  fixture = await createBillingFixture()
})
afterAll(() => fixture.database.drop())

/** What each kind of usage is metered as. */
const OF_KINDS: Record<UsageKind, { kind: Subject['kind']; sku: string }> = {
  compute: { kind: 'instance', sku: 'compute.rtx-4090' },
  disk: { kind: 'instance', sku: 'disk.container' },
  public_ip: { kind: 'public_ip', sku: 'public-ip.us-west' },
  traffic: { kind: 'instance', sku: 'traffic.us-west' },
  volume: { kind: 'network_volume', sku: 'volume.us-west' },
  snapshot: { kind: 'volume_snapshot', sku: 'snapshot.us-west' },
  image: { kind: 'image', sku: 'image.gb' },
  model: { kind: 'model_call', sku: 'model.llama' },
}
const HOUR_S = 3_600

test('[R7.5] [B2] a day has a total for each kind of usage, over midnight and with what was given back', async () => {
  const { billing, clock, db } = fixture
  const userId = await fixture.customer({ creditCents: 1_000 })
  const startOf = (usage: UsageKind) => ({
    userId,
    subject: { kind: OF_KINDS[usage].kind, id: `${usage}-${userId}` },
    name: usage,
    meters: [
      { sku: OF_KINDS[usage].sku, label: usage, unit: 'hour' as const, quantity: 1, rateMicro: UNIT / 100n },
    ],
  })
  const midnight = Math.ceil(clock.now().getTime() / 86_400_000) * 86_400_000
  clock.advance((midnight - clock.now().getTime()) / 1_000 - 2 * HOUR_S)
  await db.transaction(async tx => {
    for (const usage of USAGE_KINDS)
      await billing.openMeters(tx, { ...startOf(usage), stopsWhenEmpty: false, at: clock.now() })
  })
  clock.advance(5 * HOUR_S)
  await fixture.post()
  const hours = async () =>
    (await billing.spend(userId, 2)).days.map(({ kinds }) =>
      Object.fromEntries(kinds.map(({ usage, amount_micro }) => [usage, Number(amount_micro) / 10_000])),
    )
  const each = (amount: number) => Object.fromEntries(USAGE_KINDS.map(usage => [usage, amount]))
  expect(await hours()).toEqual([each(2), each(3)])
  // One of them turns out to have ended an hour ago.
  await db.transaction(tx =>
    billing.closeMeters(tx, {
      ...startOf('compute'),
      at: new Date(clock.now().getTime() - HOUR_S * 1_000),
    }),
  )
  expect(await hours()).toEqual([each(2), { ...each(3), compute: 2 }])
  expect(await billing.checkBooks()).toEqual([])
})

test('[B2] totals are kept of what a gateway of the version before posts', async () => {
  const { clock, db } = fixture
  const userId = await fixture.customer({ creditCents: 1_000 })
  await fixture.open({ userId, instanceId: `i-${userId}`, rateMicroPerHour: UNIT })
  clock.advance(HOUR_S)
  await fixture.post()
  const day = clock.now().toISOString().slice(0, 10)
  // As that version writes down a day, which is there or is not.
  for (const part of ['credits', 'cash', 'write_off']) {
    await db.execute(sql`
      insert into usage_day (interval_id, user_id, day, part, back, entries, amount_micro)
      select id, user_id, ${day}, ${part}, ${part === 'cash'}, 1, 7 from usage_interval where user_id = ${userId}
      on conflict (interval_id, day, part, back) do update set
        entries = usage_day.entries + excluded.entries, amount_micro = usage_day.amount_micro + excluded.amount_micro`)
  }
  const { rows } = await db.execute(sql`
    select credits_micro::text as credits, cash_micro::text as cash, waived_micro::text as waived
    from usage_total where user_id = ${userId} and day = ${day}`)
  expect(rows).toEqual([{ credits: `${UNIT + 7n}`, cash: '-7', waived: '7' }])
})
