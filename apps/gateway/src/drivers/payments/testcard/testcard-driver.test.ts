import { randomUUID } from 'node:crypto'
import { eq, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../../test/test-database.ts'
import { createIds } from '../../../platform/ids.ts'
import { describePayments } from '../conformance/payments-conformance.ts'
import {
  EVENTS_KEPT_MS,
  type IntentRequest,
  type PaymentDriver,
  PaymentUnavailable,
  type PlatformEvent,
  type WebhookDelivery,
  WebhookRefused,
} from '../port.ts'
import { testcardEvent, testcardIntent } from '../tables.ts'
import { pageToken } from './page-token.ts'
import { TEST_CARDS } from './test-cards.ts'
import { letTimePass } from './testcard-books.ts'
import { createTestcardDriver } from './testcard-driver.ts'
import { SIGNATURE_HEADER, signWebhook } from './testcard-signature.ts'

const SECRET = new Uint8Array(32).fill(3)
const RETURN_URL = 'http://127.0.0.1:8080/payments?a=1&b="2'

let nowMs = Date.UTC(2026, 2, 10)
const clock = { now: () => new Date(nowMs) }
const ids = createIds(clock)
let database: TestDatabase
let driver: PaymentDriver
beforeAll(async () => {
  database = await createTestDatabase()
  driver = driverOn(database.db)
})
afterAll(() => database.drop())

test('[R5.8] a number is read with or without spaces, and only its brand and last four are kept', () => {
  const kept = { accepted: true, reference: 'visa_4242', card: { brand: 'Visa', last4: '4242' } }
  expect(driver.identify('4242424242424242')).toEqual(kept)
  expect(driver.identify(' 4242 4242 4242 4242 ')).toEqual(kept)
  for (const { number } of TEST_CARDS) expect(JSON.stringify(driver.identify(number))).not.toContain(number)
  expect(new Set(TEST_CARDS.map(({ number }) => JSON.stringify(driver.identify(number)))).size).toBe(
    TEST_CARDS.length,
  )
})

test.each(['4111111111111111', '', '4242', '42424242424242421', 'visa_4242', 'tok_visa'])(
  '[R8.1] %j is no test card',
  source => {
    expect(driver.identify(source)).toEqual({ accepted: false, failure: 'test_card_required' })
  },
)

test.each(TEST_CARDS)(
  '[R5.8] $brand $number is charged as its number says, whenever it is asked',
  async card => {
    const made = await intentBy(card.number)
    expect(made).toMatchObject({ status: 'created', failure: null, next_url: null })
    const first = await confirm(made.intent_id)
    if (card.asks) expect(first).toMatchObject({ status: 'requires_action', next_url: expect.any(String) })
    else if (card.late) expect(first).toMatchObject({ status: 'processing', next_url: null })
    else {
      const status = card.failure === null ? 'succeeded' : 'failed'
      expect(first).toMatchObject({ status, failure: card.failure })
    }
    expect(await confirm(made.intent_id)).toEqual(first)
    expect(await driver.retrieve(made.intent_id)).toEqual(first)
  },
)

test('[B3] one reference is one intent, however many ask at the same time, and it is charged once', async () => {
  const request = requestOf({})
  const made = await Promise.all(Array.from({ length: 20 }, () => driver.createIntent(request)))
  expect(new Set(made.map(({ intent_id }) => intent_id)).size).toBe(1)
  const [{ intent_id } = { intent_id: '' }] = made
  const answers = await Promise.all(Array.from({ length: 20 }, () => confirm(intent_id)))
  expect(new Set(answers.map(answer => JSON.stringify(answer))).size).toBe(1)
  const kept = await database.db.select().from(testcardIntent)
  expect(kept.filter(({ reference }) => reference === request.reference)).toHaveLength(1)
  expect((await eventsOf(intent_id)).map(({ status }) => status)).toEqual(['succeeded'])
})

test('[B3] one reference for two different intents is a mistake of the program', async () => {
  const request = requestOf({})
  await driver.createIntent(request)
  await expect(driver.createIntent({ ...request, amount_cents: 1 })).rejects.toThrow(
    'used for another intent',
  )
})

test.each([
  ['4000002500003155', 'confirm', { status: 'succeeded', failure: null }],
  ['4000008400001629', 'confirm', { status: 'failed', failure: 'card_declined' }],
  ['4000002500003155', 'refuse', { status: 'failed', failure: 'payment_not_confirmed' }],
] as const)('a card that asks: %s, when the customer answers %s', async (number, answer, end) => {
  const { intent_id } = await intentBy(number)
  const token = tokenOf((await confirm(intent_id)).next_url)
  const asked = await page(token)
  expect(asked.html).toContain('Pay $25.00 with Visa')
  expect(asked.html).toContain('no money moves')
  expect((await page(token, answer)).html).not.toContain('<form')
  expect(await driver.retrieve(intent_id)).toMatchObject({ ...end, next_url: null })
  // Whoever goes back and answers otherwise changes nothing.
  const back = await page(token, answer === 'confirm' ? 'refuse' : 'confirm')
  expect(back.html).toContain('href="http://127.0.0.1:8080/payments?a=1&amp;b=&quot;2"')
  expect(await driver.retrieve(intent_id)).toMatchObject(end)
})

test('[R6.4] a page that no payment has is not found, and says so in the language asked for', async () => {
  expect(await page('nothing')).toMatchObject({ status: 404 })
  const { intent_id } = await intentBy('4000002500003155')
  const token = tokenOf((await confirm(intent_id)).next_url)
  const embedded = driver.embedded
  for (const [language, word] of [
    ['zh', '确认付款'],
    ['ja', '支払いの確認'],
    ['ko', '결제 확인'],
  ] as const) {
    const { html } = (await embedded?.page({
      method: 'GET',
      token,
      form: new URLSearchParams(),
      language,
    })) ?? { html: '' }
    expect(html).toContain(word)
    expect(html).toContain(`lang="${language}"`)
  }
})

test('[R6.4] what opens a page lies in no table, and is made by nobody without the key', async () => {
  const { intent_id } = await intentBy('4000002500003155')
  const token = tokenOf((await confirm(intent_id)).next_url)
  const { rows } = await database.db.execute<{ dump: string }>(sql`
    select coalesce(string_agg(t.row::text, ' '), '') as dump from (
      select to_jsonb(i) as row from testcard_intent i union all select to_jsonb(e) from testcard_event e
    ) t`)
  expect(rows[0]?.dump).toContain(intent_id)
  expect(rows[0]?.dump).not.toContain(token.slice(-43))
  expect((await eventsOf(intent_id)).at(-1)?.next_url).toContain(token)
  const other = await intentBy('4000002500003155')
  await confirm(other.intent_id)
  const foreign = pageToken(new Uint8Array(32), intent_id)
  const swapped = `${other.intent_id}${token.slice(-44)}`
  for (const made of [foreign, swapped, intent_id, `${intent_id}_`, `${token}=`, token.slice(1)]) {
    expect(await page(made, 'confirm')).toMatchObject({ status: 404 })
  }
  expect(await driver.retrieve(intent_id)).toMatchObject({ status: 'requires_action' })
})

test('a refund that does not arrive comes back by itself, whole, and can be given again', async () => {
  const { intent_id } = await intentBy('4000000000005126')
  await confirm(intent_id)
  const again = driverOn(database.db)
  const sending = again.embedded?.start(async () => 200)
  await expect
    .poll(async () => {
      nowMs += 5_000
      return (await again.retrieve(intent_id)).refunds_failed_cents
    })
    .toBe(2_500)
  await sending?.stop()
  const request = { intent_id, idempotency_key: randomUUID(), amount_cents: 1_000 }
  expect(await driver.refund(request)).toMatchObject({ refunded_cents: 3_500, refunds_failed_cents: 2_500 })
  expect(
    (await eventsOf(intent_id)).map(event => [
      event.status,
      event.refunded_cents,
      event.refunds_failed_cents,
    ]),
  ).toEqual([
    ['succeeded', 0, 0],
    [null, 2_500, 0],
    [null, 2_500, 2_500],
    [null, 3_500, 2_500],
  ])
})

test('what was told is forgotten after the time for which platforms remember it, once it was taken', async () => {
  const { intent_id } = await intentBy('4242424242424242')
  await confirm(intent_id)
  const later = createTestcardDriver({
    db: database.db,
    clock: { now: () => new Date(nowMs + EVENTS_KEPT_MS + 1) },
    ids,
    log: { error: () => {} },
    webhook_secret: () => SECRET,
    offered: true,
  })
  await later.embedded?.prune()
  expect(await eventsOf(intent_id)).toHaveLength(1)
  await database.db.update(testcardEvent).set({ deliverAt: null })
  await driver.embedded?.prune()
  expect(await eventsOf(intent_id)).toHaveLength(1)
  await later.embedded?.prune()
  expect(await eventsOf(intent_id)).toEqual([])
})

test('a canceled payment is charged no more; one that was charged cannot be canceled', async () => {
  const waiting = await intentBy('4000002500003155')
  const token = tokenOf((await confirm(waiting.intent_id)).next_url)
  expect(await driver.cancel(waiting.intent_id)).toMatchObject({ status: 'canceled', next_url: null })
  await page(token, 'confirm')
  expect(await driver.retrieve(waiting.intent_id)).toMatchObject({ status: 'canceled' })
  const paid = await intentBy('4242424242424242')
  await confirm(paid.intent_id)
  expect(await driver.cancel(paid.intent_id)).toMatchObject({ status: 'succeeded' })
})

test('a refund is given once for each key, in parts, and never more than was paid', async () => {
  const { intent_id } = await intentBy('4242424242424242')
  const refund = (key: string, amount_cents: number) =>
    driver.refund({ intent_id, idempotency_key: key, amount_cents })
  await expect(refund(randomUUID(), 1)).rejects.toThrow('cannot be refunded')
  await confirm(intent_id)
  const key = randomUUID()
  expect(await refund(key, 1_000)).toMatchObject({ status: 'succeeded', refunded_cents: 1_000 })
  expect(await refund(key, 1_000)).toMatchObject({ refunded_cents: 1_000 })
  await expect(refund(randomUUID(), 1_501)).rejects.toThrow('cannot be refunded')
  expect(await refund(randomUUID(), 1_500)).toMatchObject({ refunded_cents: 2_500 })
  expect((await eventsOf(intent_id)).map(event => [event.status, event.refunded_cents])).toEqual([
    ['succeeded', 0],
    [null, 1_000],
    [null, 2_500],
  ])
})

test('webhooks are signed over their bytes and their moment', () => {
  const intent = { id: 'pi_1', reference: 'a', status: 'created', failure: null, refunded_cents: 0 }
  const body = Buffer.from(
    JSON.stringify({ id: 'evt_1', type: 'intent.moved', created: '2026-03-10T00:00:00Z', intent }),
  )
  const signed = (changes: Partial<WebhookDelivery> = {}, secret = SECRET) =>
    driver.readWebhook({
      body,
      headers: { [SIGNATURE_HEADER]: signWebhook(secret, body, clock.now()) },
      ...changes,
    })
  expect(signed()).toMatchObject([{ event_id: 'evt_1' }])
  expect(() => signed({ body: Buffer.concat([body, Buffer.from(' ')]) })).toThrow(WebhookRefused)
  expect(() => signed({}, new Uint8Array(32).fill(4))).toThrow('the signature is wrong')
  for (const header of [undefined, '', 't=1', 't=1,v1=00', ['a', 'b']]) {
    expect(() => signed({ headers: { [SIGNATURE_HEADER]: header } })).toThrow('there is no signature')
  }
  const at = (seconds: number) => {
    const header = signWebhook(SECRET, body, new Date(nowMs + seconds * 1_000))
    return signed({ headers: { [SIGNATURE_HEADER]: header } })
  }
  for (const seconds of [-299, 299]) expect(at(seconds)).toHaveLength(1)
  expect(() => at(-301)).toThrow('too old')
  // One that is dated ahead could be sent again for longer.
  expect(() => at(301)).toThrow(WebhookRefused)
})

test('[B3] webhooks are sent until they are taken; those of the disorderly card twice, and out of order', async () => {
  const { intent_id } = await intentBy('3056930009020004')
  await confirm(intent_id)
  const taken: PlatformEvent[] = []
  let refusals = 3
  const sending = driver.embedded?.start(async delivery => {
    if (refusals-- > 0) return 503
    taken.push(...driver.readWebhook(delivery).filter(event => event.intent_id === intent_id))
    return 200
  })
  // However much of it goes by at once, as on a computer that has little time for us.
  await expect
    .poll(async () => {
      nowMs += 10_000
      // Asking wakes the sender.
      await driver.retrieve(intent_id)
      return taken.map(({ status }) => status)
    })
    .toEqual(['succeeded', 'succeeded', 'processing', 'processing'])
  await sending?.stop()
  expect(new Set(taken.map(({ event_id }) => event_id)).size).toBe(2)
  expect((await eventsOf(intent_id)).map(({ status }) => status)).toEqual(['processing', 'succeeded'])
})

test('the card that is refunded later gives everything back by itself', async () => {
  const { intent_id } = await intentBy('4000000000007726')
  expect(await confirm(intent_id)).toMatchObject({ status: 'succeeded', refunded_cents: 0 })
  const again = driverOn(database.db)
  const sending = again.embedded?.start(async () => 200)
  await expect
    .poll(async () => {
      nowMs += 5_000
      return (await again.retrieve(intent_id)).refunded_cents
    })
    .toBe(2_500)
  await sending?.stop()
})

test('a card that is kept is charged by its id, once for each key, until it is forgotten', async () => {
  const source = driver.identify('5555555555554444')
  const request = {
    idempotency_key: randomUUID(),
    customer: randomUUID(),
    source: source.accepted ? source.reference : '',
    currency: 'USD',
    return_url: RETURN_URL,
  } as const
  const visit = await driver.saveMethod(request)
  const kept = visit.method
  expect(kept).toEqual({
    method_id: expect.stringMatching(/^pm_/),
    // The same for whoever pays with the card, and however it was entered.
    fingerprint: 'mastercard_4444',
    brand: 'Mastercard',
    last4: '4444',
    expiry_month: 12,
    expiry_year: 2029,
  })
  expect(await driver.saveMethod(request)).toEqual(visit)
  const { intent_id } = await driver.createIntent(requestOf({ source: kept?.method_id ?? '' }))
  expect(await confirm(intent_id)).toMatchObject({ status: 'succeeded' })
  await driver.forgetMethod(kept?.method_id ?? '')
  await driver.forgetMethod(kept?.method_id ?? '')
  await expect(driver.createIntent(requestOf({ source: kept?.method_id ?? '' }))).rejects.toThrow(
    'no saved card',
  )
})

test('a platform whose books are away says that nobody knows, not that it failed', async () => {
  const pool = new Pool({
    connectionString: 'postgresql://nobody@127.0.0.1:9/none',
    connectionTimeoutMillis: 500,
  })
  const away = driverOn(drizzle({ client: pool }))
  await expect(away.createIntent(requestOf({}))).rejects.toBeInstanceOf(PaymentUnavailable)
  await expect(away.retrieve('pi_1')).rejects.toBeInstanceOf(PaymentUnavailable)
  await pool.end()
})

describe('test cards keep what every platform must', () => {
  describePayments(() => ({
    driver: () => driver,
    async source(number) {
      const source = driver.identify(number)
      return source.accepted ? source.reference : ''
    },
    answer: async ({ next_url }, confirmed) =>
      void (await page(tokenOf(next_url), confirmed ? 'confirm' : 'refuse')),
    answerVisit: async ({ next_url }, confirmed) =>
      void (await page(tokenOf(next_url), confirmed ? 'confirm' : 'refuse')),
    async passTime() {
      nowMs += 3_600_000
      await letTimePass({
        db: database.db,
        clock,
        ids,
        pageKey: () => SECRET,
        lateMs: 1_000,
        refundMs: 1_000,
      })
    },
    // Of customers it knows nothing, and its cards are forgotten one by one.
    async keepsOf(customer) {
      const { rows } = await database.db.execute<{ dump: string }>(sql`
        select coalesce(string_agg(t.row::text, ' '), '') as dump from (
          select to_jsonb(i) as row from testcard_intent i union all select to_jsonb(m) from testcard_method m
        ) t`)
      return rows[0]?.dump.includes(customer) ?? false
    },
    async deliveries(intentId) {
      const rows = await database.db
        .select()
        .from(testcardEvent)
        .where(eq(testcardEvent.intentId, intentId))
        .orderBy(testcardEvent.occurredAt, testcardEvent.eventId)
      return rows.map(row => {
        const body = Buffer.from(row.body)
        return { body, headers: { [SIGNATURE_HEADER]: signWebhook(SECRET, body, clock.now()) } }
      })
    },
  }))
})

function driverOn(db: TestDatabase['db']): PaymentDriver {
  return createTestcardDriver({
    db,
    clock,
    ids,
    log: { error: () => {} },
    webhook_secret: () => SECRET,
    offered: true,
  })
}

function requestOf(changes: Partial<IntentRequest>): IntentRequest {
  return {
    reference: randomUUID(),
    customer: randomUUID(),
    amount_cents: 2_500,
    currency: 'USD',
    source: 'visa_4242',
    return_url: RETURN_URL,
    ...changes,
  }
}

function intentBy(number: string) {
  const source = driver.identify(number)
  return driver.createIntent(requestOf({ source: source.accepted ? source.reference : '' }))
}

function confirm(intent_id: string) {
  return driver.confirm({ intent_id, return_url: RETURN_URL })
}

async function page(token: string, answer?: string) {
  const form = new URLSearchParams(answer ? { answer } : {})
  const method = answer ? 'POST' : 'GET'
  const shown = await driver.embedded?.page({ method, token, form, language: 'en' })
  if (!shown) throw new Error('there is no page')
  return shown
}

function tokenOf(next_url: string | null): string {
  expect(next_url).toMatch(/^\/gateway\/pay\/testcard\/[\w-]{83}$/)
  return next_url?.split('/').at(-1) ?? ''
}

async function eventsOf(intent_id: string): Promise<PlatformEvent[]> {
  const found: PlatformEvent[] = []
  for await (const page of driver.eventsSince(new Date(0))) found.push(...page)
  return found.filter(event => event.intent_id === intent_id)
}
