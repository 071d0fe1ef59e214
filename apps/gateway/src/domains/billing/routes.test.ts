import { randomUUID } from 'node:crypto'
import { LANGUAGES } from '@berth/contract/limits'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startTestServer, type TestServer, TOKENS } from '../../../test/test-server.ts'
import { testcardIntent } from '../../drivers/payments/tables.ts'
import { type BillingFixture, createBillingFixture } from './billing-fixture.ts'
import { billingRoutes } from './routes.ts'

let fixture: BillingFixture
let server: TestServer

/** The real HTTP server, which checks every answer against the contract. */
beforeAll(async () => {
  fixture = await createBillingFixture()
  server = await startTestServer(
    fixture.db,
    billingRoutes(
      fixture.billing,
      { eventsBetween: async () => [], losesMachines: async () => true },
      english => english,
    ),
  )
  for (const { userId } of Object.values(TOKENS)) {
    await fixture.db.transaction(tx => fixture.billing.openWallet(tx, { userId, currency: 'USD' }))
  }
})
afterAll(async () => {
  await server.close(1_000)
  await fixture.database.drop()
})

const body = { amount: 2_500, currency: 'USD', platform_name: 'testcard', source: '4242 4242 4242 4242' }

test('[R7.5] [R2.22] the way of a top-up: platforms, charge, balance, list, receipt, spending', async () => {
  expect(await ask('GET', '/pay-platform')).toMatchObject({
    http: 200,
    data: [
      {
        platform_name: 'testcard',
        display_name: 'Test card',
        test: true,
        entry: 'card',
        publishable_key: null,
        currencies: ['USD', 'EUR'],
      },
    ],
  })
  const topup = await ask('POST', '/topup', { body })
  expect(topup).toMatchObject({ http: 200, data: { amount: 2_500, currency: 'USD', status: 'settled' } })
  expect((await ask('GET', '/balance')).data).toMatchObject({
    currency: 'USD',
    account_balance: { amount: 2_500, amount_available: 2_500, amount_freeze: 0 },
  })
  const list = await ask('GET', '/transaction?type=topup&search=4242&page=1&page_size=1')
  expect(list.data).toMatchObject({ items: [{ id: topup.data.transaction_id, status: 'settled' }], total: 1 })
  expect((await ask('GET', `/transaction/${topup.data.transaction_id}`)).data).toMatchObject({
    transaction: { type: 'topup', amount_micro: '25000000' },
    lines: [{ from_account: 'clearing', to_account: 'cash', platform: 'Test card' }],
  })
  expect((await ask('GET', '/spend?days=2')).data).toMatchObject({ days: [{ amount_micro: '0' }, {}] })
  expect((await ask('GET', '/outlook')).data).toMatchObject({ uses: [], empty_at: null, deletions: [] })
})

test('where nothing can be paid, a top-up says so in the language that was asked for', async () => {
  const off = fixture.replica({ payments: [{ ...fixture.driver, offered: false }] })
  const closed = await startTestServer(
    fixture.db,
    billingRoutes(
      off,
      { eventsBetween: async () => [], losesMachines: async () => true },
      english => english,
    ),
  )
  onTestFinished(() => closed.close(1_000))
  const { origin } = closed
  expect(await ask('GET', '/pay-platform', { origin })).toMatchObject({ http: 200, data: [] })
  const answers = await Promise.all(
    LANGUAGES.map(language => ask('POST', '/topup', { body, language, origin })),
  )
  for (const answer of answers) expect(answer).toMatchObject({ http: 409, code: 'payments_not_set_up' })
  expect(new Set(answers.map(({ msg }) => msg)).size).toBe(LANGUAGES.length)
})

test('[B3] twenty parallel posts with one key make one charge and get one answer', async () => {
  const before = (await fixture.db.select().from(testcardIntent)).length
  const key = randomUUID()
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => ask('POST', '/topup', { body, key, token: 'ben' })),
  )
  expect(new Set(answers.map(answer => JSON.stringify(answer))).size).toBe(1)
  expect(answers[0]).toMatchObject({ http: 200, data: { status: 'settled' } })
  expect(await fixture.db.select().from(testcardIntent)).toHaveLength(before + 1)
  expect((await ask('GET', '/balance', { token: 'ben' })).data.account_balance.amount).toBe(2_500)
})

test('[B3] a top-up without a key is refused', async () => {
  expect(await ask('POST', '/topup', { body, key: null })).toMatchObject({ code: 'idempotency_key_required' })
})

test.each([99, 1_000_001, 10.5, -2_500, 0, '2500', null, true, [], 1e300])(
  '[R5.8] %j is no amount',
  async amount => {
    expect(await ask('POST', '/topup', { body: { ...body, amount } })).toMatchObject({
      http: 400,
      fields: [{ path: 'amount', rule: 'invalid_amount' }],
    })
  },
)

test('[R5.8] [R8.1] a declined card says why, in the language that was asked for', async () => {
  const declined = { ...body, source: '4000000000009995' }
  const english = await ask('POST', '/topup', { body: declined })
  const japanese = await ask('POST', '/topup', { body: declined, language: 'ja' })
  expect([english.http, english.code]).toEqual([402, 'card_insufficient_funds'])
  expect([japanese.http, japanese.code]).toEqual([402, 'card_insufficient_funds'])
  expect(japanese.msg).not.toBe(english.msg)
})

test('[R8.1] a number that is no test card is refused and not repeated', async () => {
  const answer = await ask('POST', '/topup', { body: { ...body, source: '4111111111111111' } })
  // The field says it as well, where the form shows it, and not only that something is not allowed.
  const fields = [{ path: 'source', rule: 'not_allowed', msg: answer.msg }]
  expect(answer).toMatchObject({ http: 402, code: 'test_card_required', fields })
  expect(JSON.stringify(answer)).not.toContain('4111111111111111')
})

test('[R9.3] another currency is refused with a clear error', async () => {
  expect(await ask('POST', '/topup', { body: { ...body, currency: 'EUR' } })).toMatchObject({
    code: 'currency_mismatch',
    msg: expect.stringContaining('USD'),
  })
  expect(await ask('POST', '/topup', { body: { ...body, currency: 'GBP' } })).toMatchObject({
    fields: [{ path: 'currency' }],
  })
})

test('[R6.3] who is not verified sees the wallet and cannot top it up', async () => {
  expect(await ask('GET', '/balance', { token: 'unverified' })).toMatchObject({ http: 200 })
  expect(await ask('POST', '/topup', { body, token: 'unverified' })).toMatchObject({
    http: 403,
    code: 'account_not_activated',
  })
})

test.each([
  '/balance',
  '/outlook',
  '/transaction',
  '/pay-platform',
  '/spend',
  `/transaction/t_${randomUUID()}`,
])('[R6.1] a guest is refused at %s', async path => {
  expect(await ask('GET', path, { token: null })).toMatchObject({ http: 401, code: 'login_required' })
})

test("[R6.4] another customer's transaction and an unknown one get the same answer", async () => {
  const { data } = await ask('POST', '/topup', { body })
  const foreign = await ask('GET', `/transaction/${data.transaction_id}`, { token: 'ben' })
  const unknown = await ask('GET', `/transaction/t_${randomUUID()}`, { token: 'ben' })
  expect(foreign).toMatchObject({ http: 404, code: 'not_found' })
  expect(foreign).toEqual(unknown)
  expect((await ask('GET', '/transaction', { token: 'ben' })).data.items).not.toContainEqual(
    expect.objectContaining({ id: data.transaction_id }),
  )
})

test.each(['page=0', 'page_size=101', 'page=x', 'type=gift', `search=${'x'.repeat(101)}`])(
  '[R3.10] the list refuses %s',
  async query => {
    expect(await ask('GET', `/transaction?${query}`)).toMatchObject({ http: 400, code: 'validation_failed' })
  },
)

interface Asked {
  body?: unknown
  /** A new key unless told otherwise. */
  key?: string | null
  token?: string | null
  language?: string
  /** Of another server than the one of all tests. */
  origin?: string
}

/** The envelope, with what tests read of the data; the server has checked all of it against the contract. */
interface Envelope {
  status: 'ok' | 'error'
  msg: string
  code?: string
  request_id?: string
  data: { transaction_id: string; account_balance: { amount: number }; items: object[] }
}

/** Makes a billing call over HTTP. Gives the envelope and the HTTP status, without what differs by request. */
async function ask(method: string, path: string, asked: Asked = {}) {
  const { key = randomUUID(), token = 'anna', language = 'en', origin = server.origin } = asked
  const response = await fetch(`${origin}/gateway/api/bill${path}`, {
    method,
    headers: {
      'accept-language': language,
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(key === null || method === 'GET' ? {} : { 'idempotency-key': key }),
      ...(asked.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(asked.body === undefined ? {} : { body: JSON.stringify(asked.body) }),
  })
  const { request_id: _, ...envelope } = (await response.json()) as Envelope
  return { http: response.status, ...envelope }
}
