import { createApiKey, listApiKeys, revokeApiKey } from '@berth/contract/api-keys'
import { API_KEYS_PER_USER_MAX } from '@berth/contract/limits'
import { eq } from 'drizzle-orm'
import fc from 'fast-check'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { sendCall } from '../../../test/start-gateway.ts'
import type { TestDatabase } from '../../../test/test-database.ts'
import type { TestEvents } from '../../../test/test-events.ts'
import { startTestServer, type TestServer, TOKENS } from '../../../test/test-server.ts'
import { sha256Hex } from '../../platform/hash.ts'
import { systemIds } from '../../platform/ids.ts'
import { createLogTo } from '../../platform/log.ts'
import { type BillingFixture, createBillingFixture } from '../billing/billing-fixture.ts'
import { createBudgets } from '../budgets/budgets.ts'
import { accountDeleted } from '../identity/events.ts'
import { createApiKeys, ENDED_KEPT_MAX } from './api-keys.ts'
import { isKeyText, makeKeyText } from './key-text.ts'
import { createKnownKeys, LAST_USED_STEP_MS } from './known-keys.ts'
import type { Models } from './models.ts'
import { apiKeysRoutes } from './routes.ts'
import { apiKey } from './tables.ts'

const DAY_MS = 24 * 3_600_000

let billed: BillingFixture
let database: TestDatabase
let models: Pick<Models, 'apiKeys'>
let server: TestServer
let logged = ''
let nowMs = Date.parse('2026-03-10T12:00:00.000Z')
const clock = { now: () => new Date(nowMs) }
let userId = ''
let events: TestEvents

beforeAll(async () => {
  billed = await createBillingFixture()
  ;({ database, events } = billed)
  const log = pino({ level: 'silent' })
  const base = { db: database.db, clock, ids: systemIds, log, events, billing: billed.billing }
  const budgets = createBudgets({
    ...base,
    instancesThere: async () => new Map(),
    keysThere: (q, ids) => apiKeys.there(q, ids),
    keysSpent: (q, keys) => apiKeys.spent(q, keys),
    stop: async () => undefined,
    owner: 'test',
    lookMs: 60_000,
  })
  const apiKeys: Models['apiKeys'] = createApiKeys({
    ...base,
    budgets,
    known: createKnownKeys(base),
    catalogue: { models: [{ id: 'one' }, { id: 'two' }] },
  })
  models = { apiKeys }
  const serverLog = createLogTo({ write: line => (logged += line) }, { level: 'trace' })
  server = await startTestServer(database.db, apiKeysRoutes(apiKeys), { log: serverLog })
  for (const { userId: id } of Object.values(TOKENS)) {
    await database.db.transaction(tx => billed.billing.openWallet(tx, { userId: id, currency: 'USD' }))
  }
})
afterAll(async () => {
  await server.close(1_000)
  await database.drop()
})
beforeEach(async () => {
  userId = await billed.customer()
})

const create = (days: number | null = null) =>
  models.apiKeys.create(userId, {
    ...{ name: 'Notebook', expires_in_days: days },
    ...{ models: null, spend_limit: null, requests_per_minute: null, tokens_per_minute: null },
  })

test('[B10] [R1.7] a key is shown once, listed by its prefix, and revoked', async () => {
  const asked = { body: { name: ' Notebook ', expires_in_days: 30 } }
  const made = await sendCall(server.origin, createApiKey, asked, { token: 'anna' })
  if (made.envelope.status === 'error') throw new Error(made.envelope.code)
  const { key, ...rest } = made.envelope.data
  expect(key).toMatch(/^bk-[A-Za-z0-9_-]{44}$/)
  expect(rest).toMatchObject({
    name: 'Notebook',
    prefix: key.slice(0, 9),
    last_used_at: null,
    revoked_at: null,
  })
  expect(Date.parse(rest.expires_at ?? '') - nowMs).toBe(30 * DAY_MS)
  expect(events.told).toContainEqual({
    event: 'api-key.created',
    payload: { userId: TOKENS.anna?.userId, at: expect.any(String), name: 'Notebook' },
  })

  const list = await sendCall(server.origin, listApiKeys, {}, { token: 'anna' })
  expect(list.envelope).toMatchObject({ data: [rest] })
  const rows = await database.db.select().from(apiKey).where(eq(apiKey.id, rest.id))
  expect(rows[0]?.hash).toBe(sha256Hex(key))
  expect(JSON.stringify([list.envelope, rows])).not.toContain(key)
  expect(logged).not.toContain(key.slice(10))

  const revoke = async (token: string) =>
    (await sendCall(server.origin, revokeApiKey, { params: { id: rest.id } }, { token })).httpStatus
  expect(await revoke('ben')).toBe(404)
  expect(await models.apiKeys.authenticate(key)).toMatchObject({
    keyId: rest.id,
    userId: TOKENS.anna?.userId,
  })
  expect(await revoke('anna')).toBe(200)
  const [first] = await models.apiKeys.list(TOKENS.anna?.userId ?? '')
  nowMs += 1_000
  // Again is no mistake, and does not move the time.
  expect(await revoke('anna')).toBe(200)
  expect((await models.apiKeys.list(TOKENS.anna?.userId ?? ''))[0]).toEqual(first)
  expect(await models.apiKeys.authenticate(key)).toBeNull()
})

test('[R6.3] a customer whose address is not verified makes no keys', async () => {
  const input = { body: { name: 'Notebook' } }
  const { httpStatus } = await sendCall(server.origin, createApiKey, input, { token: 'unverified' })
  expect(httpStatus).toBe(403)
})

test('[B10] a key is good until it expires, and not a moment longer', async () => {
  const { key, id } = await create(1)
  nowMs += DAY_MS - 1
  expect(await models.apiKeys.authenticate(key)).toMatchObject({ keyId: id, userId })
  nowMs += 1
  expect(await models.apiKeys.authenticate(key)).toBeNull()
  const forever = await create(null)
  nowMs += 3_650 * DAY_MS
  expect(await models.apiKeys.authenticate(forever.key)).not.toBeNull()
})

test('[B10] when a key was last used is known to the minute, without a write for each call', async () => {
  const { key } = await create()
  const lastUsed = async () => Date.parse((await models.apiKeys.list(userId))[0]?.last_used_at ?? '')
  await models.apiKeys.authenticate(key)
  const first = nowMs
  expect(await lastUsed()).toBe(first)
  nowMs += LAST_USED_STEP_MS - 1
  await models.apiKeys.authenticate(key)
  expect(await lastUsed()).toBe(first)
  nowMs += 2
  await Promise.all(Array.from({ length: 5 }, () => models.apiKeys.authenticate(key)))
  expect(await lastUsed()).toBe(nowMs)
})

test('[B10] what is no key, or not one of ours, belongs to nobody', async () => {
  const { key } = await create()
  const others = [
    '',
    'bk-',
    key.slice(0, -1),
    `${key} `,
    `${key}A`,
    key.toLowerCase(),
    makeKeyText(systemIds),
  ]
  for (const other of others) expect(await models.apiKeys.authenticate(other), other).toBeNull()
})

test('[B10] a key with a character mistyped is known as none of ours without a look at the database', () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  fc.assert(
    fc.property(fc.nat(43), fc.constantFrom(...alphabet), (at, character) => {
      const key = makeKeyText(systemIds)
      const typed = key.slice(0, 3 + at) + character + key.slice(4 + at)
      return isKeyText(key) && (typed === key || !isKeyText(typed))
    }),
  )
})

test('[B10] only keys that can be used count towards the limit, however many are made at once', async () => {
  const results = await Promise.allSettled(Array.from({ length: API_KEYS_PER_USER_MAX + 4 }, () => create()))
  const refused = results.filter(result => result.status === 'rejected').map(({ reason }) => reason)
  expect(refused).toHaveLength(4)
  expect(refused[0]).toMatchObject({ code: 'api_key_limit', values: { limit: API_KEYS_PER_USER_MAX } })
  const [one] = await models.apiKeys.list(userId)
  await models.apiKeys.revoke(userId, one?.id ?? '')
  await expect(create()).resolves.toMatchObject({ revoked_at: null })
  await expect(create()).rejects.toMatchObject({ code: 'api_key_limit' })
})

test('keys that are over do not pile up, and forgetting a customer leaves none', async () => {
  for (let made = 0; made < ENDED_KEPT_MAX + 3; made++) {
    const { id } = await create()
    nowMs += 1
    await models.apiKeys.revoke(userId, id)
  }
  const { key } = await create()
  expect(await models.apiKeys.list(userId)).toHaveLength(ENDED_KEPT_MAX + 1)
  await events.hear(accountDeleted, { userId })
  expect(await models.apiKeys.list(userId)).toEqual([])
  expect(await models.apiKeys.authenticate(key)).toBeNull()
})
