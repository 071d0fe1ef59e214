import { deleteAccount } from '@berth/contract/account-security'
import { getBalance } from '@berth/contract/billing'
import { checkIn, getCheckIn } from '@berth/contract/check-in'
import { listCredits } from '@berth/contract/credits'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { userAccount } from '../src/domains/identity/tables.ts'
import { rateCount } from '../src/platform/database/tables.ts'
import { shippedCatalogue } from './shipped-catalogue.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

const HOUR_MS = 3_600_000
const AMOUNT_MICRO = 50_000n

let gateway: TestGateway
let nowMs = 0
let customer: Awaited<ReturnType<TestGateway['signUp']>>

beforeAll(async () => {
  const catalogue = { ...shippedCatalogue(), check_in: { amount_micro: AMOUNT_MICRO, credit_days: 7 } }
  gateway = await startGateway({ catalogue, clock: { now: () => new Date(nowMs || Date.now()) } })
})
afterAll(() => gateway.stop())
beforeEach(async () => {
  nowMs = Date.parse('2027-01-10T12:00:00Z')
  customer = await gateway.signUp()
})

const take = (time_zone = 'UTC', { token } = customer) =>
  gateway.call(checkIn, { body: { time_zone } }, { token })
const stateIn = (time_zone = 'UTC') =>
  gateway.data(getCheckIn, { query: { time_zone } }, { token: customer.token })
const given = async () =>
  (await gateway.data(listCredits, {}, { token: customer.token })).items.filter(
    ({ kind }) => kind === 'check_in',
  )

test('[R1.5] gives credit for models alone, with an end, once a day; days in a row are counted', async () => {
  expect(await stateIn()).toMatchObject({
    offered: true,
    done: false,
    streak: 0,
    next_at: null,
    amount_micro: '50000',
    credit_days: 7,
  })
  expect((await take()).envelope).toMatchObject({
    data: { done: true, streak: 1, next_at: '2027-01-11T00:00:00.000Z' },
  })
  expect(await given()).toMatchObject([
    {
      amount_micro: '50000',
      models_only: true,
      reason: 'check_in',
      expiration_date: '2027-01-17T12:00:00.000Z',
    },
  ])
  const { account_balance } = await gateway.data(getBalance, {}, { token: customer.token })
  expect(account_balance).toMatchObject({ amount: 5, amount_free: 5 })
  const again = await take()
  expect(again).toMatchObject({ httpStatus: 409, envelope: { code: 'check_in_done' } })
  expect(again.envelope.msg).toContain('2027-01-11 00:00')

  nowMs = Date.parse('2027-01-10T23:59:00Z')
  expect((await take()).httpStatus).toBe(409)
  nowMs = Date.parse('2027-01-11T00:00:00Z')
  expect(await stateIn()).toMatchObject({ done: false, streak: 1 })
  expect((await take()).envelope).toMatchObject({ data: { streak: 2 } })
  nowMs = Date.parse('2027-01-13T00:00:00Z')
  expect(await stateIn()).toMatchObject({ streak: 0 })
  expect((await take()).envelope).toMatchObject({ data: { streak: 1 } })
  expect(await given()).toHaveLength(3)
})

test('[R1.5] [R6.3] is for accounts with a verified address alone', async () => {
  const { userId } = customer
  await gateway.database.db
    .update(userAccount)
    .set({ emailVerifiedAt: null })
    .where(eq(userAccount.id, userId))
  expect(await take()).toMatchObject({ httpStatus: 403 })
  expect(await given()).toEqual([])
})

test('[R1.5] twenty at once are one, also from as many zones', async () => {
  const zones = ['UTC', 'Asia/Tokyo', 'America/Los_Angeles', 'Pacific/Kiritimati', 'Pacific/Pago_Pago']
  const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => take(zones[at % zones.length])))
  expect(answers.filter(({ httpStatus }) => httpStatus === 200)).toHaveLength(1)
  expect(answers.filter(({ httpStatus }) => httpStatus === 409)).toHaveLength(19)
  expect(await given()).toHaveLength(1)
})

test('[R1.5] a day is that of the zone that is named, with its midnights', async () => {
  nowMs = Date.parse('2027-01-10T14:30:00Z')
  expect((await take('Asia/Tokyo')).envelope).toMatchObject({ data: { next_at: '2027-01-10T15:00:00.000Z' } })
  nowMs = Date.parse('2027-01-10T15:00:00Z')
  expect((await take('Asia/Tokyo')).envelope).toMatchObject({ data: { streak: 2 } })
  // Clocks go forward by an hour that night.
  nowMs = Date.parse('2027-03-27T23:30:00Z')
  customer = await gateway.signUp()
  expect((await take('Europe/Berlin')).envelope).toMatchObject({
    data: { next_at: '2027-03-28T22:00:00.000Z' },
  })
})

test('[R1.5] to name another zone wins no second one within twenty hours, in either direction', async () => {
  nowMs = Date.parse('2027-01-10T09:30:00Z')
  expect((await take('UTC')).httpStatus).toBe(200)
  // It is the eleventh there already, and will be the ninth for a while there.
  nowMs = Date.parse('2027-01-10T10:30:00Z')
  for (const zone of ['Pacific/Kiritimati', 'Pacific/Pago_Pago']) {
    expect((await take(zone)).envelope, zone).toMatchObject({ code: 'check_in_done' })
  }
  expect(await stateIn('Pacific/Kiritimati')).toMatchObject({ next_at: '2027-01-11T05:30:00.000Z' })
  nowMs = Date.parse('2027-01-10T09:30:00Z') + 20 * HOUR_MS - 1
  expect((await take('Pacific/Kiritimati')).httpStatus).toBe(409)
  nowMs += 1
  expect((await take('Pacific/Kiritimati')).httpStatus).toBe(200)
  // Back in the west the day that was taken there is still to come.
  const { next_at } = await stateIn('Pacific/Pago_Pago')
  nowMs = Date.parse(next_at ?? '') - 1
  expect((await take('Pacific/Pago_Pago')).httpStatus).toBe(409)
  nowMs += 1
  expect((await take('Pacific/Pago_Pago')).httpStatus).toBe(200)
  expect(await given()).toHaveLength(3)
})

test('[R1.5] who deletes an account and makes another by its address waits as if it were the same', async () => {
  const { email, token } = customer
  expect((await take()).httpStatus).toBe(200)
  await gateway.data(deleteAccount, { body: { email } }, { token })
  customer = await gateway.signUp(email)
  const refused = await take()
  expect(refused).toMatchObject({ httpStatus: 409, envelope: { code: 'check_in_done' } })
  expect(refused.envelope.msg).toContain('2027-01-11 0')
  expect(await given()).toEqual([])
  // Nothing that is kept of it names anybody, and it ends by the database's clock.
  const counts = await gateway.database.db.select().from(rateCount)
  expect(JSON.stringify(counts)).not.toContain(email)
  await gateway.database.db.update(rateCount).set({ endsAt: sql`now()` })
  expect((await take()).httpStatus).toBe(200)
  // Who stays may come twice within those hours, around midnight.
  nowMs = Date.parse('2027-01-11T00:00:00Z')
  expect((await take()).httpStatus).toBe(200)
  expect(await given()).toHaveLength(2)
})

test('[R1.5] what is no zone is refused, and so is everything where none is offered', async () => {
  for (const zone of ['', 'Mars/Olympus', 'x'.repeat(65)]) {
    expect((await take(zone)).httpStatus, zone).toBe(400)
  }
  expect(await given()).toEqual([])
  const { check_in: _, ...without } = shippedCatalogue()
  const other = await startGateway({ catalogue: without })
  try {
    const { token } = await other.signUp()
    expect(await other.data(getCheckIn, {}, { token })).toMatchObject({ offered: false, done: false })
    const refused = await other.call(checkIn, { body: { time_zone: 'UTC' } }, { token })
    expect(refused).toMatchObject({ httpStatus: 404, envelope: { code: 'check_in_not_offered' } })
  } finally {
    await other.stop()
  }
})
