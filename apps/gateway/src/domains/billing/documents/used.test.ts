import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BillingFixture, createBillingFixture, topupRequest, UNIT } from '../billing-fixture.ts'
import { inSnapshot, usedRows } from './used.ts'

/** Goal: what documents say of usage is the same before, while and after it is posted (R7.5, B2). */

let fixture: BillingFixture
beforeAll(async () => {
  fixture = await createBillingFixture()
})
afterAll(async () => {
  expect(await fixture.billing.checkBooks()).toEqual([])
  await fixture.database.drop()
})

const MARCH = { from: '2026-03-01', until: '2026-04-01' }
const bill = async (userId: string) =>
  (await fixture.billing.bill(userId, { month: '2026-03', group: 'day', page: 1, page_size: 50 })).sum

test('[B2] a document that is read while its usage is posted counts it once', async () => {
  const userId = await fixture.customer({ creditCents: 1_000 })
  await fixture.open({ userId, instanceId: userId })
  fixture.clock.advance(3_600)
  const micro = await inSnapshot(fixture, userId, async snapshot => {
    await fixture.post()
    const { rows } = await snapshot.tx.execute<{ micro: string }>(
      sql`select sum(u.cash + u.credits) as micro from (${usedRows(snapshot, MARCH)}) u`,
    )
    return BigInt(rows[0]?.micro ?? 0)
  })
  expect(micro).toBe(UNIT)
  await fixture.close({ userId, instanceId: userId })
})

test('[R3.8] a bill has credits up to their end and cash after it, before that is posted as well', async () => {
  const userId = await fixture.customer()
  const endsAt = new Date(fixture.clock.now().getTime() + 3_600_000)
  const grant = { id: randomUUID(), userId, amountMicro: 5n * UNIT, kind: 'bonus', reason: 'test' } as const
  await fixture.db.transaction(tx => fixture.billing.grantCredit(tx, { ...grant, endsAt }))
  await fixture.billing.topUp(topupRequest(userId))
  await fixture.open({ userId, instanceId: userId, rateMicroPerHour: 2n * UNIT })
  fixture.clock.advance(3 * 3_600)
  const unposted = await bill(userId)
  expect(unposted).toMatchObject({ credits_micro: '2000000', cash_micro: '4000000', waived_micro: '0' })
  await fixture.post()
  expect(await bill(userId)).toEqual(unposted)
  await fixture.close({ userId, instanceId: userId })
})

test('[B16] what was waived was not spent, of the account and of what it ran', async () => {
  const userId = await fixture.customer({ creditCents: 100 })
  const since = new Date(`${fixture.clock.now().toISOString().slice(0, 10)}T00:00:00.000Z`)
  await fixture.open({ userId, instanceId: userId })
  fixture.clock.advance(3 * 3_600)
  await fixture.close({ userId, instanceId: userId })
  for (const instanceId of [null, userId]) {
    expect(await fixture.billing.spentSince(fixture.db, { userId, instanceId, since })).toBe(UNIT)
  }
})
