import { randomUUID } from 'node:crypto'
import { drizzle } from 'drizzle-orm/node-postgres'
import { Pool } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../../test/test-database.ts'
import { systemClock } from '../../../platform/clock.ts'
import { systemIds } from '../../../platform/ids.ts'
import { type ChargeRequest, type PaymentDriver, PaymentUnavailable } from '../port.ts'
import { testcardCharge } from '../tables.ts'
import { TEST_CARDS } from './test-cards.ts'
import { createTestcardDriver } from './testcard-driver.ts'

let database: TestDatabase
let driver: PaymentDriver
beforeAll(async () => {
  database = await createTestDatabase()
  driver = createTestcardDriver({ db: database.db, clock: systemClock, ids: systemIds })
})
afterAll(() => database.drop())

test('[R5.8] a number is read with or without spaces, and only its brand and last four are kept', () => {
  const kept = { accepted: true, reference: 'visa_4242', label: 'Visa ending 4242' }
  expect(driver.identify('4242424242424242')).toEqual(kept)
  expect(driver.identify(' 4242 4242 4242 4242 ')).toEqual(kept)
  for (const { number } of TEST_CARDS) expect(JSON.stringify(driver.identify(number))).not.toContain(number)
})

test.each(['4111111111111111', '', '4242', '42424242424242421', 'visa_4242', 'tok_visa'])(
  '[R8.1] %j is no test card',
  source => {
    expect(driver.identify(source)).toEqual({ accepted: false, failure: 'test_card_required' })
  },
)

test.each(TEST_CARDS)(
  '[R5.8] $number is answered with failure $failure, whenever it is asked',
  async card => {
    const source = driver.identify(card.number)
    const request = requestOf({ source: source.accepted ? source.reference : '' })
    const first = await driver.charge(request)
    expect(first).toMatchObject(
      card.failure === null ? { charged: true } : { charged: false, failure: card.failure },
    )
    expect(await driver.charge(request)).toEqual(first)
  },
)

test('[B3] one key charges once, however many ask at the same time', async () => {
  const request = requestOf({})
  const answers = await Promise.all(Array.from({ length: 20 }, () => driver.charge(request)))
  expect(new Set(answers.map(answer => JSON.stringify(answer))).size).toBe(1)
  const booked = await database.db.select().from(testcardCharge)
  expect(booked.filter(({ idempotencyKey }) => idempotencyKey === request.idempotency_key)).toHaveLength(1)
})

test('[B3] one key for two different charges is a mistake of the program', async () => {
  const request = requestOf({})
  await driver.charge(request)
  await expect(driver.charge({ ...request, amount_cents: 1 })).rejects.toThrow('used for another charge')
})

test('a platform whose books are away says that nobody knows, not that it failed', async () => {
  const pool = new Pool({
    connectionString: 'postgresql://nobody@127.0.0.1:9/none',
    connectionTimeoutMillis: 500,
  })
  const away = createTestcardDriver({ db: drizzle({ client: pool }), clock: systemClock, ids: systemIds })
  await expect(away.charge(requestOf({}))).rejects.toBeInstanceOf(PaymentUnavailable)
  await pool.end()
})

function requestOf(changes: Partial<ChargeRequest>): ChargeRequest {
  return {
    idempotency_key: randomUUID(),
    amount_cents: 2_500,
    currency: 'USD',
    source: 'visa_4242',
    ...changes,
  }
}
