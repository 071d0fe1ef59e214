import { randomUUID } from 'node:crypto'
import { usageDueMicro } from '@berth/contract/money'
import { eq, sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import {
  type BillingFixture,
  createBillingFixture,
  instance,
  topupRequest,
  UNIT,
} from '../billing-fixture.ts'
import { ledgerTransfer } from '../ledger/tables.ts'
import { usageInterval } from './tables.ts'

let fixture: BillingFixture
let userId: string
let instanceId: string
beforeAll(async () => {
  fixture = await createBillingFixture()
})
afterAll(() => fixture.database.drop())
beforeEach(() => {
  userId = ''
  instanceId = `i-${randomUUID()}`
})
afterEach(async () => {
  expect(await fixture.billing.checkBooks()).toEqual([])
  // Nobody's interval stays open for the next test's ticks.
  const open = await fixture.db.select().from(usageInterval).where(sql`ended_at is null`)
  for (const { userId, subjectId } of open) await fixture.close({ userId, instanceId: subjectId })
})

test('[B2] whatever the ticks, an interval costs floor(seconds × rate ÷ 3600)', async () => {
  userId = await fixture.customer({ creditCents: 10_000 })
  const rateMicroPerHour = 1_234_567n
  await fixture.open({ userId, instanceId, rateMicroPerHour })
  let elapsed = 0
  for (const seconds of [0, 1, 0.4, 59, 60, 0.999, 3_601, 7]) {
    elapsed += seconds
    fixture.clock.advance(seconds)
    await fixture.post()
    expect(await interval()).toMatchObject({ postedMicro: usageDueMicro(elapsed * 1_000, rateMicroPerHour) })
  }
  fixture.clock.advance(13)
  await fixture.close({ userId, instanceId })
  expect(await interval()).toMatchObject({
    postedMicro: usageDueMicro((elapsed + 13) * 1_000, rateMicroPerHour),
    waivedMicro: 0n,
    endedAt: fixture.clock.now(),
  })
})

test('[B2] ticks that run at the same time post what is due once', async () => {
  userId = await fixture.customer({ creditCents: 1_000 })
  await fixture.open({ userId, instanceId, rateMicroPerHour: UNIT })
  fixture.clock.advance(3_600)
  await Promise.all(Array.from({ length: 8 }, () => fixture.billing.postDue()))
  expect(await interval()).toMatchObject({ postedMicro: UNIT, postings: 1 })
  expect(await fixture.billing.balanceCents(userId)).toBe(900)
})

test('[B2] a customer whose machines run for parts of a second, again and again, pays for all that ran', async () => {
  userId = await fixture.customer({ creditCents: 100 })
  const rateMicroPerHour = 3_600n * 1_000n
  const posted = async () =>
    (await fixture.db.select().from(usageInterval).where(eq(usageInterval.userId, userId))).reduce(
      (sum, { postedMicro }) => sum + postedMicro,
      0n,
    )
  for (let run = 0; run < 10; run += 1) {
    // Another machine each time: what is left over is the customer's, so that a new one gains nothing.
    const subject = `${instanceId}-${run % 3}`
    await fixture.open({ userId, instanceId: subject, rateMicroPerHour })
    fixture.clock.advance(0.95)
    await fixture.close({ userId, instanceId: subject })
  }
  // 9.5 seconds, of which the last 0.95 are paid with whatever runs next.
  expect(await posted()).toBe(8_550n)
  await fixture.open({ userId, instanceId, rateMicroPerHour })
  fixture.clock.advance(2)
  const { items } = await fixture.billing.transactions(userId, { page: 1, page_size: 1 })
  const { interval } = await fixture.receipt(userId, items[0]?.id ?? '')
  expect(interval).toMatchObject({ carried_micro: '950', seconds: 2, due_micro: '2950' })
})

test('credits are taken before cash', async () => {
  userId = await fixture.customer({ creditCents: 100 })
  await fixture.billing.topUp(topupRequest(userId, { amountCents: 1_000 }))
  await fixture.open({ userId, instanceId, rateMicroPerHour: UNIT })
  fixture.clock.advance(5_400)
  await fixture.billing.postDue()
  expect(await entries()).toEqual([
    [`user:${userId}:credits`, 'house:revenue:USD', UNIT],
    [`user:${userId}:cash`, 'house:revenue:USD', UNIT / 2n],
  ])
})

test('[B2] what an empty wallet cannot pay is waived, so that posted + waived is what was due', async () => {
  userId = await fixture.customer({ creditCents: 100 })
  await fixture.open({ userId, instanceId, rateMicroPerHour: UNIT })
  fixture.clock.advance(3_600 * 3)
  expect(await fixture.billing.postDue()).toEqual({ exhausted: [userId] })
  expect(await interval()).toMatchObject({ postedMicro: UNIT, waivedMicro: 2n * UNIT })
  expect(await fixture.billing.balanceCents(userId)).toBe(0)
  await fixture.billing.topUp(topupRequest(userId))
  fixture.clock.advance(3_600)
  expect(await fixture.billing.postDue()).toEqual({ exhausted: [] })
  expect(await interval()).toMatchObject({ postedMicro: 2n * UNIT, waivedMicro: 2n * UNIT })
})

test('the first hour is paid from what was set aside for it; only then is an empty balance used up', async () => {
  userId = await fixture.customer({ creditCents: 100 })
  await fixture.hold({ userId, instanceId, amountMicro: UNIT })
  await fixture.open({ userId, instanceId, rateMicroPerHour: UNIT })
  fixture.clock.advance(1_800)
  expect(await fixture.billing.postDue()).toEqual({ exhausted: [] })
  expect((await fixture.billing.balance(userId)).account_balance).toMatchObject({
    amount: 50,
    amount_available: 0,
    amount_freeze: 50,
  })
  fixture.clock.advance(1_800)
  expect(await fixture.billing.postDue()).toEqual({ exhausted: [userId] })
  await fixture.post()
  expect(await interval()).toMatchObject({ postedMicro: UNIT, waivedMicro: 0n })
})

test("an instance never spends what is set aside for another, nor does a stopped one's disk", async () => {
  userId = await fixture.customer({ creditCents: 150 })
  const other = `i-${randomUUID()}`
  await fixture.hold({ userId, instanceId: other, amountMicro: UNIT })
  await fixture.open({ userId, instanceId, usage: 'disk', rateMicroPerHour: UNIT })
  fixture.clock.advance(3_600)
  expect(await fixture.billing.postDue()).toEqual({ exhausted: [] })
  expect(await interval()).toMatchObject({ postedMicro: UNIT / 2n, waivedMicro: UNIT / 2n })
  expect((await fixture.billing.balance(userId)).account_balance).toMatchObject({
    amount_available: 0,
    amount_freeze: 100,
  })
})

test('[B4] only instances that nothing is set aside for any more are exhausted, and none once money is there', async () => {
  userId = await fixture.customer({ creditCents: 150 })
  const reserved = `i-${randomUUID()}`
  const exhausted = () =>
    fixture.db.transaction(async tx => {
      await fixture.billing.lockWallet(tx, userId)
      return fixture.billing.exhaustedSubjects(tx, userId)
    })
  await fixture.hold({ userId, instanceId: reserved, amountMicro: UNIT })
  await fixture.open({ userId, instanceId: reserved, rateMicroPerHour: UNIT })
  await fixture.open({ userId, instanceId, rateMicroPerHour: UNIT })
  expect(await exhausted()).toEqual([])
  fixture.clock.advance(1_800)
  expect(await fixture.billing.postDue()).toEqual({ exhausted: [userId] })
  expect(await exhausted()).toEqual([instance(instanceId)])
  await fixture.billing.topUp(topupRequest(userId))
  expect(await exhausted()).toEqual([])
})

test('[B4] a machine uses what is set aside for it, and what is available only after that, posted or not', async () => {
  userId = await fixture.customer({ creditCents: 300 })
  await fixture.hold({ userId, instanceId, amountMicro: UNIT })
  await fixture.open({ userId, instanceId, rateMicroPerHour: UNIT })
  fixture.clock.advance(1_800)
  const halfUsed = { heldMicro: UNIT / 2n, availableMicro: 2n * UNIT }
  expect(await fixture.billing.totals(fixture.db, userId)).toMatchObject(halfUsed)
  await fixture.post()
  expect(await fixture.billing.totals(fixture.db, userId)).toMatchObject(halfUsed)
})

test('[B2] [B4] a top-up pays nothing of what an empty wallet could not pay before it, posted or not', async () => {
  for (const isPosted of [false, true]) {
    const userId = await fixture.customer({ creditCents: 50 })
    await fixture.open({ userId, instanceId: userId })
    // An hour costs twice as much as there is.
    fixture.clock.advance(3_600)
    if (isPosted) await fixture.billing.postDue()
    await fixture.billing.topUp(topupRequest(userId))
    const { cashMicro, creditsMicro } = await fixture.billing.totals(fixture.db, userId)
    expect({ cashMicro, creditsMicro }, String(isPosted)).toEqual({ cashMicro: 25n * UNIT, creditsMicro: 0n })
    fixture.clock.advance(1_800)
    await fixture.close({ userId, instanceId: userId })
    const { cashMicro: left } = await fixture.billing.totals(fixture.db, userId)
    expect(left, String(isPosted)).toBe((49n * UNIT) / 2n)
    const [stretch] = await fixture.db.select().from(usageInterval).where(eq(usageInterval.userId, userId))
    expect(stretch).toMatchObject({ waivedMicro: UNIT / 2n, creditsMicro: UNIT / 2n, cashMicro: UNIT / 2n })
  }
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[B2] what is let go pays for nothing that could not be paid before', async () => {
  userId = await fixture.customer({ creditCents: 100 })
  const other = `i-${randomUUID()}`
  await fixture.hold({ userId, instanceId, amountMicro: UNIT })
  await fixture.open({ userId, instanceId, rateMicroPerHour: UNIT })
  await fixture.open({ userId, instanceId: other, rateMicroPerHour: UNIT })
  fixture.clock.advance(1_800)
  await fixture.releaseHold({ userId, instanceId })
  expect(await fixture.billing.totals(fixture.db, userId)).toMatchObject({ availableMicro: UNIT / 2n })
})

test('[B2] after a year in which nothing was posted each day of each machine is, and the lots know of all of it', async () => {
  userId = await fixture.customer({ creditCents: 3_000_000 })
  const days = 366
  // More entries, and more days, than one statement writes.
  const machines = [instanceId, `i-${randomUUID()}`, `i-${randomUUID()}`]
  for (const machine of machines) await fixture.open({ userId, instanceId: machine, rateMicroPerHour: UNIT })
  fixture.clock.advance(days * 86_400)
  await fixture.post()
  const { rows } = await fixture.db.execute<{ days: number; micro: string }>(
    sql`select count(distinct day)::int as days, sum(amount_micro) as micro from usage_day
        where user_id = ${userId} group by interval_id`,
  )
  const whole = { days: days + 1, micro: `${BigInt(days * 24) * UNIT}` }
  expect(rows).toEqual(machines.map(() => whole))
})

test('a machine that costs nothing is not stopped for an empty balance', async () => {
  userId = await fixture.customer()
  await fixture.open({ userId, instanceId, rateMicroPerHour: 0n })
  fixture.clock.advance(3_600)
  expect(await fixture.billing.postDue()).toEqual({ exhausted: [] })
})

test('[B6] what was posted beyond the end is given back: waived first, then cash, then credits', async () => {
  userId = await fixture.customer({ creditCents: 100 })
  await fixture.billing.topUp(topupRequest(userId, { amountCents: 100 }))
  const start = fixture.clock.now()
  await fixture.open({ userId, instanceId, rateMicroPerHour: UNIT })
  fixture.clock.advance(3 * 3_600)
  await fixture.billing.postDue()
  expect(await interval()).toMatchObject({ postedMicro: 2n * UNIT, waivedMicro: UNIT })
  const taken = (await entries()).length

  await fixture.close({ userId, instanceId, at: new Date(start.getTime() + 1_800_000) })
  expect(await interval()).toMatchObject({ postedMicro: UNIT / 2n, waivedMicro: 0n })
  expect((await entries()).slice(taken)).toEqual([
    ['house:revenue:USD', `user:${userId}:credits`, UNIT / 2n],
    ['house:revenue:USD', `user:${userId}:cash`, UNIT],
    ['house:revenue:USD', 'house:write_off:USD', UNIT],
  ])
  expect((await fixture.billing.balance(userId)).account_balance).toMatchObject({
    amount: 150,
    amount_credits: 50,
  })
})

test('a clock that steps back charges nothing twice, and an end never precedes its start', async () => {
  userId = await fixture.customer({ creditCents: 1_000 })
  await fixture.open({ userId, instanceId, rateMicroPerHour: UNIT })
  fixture.clock.advance(3_600)
  await fixture.billing.postDue()
  fixture.clock.advance(-1_800)
  await fixture.billing.postDue()
  await fixture.post()
  expect(await interval()).toMatchObject({ postedMicro: UNIT, postings: 1 })
  expect(await fixture.billing.costMicro(fixture.db, 'instance', [instanceId])).toEqual(
    new Map([[instanceId, UNIT]]),
  )
  fixture.clock.advance(-5_400)
  await fixture.close({ userId, instanceId })
  const ended = await interval()
  expect(ended?.endedAt).toEqual(ended?.startedAt)
  expect(ended?.postedMicro).toBe(0n)
  expect(await fixture.billing.balanceCents(userId)).toBe(1_000)
})

test('an interval that opens ends the one before it at the same moment', async () => {
  userId = await fixture.customer({ creditCents: 1_000 })
  await fixture.open({ userId, instanceId, rateMicroPerHour: UNIT })
  fixture.clock.advance(3_600)
  const at = fixture.clock.now()
  await fixture.open({ userId, instanceId, usage: 'disk', rateMicroPerHour: UNIT / 10n })
  const intervals = await fixture.db
    .select()
    .from(usageInterval)
    .where(eq(usageInterval.subjectId, instanceId))
    .orderBy(usageInterval.id)
  expect(intervals).toMatchObject([
    { stopsWhenEmpty: true, endedAt: at, postedMicro: UNIT },
    { stopsWhenEmpty: false, startedAt: at, endedAt: null },
  ])
})

test('closing where nothing is open does nothing', async () => {
  userId = await fixture.customer()
  await fixture.close({ userId, instanceId })
  expect(await entries()).toEqual([])
})

test("[R6.4] another customer's interval is not closed", async () => {
  userId = await fixture.customer({ creditCents: 100 })
  const stranger = await fixture.customer()
  await fixture.open({ userId, instanceId })
  await fixture.close({ userId: stranger, instanceId })
  expect(await interval()).toMatchObject({ endedAt: null })
})

test('a customer whose usage cannot be posted keeps nobody else from being billed', async () => {
  const healthy = await Promise.all([1, 2, 3].map(() => fixture.customer({ creditCents: 1_000 })))
  userId = await fixture.customer({ creditCents: 1_000 })
  for (const user of [...healthy, userId]) {
    await fixture.open({ userId: user, instanceId: user === userId ? instanceId : `i-${user}` })
  }
  fixture.clock.advance(3_600)
  await fixture.db.execute(
    sql`alter table usage_interval add constraint broken check (user_id <> ${sql.raw(`'${userId}'`)} or credits_micro = 0) not valid`,
  )
  await fixture.billing.postDue()
  await fixture.db.execute(sql`alter table usage_interval drop constraint broken`)
  for (const user of healthy) expect(await posted(user)).toBe(UNIT)
  expect(await posted(userId)).toBe(0n)
  await fixture.billing.postDue()
  expect(await posted(userId)).toBe(UNIT)
  expect(await fixture.billing.balanceCents(userId)).toBe(900)
})

test('a customer whose wallet is in use keeps nobody else waiting, and is posted once it is free', async () => {
  userId = await fixture.customer({ creditCents: 1_000 })
  const other = await fixture.customer({ creditCents: 1_000 })
  await fixture.open({ userId, instanceId })
  await fixture.open({ userId: other, instanceId: `i-${other}` })
  fixture.clock.advance(3_600)
  const free = Promise.withResolvers<void>()
  const inUse = Promise.withResolvers<void>()
  const using = fixture.db.transaction(async tx => {
    await fixture.billing.lockWallet(tx, userId)
    inUse.resolve()
    await free.promise
  })
  await inUse.promise
  const tick = fixture.billing.postDue()
  await vi.waitFor(async () => expect(await posted(other)).toBe(UNIT))
  expect(await posted(userId)).toBe(0n)
  free.resolve()
  await Promise.all([using, tick])
  expect(await posted(userId)).toBe(UNIT)
})

test('what instances cost is what was posted and what is due by now', async () => {
  userId = await fixture.customer({ creditCents: 1_000 })
  await fixture.open({ userId, instanceId, rateMicroPerHour: UNIT })
  fixture.clock.advance(3_600)
  await fixture.open({ userId, instanceId, usage: 'disk', rateMicroPerHour: 360_000n })
  fixture.clock.advance(10)
  await fixture.billing.postDue()
  fixture.clock.advance(5)
  expect(await fixture.billing.costMicro(fixture.db, 'instance', [instanceId, 'i-none'])).toEqual(
    new Map([
      [instanceId, UNIT + 1_500n],
      ['i-none', 0n],
    ]),
  )
  expect(await fixture.billing.costMicro(fixture.db, 'instance', [])).toEqual(new Map())
})

async function posted(user: string) {
  const [row] = await fixture.db.select().from(usageInterval).where(eq(usageInterval.userId, user))
  return row?.postedMicro
}

async function interval() {
  const [row] = await fixture.db.select().from(usageInterval).where(eq(usageInterval.subjectId, instanceId))
  return row
}

/** The usage entries of the customer, in order: from, to, amount. */
async function entries() {
  const rows = await fixture.db
    .select()
    .from(ledgerTransfer)
    .where(eq(ledgerTransfer.userId, userId))
    .orderBy(ledgerTransfer.id)
  return rows
    .filter(({ kind }) => kind === 'usage' || kind === 'write_off')
    .map(({ fromAccount, toAccount, amountMicro }) => [fromAccount, toAccount, amountMicro])
}
