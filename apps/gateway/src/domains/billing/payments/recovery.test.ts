import { randomUUID } from 'node:crypto'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { EVENTS_KEPT_MS, type PaymentDriver, PaymentUnavailable } from '../../../drivers/payments/port.ts'
import { type BillingFixture, createBillingFixture, topupRequest } from '../billing-fixture.ts'
import { lookPauseMs } from './recovery.ts'
import { paymentEvent, paymentIntent } from './tables.ts'

/** Payments that stay open for long: how often platforms are asked, and what is kept of them. */

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const ASKS = '4000002500003155'

let fixture: BillingFixture
let userId: string
beforeAll(async () => {
  fixture = await createBillingFixture()
})
afterAll(() => fixture.database.drop())
beforeEach(async () => {
  userId = await fixture.customer()
})

test.each([
  [0, 15_000],
  [MINUTE_MS, 15_000],
  [10 * MINUTE_MS, MINUTE_MS],
  [10 * HOUR_MS, HOUR_MS],
  [30 * DAY_MS, HOUR_MS],
  // A clock that stepped back.
  [-HOUR_MS, 15_000],
])('an open payment of %i ms is left alone for %i ms after a look', (ageMs, pauseMs) => {
  expect(lookPauseMs(ageMs)).toBe(pauseMs)
})

test('a payment that waits for its bank for days is asked about often at first, and hourly in the end', async () => {
  const { billing, looks } = slowBank()
  await billing.topUp(topupRequest(userId))
  const asked: number[] = []
  const start = fixture.clock.now().getTime()
  for (let step = 0; step < 3 * 240; step += 1) {
    const before = looks.count
    await billing.recoverTopups()
    if (looks.count > before) asked.push(fixture.clock.now().getTime() - start)
    fixture.clock.advance(60)
  }
  const within = (fromMs: number, toMs: number) => asked.filter(at => at >= fromMs && at < toMs).length
  expect(within(0, 10 * MINUTE_MS)).toBe(10)
  expect(within(0, HOUR_MS)).toBeLessThan(35)
  expect(within(10 * HOUR_MS, 12 * HOUR_MS)).toBe(2)
})

test('one round asks about a bounded number of payments, those that have waited longest first', async () => {
  const { billing, looks } = slowBank()
  const now = fixture.clock.now()
  const rows = Array.from({ length: 130 }, (_, at) => ({
    id: randomUUID(),
    userId,
    amountCents: 100,
    currency: 'USD' as const,
    platformName: 'testcard',
    source: 'visa_4242',
    sourceBrand: 'Visa',
    sourceLast4: '4242',
    state: 'created' as const,
    createdAt: now,
    lookAt: new Date(now.getTime() - at * 1_000),
  }))
  await fixture.db.insert(paymentIntent).values(rows)
  await Promise.all([billing.recoverTopups(), billing.recoverTopups()])
  // Two replicas share the work: none is asked about twice.
  expect(looks.references).toHaveLength(130)
  expect(new Set(looks.references).size).toBe(130)
  fixture.clock.advance(3_600)
  looks.references.length = 0
  await fixture.db
    .update(paymentIntent)
    .set({ lookAt: now })
    .where(eq(paymentIntent.id, rows[129]?.id ?? ''))
  await billing.recoverTopups()
  expect(looks.count).toBe(100)
  await fixture.db.update(paymentIntent).set({ state: 'failed', source: null, lookAt: null, finishedAt: now })
})

test('[B3] what platforms told is forgotten with its age, but for payments that are open', async () => {
  const { billing, db, clock } = fixture
  const paid = await billing.topUp(topupRequest(userId))
  const waiting = await billing.topUp(topupRequest(userId, { source: ASKS }))
  await billing.recoverTopups()
  const eventsOf = (id: string) => db.$count(paymentEvent, eq(paymentEvent.intentId, id.slice(2)))
  const foreign = { intentId: null, status: null, refundedCents: 0, moved: false, via: 'webhook' as const }
  const at = { occurredAt: clock.now(), receivedAt: clock.now() }
  await db.insert(paymentEvent).values({ ...foreign, ...at, platformName: 'testcard', eventId: 'evt_none' })
  expect([await eventsOf(paid.transaction_id), await eventsOf(waiting.transaction_id)]).toEqual([1, 1])
  clock.advance(EVENTS_KEPT_MS / 1_000)
  await billing.purge()
  expect(await eventsOf(paid.transaction_id)).toBe(1)
  clock.advance(1)
  await billing.purge()
  expect([await eventsOf(paid.transaction_id), await eventsOf(waiting.transaction_id)]).toEqual([0, 1])
  expect(await db.$count(paymentEvent, eq(paymentEvent.eventId, 'evt_none'))).toBe(0)
  // What was forgotten and is told again all the same moves nothing.
  await billing.recoverTopups()
  expect(await billing.balanceCents(userId)).toBe(2_500)
  expect(await billing.checkBooks()).toEqual([])
})

test('only what is not decided is told as open, whatever else is asked for', async () => {
  const paid = await fixture.billing.topUp(topupRequest(userId))
  const waiting = await fixture.billing.topUp(topupRequest(userId, { source: ASKS }))
  const ids = [paid, waiting].map(({ transaction_id }) => transaction_id.slice(2))
  const open = await fixture.billing.openTopupsAmong([...ids, 'i-abc1234', randomUUID()])
  expect([...open]).toEqual([ids[1]])
  expect(await fixture.billing.openTopupsAmong([])).toEqual(new Set())
})

test('[B3] what was never asked of a platform that is set up no more ends; what may be paid there stays, and is said', async () => {
  const silent = () => Promise.reject(new PaymentUnavailable('nobody is there'))
  const away = (changes: Partial<PaymentDriver>) =>
    fixture.replica({ payments: [{ ...fixture.driver, ...changes }] })
  const left = async (changes: Partial<PaymentDriver>) => {
    const key = randomUUID()
    await expect(away(changes).topUp(topupRequest(userId, { idempotencyKey: key }))).rejects.toMatchObject({
      code: 'payment_pending',
    })
    const [newest] = await fixture.billing.openTopups(userId)
    fixture.clock.advance(1)
    return newest?.transaction_id ?? ''
  }
  const unasked = await left({ createIntent: silent })
  const ended = await left({ createIntent: silent })
  const asked = await left({ confirm: silent })
  const gone = fixture.replica({ payments: [] })
  const stateOf = async (id: string) => (await fixture.billing.topup(userId, id)).status
  const logged = vi.spyOn(fixture.log, 'error')
  await gone.recoverTopups()
  // Another gateway may be about to ask for it.
  expect(await stateOf(unasked)).toBe('pending')
  expect(await gone.cancelTopup(userId, ended)).toMatchObject({
    status: 'failed',
    failure: 'payment_platform_unknown',
  })
  fixture.clock.advance(3 * 3_600)
  logged.mockClear()
  await gone.recoverTopups()
  expect(await stateOf(unasked)).toBe('failed')
  expect(await stateOf(asked)).toBe('pending')
  const said = logged.mock.calls.map(([about]) => (about as unknown as { intentId: string }).intentId)
  expect(said.filter(id => [asked, unasked].includes(`t_${id}`))).toEqual([asked.slice(2)])
  expect(await gone.cancelTopup(userId, asked)).toMatchObject({ status: 'pending' })
  logged.mockRestore()
  fixture.clock.advance(3_600)
  await fixture.billing.recoverTopups()
  expect(await stateOf(asked)).toBe('settled')
  expect(await fixture.billing.balanceCents(userId)).toBe(2_500)
  expect(await fixture.billing.checkBooks()).toEqual([])
})

/** A platform whose every payment waits for the bank, and how often it was asked. */
function slowBank() {
  const looks = { count: 0, references: [] as string[] }
  const processing = (intent_id: string) => ({
    intent_id,
    status: 'processing' as const,
    failure: null,
    refunded_cents: 0,
    refunds_failed_cents: 0,
    next_url: null,
  })
  const driver: PaymentDriver = {
    ...fixture.driver,
    createIntent: async ({ reference }) => {
      looks.references.push(reference)
      return processing(`pi_${reference}`)
    },
    retrieve: async intent_id => {
      looks.count += 1
      return processing(intent_id)
    },
    async *eventsSince() {},
  }
  return { billing: fixture.replica({ payments: [driver] }), looks }
}
