import { randomUUID } from 'node:crypto'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BillingFixture, createBillingFixture, UNIT } from '../billing-fixture.ts'
import { ledgerAccount, wallet } from '../ledger/tables.ts'
import { usageInterval } from './tables.ts'
import { postDue } from './tick.ts'

/** Goal: a tick looks at everybody, and writes only where it is time (B2, R9.1). */

let fixture: BillingFixture
beforeAll(async () => {
  fixture = await createBillingFixture()
})
afterAll(() => fixture.database.drop())

const postings = async (userId: string) =>
  (await fixture.db.select().from(usageInterval).where(eq(usageInterval.userId, userId)))[0]?.postings

test('[B2] what runs is posted when an hour of the clock is over, and not at each tick', async () => {
  const userId = await fixture.customer({ creditCents: 10_000 })
  await fixture.open({ userId, instanceId: userId })
  const seen: unknown[] = []
  for (const seconds of [0, 3_599, 1, 1_800, 1_799, 1]) {
    fixture.clock.advance(seconds)
    await fixture.billing.postDue()
    seen.push(await postings(userId))
  }
  expect(seen).toEqual([0, 0, 1, 1, 1, 2])
  await fixture.close({ userId, instanceId: userId })
})

test('[B2] near its floor a wallet is posted at once, and an empty one waits for its hour again', async () => {
  const userId = await fixture.customer({ creditCents: 20 })
  await fixture.open({ userId, instanceId: userId })
  fixture.clock.advance(660)
  await fixture.billing.postDue()
  expect(await postings(userId)).toBe(1)
  fixture.clock.advance(660)
  // Also by a tick that has posted all that it may.
  await postDue(fixture, undefined, 0)
  expect(await postings(userId)).toBe(2)
  fixture.clock.advance(660)
  expect((await fixture.billing.postDue()).exhausted).toEqual([userId])
  expect(await postings(userId)).toBe(2)
  await fixture.close({ userId, instanceId: userId })
})

test('[R9.1] a tick posts so many stretches for their hour and leaves the rest to the next, but for whoever is near the floor', async () => {
  const rich = [] as string[]
  for (let customer = 0; customer < 3; customer++) {
    const userId = await fixture.customer({ creditCents: 10_000 })
    rich.push(userId)
    for (const instanceId of [`${userId}-a`, `${userId}-b`]) await fixture.open({ userId, instanceId })
  }
  const poor = await fixture.customer({ creditCents: 100 })
  await fixture.open({ userId: poor, instanceId: poor })
  // An hour is all that the poor one can pay.
  fixture.clock.advance(3_600)
  const posted = async () => (await Promise.all(rich.map(postings))).filter(times => times === 1).length
  const tick = () => postDue(fixture, undefined, 2)
  const { exhausted } = await tick()
  expect([await posted(), await postings(poor), exhausted]).toEqual([1, 1, [poor]])
  await tick()
  expect(await posted()).toBe(2)
  await tick()
  await tick()
  expect(await posted()).toBe(3)
  for (const userId of rich)
    for (const instanceId of [`${userId}-a`, `${userId}-b`]) await fixture.close({ userId, instanceId })
  await fixture.close({ userId: poor, instanceId: poor })
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[R9.1] a tick finds each customer who has nothing left, however many there are', async () => {
  const userIds = Array.from({ length: 501 }, () => randomUUID())
  const now = fixture.clock.now()
  const currency = 'USD' as const
  await fixture.db.insert(wallet).values(userIds.map(userId => ({ userId, currency, createdAt: now })))
  await fixture.db.insert(ledgerAccount).values(
    userIds.flatMap(userId =>
      (['cash', 'credits'] as const).map(kind => ({
        ...{ id: `user:${userId}:${kind}`, kind, userId, currency, balanceMicro: 0n },
      })),
    ),
  )
  await fixture.db.insert(usageInterval).values(
    userIds.map(userId => ({
      ...{ id: randomUUID(), userId, subjectKind: 'instance' as const, subjectId: userId, subjectName: 'a' },
      ...{ charge: 'by_time' as const, stopsWhenEmpty: true, rateMicro: UNIT, rateSeconds: 3_600 },
      ...{ startedAt: now, postedUntil: now, creditsMicro: 0n, cashMicro: 0n, waivedMicro: 0n },
    })),
  )
  expect((await fixture.billing.postDue()).exhausted.toSorted()).toEqual(userIds.toSorted())
})
