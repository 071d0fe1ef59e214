import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startStripeMock, stripeMockProbe } from '../../../../test/stripe-mock.ts'
import { STRIPE_SETTINGS } from '../../../../test/stripe-server.ts'
import { createTestDatabase, type TestDatabase } from '../../../../test/test-database.ts'
import { systemClock } from '../../../platform/clock.ts'
import type { IntentRequest, PaymentDriver } from '../port.ts'
import { createStripeDriver } from './stripe-driver.ts'

/**
 * Goal: what is sent is what Stripe takes, and what comes is what is read. Method: Stripe's own mock refuses parameters
 * that its API does not have, and answers with the shapes that it has; it keeps nothing, so that no payment moves.
 */
if (!stripeMockProbe.ok) process.stdout.write(`SKIP Stripe's mock: ${stripeMockProbe.why}\n`)
describe.skipIf(!stripeMockProbe.ok)("Stripe's mock", () => {
  let database: TestDatabase
  let mock: Awaited<ReturnType<typeof startStripeMock>>
  let driver: PaymentDriver
  beforeAll(async () => {
    database = await createTestDatabase()
    mock = await startStripeMock()
    const log = { warn: () => {}, error: () => {} }
    const settings = { ...STRIPE_SETTINGS, apiUrl: mock.url }
    driver = createStripeDriver({ db: database.db, clock: systemClock, log, settings, offered: true })
  })
  afterAll(async () => {
    await mock.stop()
    await database.drop()
  })

  const request: IntentRequest = {
    reference: randomUUID(),
    customer: randomUUID(),
    amount_cents: 2_500,
    currency: 'EUR',
    source: 'pm_card_visa',
    return_url: 'https://gpu.example.com/payments',
  }

  test('takes a payment by a saved card, with all that is done to it', async () => {
    const { intent_id } = await driver.createIntent(request)
    expect(intent_id).toMatch(/^pi_/)
    const { return_url } = request
    expect(await driver.confirm({ intent_id, return_url })).toMatchObject({ intent_id })
    expect(await driver.confirm({ intent_id, return_url, off_session: true })).toMatchObject({ intent_id })
    expect(await driver.retrieve(intent_id)).toMatchObject({ intent_id })
    expect(await driver.cancel(intent_id)).toMatchObject({ intent_id })
    const refund = { intent_id, idempotency_key: randomUUID(), amount_cents: 100 }
    expect((await driver.refund(refund)).refunded_cents).toBeGreaterThan(0)
  })

  test('takes a page of Checkout', async () => {
    const page = await driver.createIntent({ ...request, source: 'checkout' })
    expect(page.intent_id).toMatch(/^cs_/)
    expect(await driver.retrieve(page.intent_id)).toMatchObject({ intent_id: page.intent_id })
    await driver.cancel(page.intent_id)
  })

  // A page that keeps a card is not asked for: its list of kinds is of a later version of the API than the mock's.
  test('takes cards that are kept', async () => {
    const { customer } = request
    const paid = { idempotency_key: randomUUID(), customer, source: 'pm_card_visa', was_paid: true } as const
    const { method } = await driver.saveMethod({ ...request, ...paid })
    expect(method).toMatchObject({ last4: expect.stringMatching(/^\d{4}$/) })
    await driver.forgetMethod(method?.method_id ?? '')
  })

  test('takes what becomes of a question to a card’s bank', async () => {
    expect((await driver.readVisit('seti_123')).visit_id).toMatch(/^seti_/)
    expect((await driver.endVisit('seti_123')).visit_id).toMatch(/^seti_/)
  })

  test('takes the question for the list of events', async () => {
    for await (const page of driver.eventsSince(new Date(0))) expect(page.length).toBeLessThanOrEqual(100)
  })
})
