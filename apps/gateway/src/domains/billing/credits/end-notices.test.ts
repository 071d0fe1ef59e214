import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type BillingFixture, createBillingFixture, UNIT } from '../billing-fixture.ts'
import { creditsEnding } from '../events.ts'
import type { Grant } from './grants.ts'

/**
 * Goal: a customer is told of credits that end a week and a day before, once, with what is left of them (R3.8, B4).
 * Method: the domain on its database and a clock that is set; events are what it told.
 */

let fixture: BillingFixture
let userId: string
beforeAll(async () => {
  fixture = await createBillingFixture()
})
beforeEach(async () => {
  userId = await fixture.customer()
})
afterAll(async () => {
  expect(await fixture.billing.checkBooks()).toEqual([])
  await fixture.database.drop()
})

const HOUR_S = 3_600
const DAY_S = 24 * HOUR_S
const later = (seconds: number) => new Date(fixture.clock.now().getTime() + seconds * 1_000)

async function give(grant: Partial<Grant> = {}): Promise<void> {
  const whole = {
    id: randomUUID(),
    userId,
    amountMicro: UNIT,
    kind: 'bonus',
    reason: 'test',
    ...grant,
  } as const
  await fixture.db.transaction(tx => fixture.billing.grantCredit(tx, whole))
}

/** What the customer was told, oldest first. */
function notices() {
  const all = fixture.events.told.filter(({ event }) => event === creditsEnding.name)
  return all
    .map(({ payload }) => creditsEnding.payload.parse(payload))
    .filter(notice => notice.userId === userId)
}

/** Of each notice, what ends when. */
function told() {
  return notices().map(({ credits }) => credits.map(({ endsAt, leftMicro }) => [leftMicro, endsAt]))
}

test('[R3.8] credits that end are told of a week and a day before, once by any number of gateways', async () => {
  const endsAt = later(30 * DAY_S)
  await give({ endsAt, amountMicro: 5n * UNIT })
  await give()
  const look = async () => {
    // The second pair is of gateways that were started later.
    await Promise.all([fixture.billing.tellEndings(), fixture.replica({}).tellEndings()])
    await Promise.all([fixture.billing.tellEndings(), fixture.replica({}).tellEndings()])
  }
  const line = [['5000000', endsAt.toISOString()]]
  fixture.clock.advance(23 * DAY_S - 1)
  await look()
  expect(told()).toEqual([])
  fixture.clock.advance(1)
  await look()
  expect(told()).toEqual([line])
  fixture.clock.advance(6 * DAY_S - 1)
  await look()
  expect(told()).toEqual([line])
  fixture.clock.advance(1)
  await look()
  expect(told()).toEqual([line, line])
  fixture.clock.advance(DAY_S - 1)
  await look()
  fixture.clock.advance(DAY_S)
  await look()
  expect(told()).toHaveLength(2)
})

test('[R3.8] of what is spent nothing is told, posted or not; what is left is told to the moment', async () => {
  const endsAt = later(10 * DAY_S)
  await give({ endsAt, amountMicro: 5n * UNIT })
  await give({ endsAt: later(12 * DAY_S), amountMicro: 2n * UNIT })
  await fixture.open({ userId, instanceId: `${userId}-a`, rateMicroPerHour: UNIT / 24n })
  fixture.clock.advance(3 * DAY_S)
  await fixture.billing.tellEndings()
  expect(told()).toEqual([[['2000048', endsAt.toISOString()]]])
  fixture.clock.advance(5 * DAY_S)
  // Nothing was posted since; what is due has used up the first, and the other one as well.
  await fixture.billing.tellEndings()
  fixture.clock.advance(2 * DAY_S - HOUR_S)
  await fixture.billing.tellEndings()
  expect(told()).toHaveLength(1)
  await fixture.close({ userId, instanceId: `${userId}-a` })
})

test('[R3.8] all that ends on one date is one notice, an amount for each end; another date has its own', async () => {
  // The clock stands at noon, or at least far from midnight.
  const noon = new Date(
    `${later(40 * DAY_S)
      .toISOString()
      .slice(0, 10)}T12:00:00.000Z`,
  )
  const at = (seconds: number) => new Date(noon.getTime() + seconds * 1_000)
  await give({ endsAt: at(3 * HOUR_S), kind: 'free' })
  await give({ endsAt: at(3 * HOUR_S), amountMicro: 3n * UNIT })
  await give({ endsAt: at(3 * HOUR_S), amountMicro: 4n * UNIT })
  await give({ endsAt: noon })
  await give({ endsAt: at(DAY_S), amountMicro: 9n * UNIT })
  fixture.clock.advance((noon.getTime() - fixture.clock.now().getTime()) / 1_000 - 7 * DAY_S)
  await fixture.billing.tellEndings()
  const [credits, ...more] = notices()
  expect(more).toEqual([])
  expect(credits).toMatchObject({ currency: 'USD' })
  expect(credits?.credits[0]).toEqual({
    endsAt: noon.toISOString(),
    leftMicro: '1000000',
    modelsOnly: false,
  })
  const evening = at(3 * HOUR_S).toISOString()
  expect(credits?.credits.slice(1)).toEqual(
    expect.arrayContaining([
      { endsAt: evening, leftMicro: '7000000', modelsOnly: false },
      { endsAt: evening, leftMicro: '1000000', modelsOnly: true },
    ]),
  )
  expect(credits?.credits).toHaveLength(3)
  fixture.clock.advance(3 * HOUR_S)
  await fixture.billing.tellEndings()
  expect(told()).toHaveLength(1)
  fixture.clock.advance(21 * HOUR_S)
  await fixture.billing.tellEndings()
  expect(told().at(-1)).toEqual([['9000000', at(DAY_S).toISOString()]])
})

test('[R3.8] what is given for fewer days than a notice comes before its end is not told of at once', async () => {
  const endsAt = later(3 * DAY_S)
  await give({ endsAt })
  await give({ endsAt: later(HOUR_S), amountMicro: 2n * UNIT })
  await fixture.billing.tellEndings()
  expect(told()).toEqual([])
  fixture.clock.advance(2 * DAY_S)
  await fixture.billing.tellEndings()
  expect(told()).toEqual([[['1000000', endsAt.toISOString()]]])
})

test('[R3.8] after an outage only the nearest notice is sent, and of what has ended none', async () => {
  const near = later(10 * DAY_S)
  await give({ endsAt: near })
  await give({ endsAt: later(9 * DAY_S), amountMicro: 3n * UNIT })
  fixture.clock.advance(9 * DAY_S + HOUR_S)
  await fixture.billing.tellEndings()
  await fixture.billing.tellEndings()
  expect(told()).toEqual([[['1000000', near.toISOString()]]])
})

test('a customer of whom nothing can be told holds up nobody else', async () => {
  const own = userId
  const broken = randomUUID()
  userId = await fixture.customer()
  await give({ id: broken, endsAt: later(8 * DAY_S) })
  userId = own
  await give({ endsAt: later(8 * DAY_S) })
  const { pool } = fixture.database
  await pool.query(`alter table credit_end_notice add constraint got_wrong check (grant_id <> '${broken}')`)
  fixture.clock.advance(2 * DAY_S)
  expect(await fixture.billing.tellEndings()).toBe(1)
  expect(told()).toHaveLength(1)
  await pool.query('alter table credit_end_notice drop constraint got_wrong')
  expect(await fixture.billing.tellEndings()).toBe(1)
})
