import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createOlderDatabase, type OlderDatabase } from '../../../../../test/older-database.ts'
import { testSealer } from '../../../../../test/test-sealer.ts'
import type { PaymentDriver } from '../../../../drivers/payments/port.ts'
import { createTestcardDriver } from '../../../../drivers/payments/testcard/testcard-driver.ts'
import { migrate } from '../../../../platform/database/migrate.ts'
import { openDatabase } from '../../../../platform/database/open-database.ts'
import { createIds } from '../../../../platform/ids.ts'
import { createBilling } from '../../billing.ts'
import { SELLER, WEBHOOK_SECRET } from '../../billing-fixture.ts'

/**
 * Goal: customers who had left before platforms were asked to forget them are forgotten too, and cards and payments of
 * that time stay what they were (R3.7). Method: a database with the migrations up to then, filled as that version did.
 */

const CARRIED_BY = 'customers_who_leave'
const LEFT_AT = '2026-05-04T10:00:00.000Z'

let database: OlderDatabase
let close = async () => {}
beforeAll(async () => {
  database = await createOlderDatabase(CARRIED_BY)
})
afterAll(async () => {
  await close()
  await database.drop()
})

test('[R3.7] whoever had left before is forgotten by Stripe once, and nobody who stayed; cards and payments are whole', async () => {
  const [gone, stayed, unknown] = [await account(true), await account(false), await account(true)]
  for (const userId of [gone, stayed]) {
    await database.run(
      `insert into stripe_customer (user_id, customer_id, generation, created_at) values ($1, $2, 1, $3)`,
      [userId, `cus_${userId}`, LEFT_AT],
    )
  }
  await database.run(
    `insert into payment_method (id, user_id, platform_name, state, platform_method_id, fingerprint, brand, last4,
       expiry_month, expiry_year, is_default, created_at)
     values ($1, $2, 'testcard', 'saved', 'pm_1', 'visa_4242', 'Visa', '4242', 12, 2029, true, $3)`,
    [randomUUID(), stayed, LEFT_AT],
  )
  const reference = randomUUID()
  await database.run(
    `insert into testcard_intent (intent_id, reference, amount_cents, currency, card, status, created_at)
     values ('pi_1', $1, 2500, 'USD', 'visa_4242', 'succeeded', $2)`,
    [reference, LEFT_AT],
  )

  await migrate(database.url)
  const log = pino({ level: 'silent' })
  const { db, close: closeDatabase } = openDatabase({ url: database.url, log, poolSize: 4 })
  close = closeDatabase
  // The migration says itself when they are looked at.
  const clock = { now: () => new Date(Date.now() + 60_000) }
  const ids = createIds(clock)
  const cards = createTestcardDriver({
    ...{ db, clock, ids, log },
    webhook_secret: () => WEBHOOK_SECRET,
    offered: true,
  })
  const forgotten: string[] = []
  const stripe: PaymentDriver = {
    ...cards,
    name: 'stripe',
    forgetCustomer: async userId => void forgotten.push(userId),
  }
  const billing = createBilling({
    ...{ db, clock, ids, log, payments: [cards, stripe], sealer: testSealer },
    events: { emit: async () => {}, on: () => {} },
    seller: () => SELLER,
    publicUrl: () => '',
  })
  await billing.methods.recover()
  await billing.methods.recover()
  expect(forgotten).toEqual([gone])
  expect(forgotten).not.toContain(unknown)
  expect(await database.run('select user_id from leaving_customer')).toEqual([])
  expect(await billing.methods.list(stayed)).toMatchObject([{ status: 'saved', last4: '4242' }])
  expect(await cards.retrieve('pi_1')).toMatchObject({
    ...{ status: 'succeeded', refunded_cents: 0, disputed_cents: 0, disputes_won_cents: 0 },
  })
})

/** An account of that version, deleted or not. */
async function account(isDeleted: boolean): Promise<string> {
  const id = randomUUID()
  await database.run(
    `insert into user_account (id, email, display_name, created_at, deleted_at) values ($1, $2, '', $3, $4)`,
    [id, `${id}@example.com`, LEFT_AT, isDeleted ? LEFT_AT : null],
  )
  return id
}
