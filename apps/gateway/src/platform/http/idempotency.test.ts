import { randomUUID } from 'node:crypto'
import { defineCall } from '@berth/contract/call'
import type { ErrorCode } from '@berth/contract/errors'
import { IDEMPOTENCY_KEPT_HOURS } from '@berth/contract/limits'
import { eq } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { startTestServer, type TestServer, TOKENS } from '../../../test/test-server.ts'
import { systemClock } from '../clock.ts'
import { idempotency } from '../database/tables.ts'
import { ApiError } from './api-error.ts'
import { type Route, route } from './handler.ts'
import { createIdempotency } from './idempotency.ts'

/** Each run of the handler waits for the gate, and then does what `outcome` says. */
let runs = 0
let gate: Promise<void> = Promise.resolve()
let outcome: ErrorCode | 'boom' | null = null

let database: TestDatabase
/** Two replicas on one database. */
let server: TestServer
let other: TestServer
beforeAll(async () => {
  database = await createTestDatabase()
  server = await startTestServer(database.db, [spendRoute()])
  other = await startTestServer(database.db, [spendRoute()])
})
afterEach(() => {
  runs = 0
  gate = Promise.resolve()
  outcome = null
})
afterAll(async () => {
  await Promise.all([server.close(1_000), other.close(1_000)])
  await database.drop()
})

describe('[B3] a spending call', () => {
  test.each([
    ['none', undefined],
    ['too short', '1234567'],
    ['too long', 'x'.repeat(201)],
    ['with a space', 'key with spaces'],
  ])('is refused with a key that is %s', async (_, key) => {
    const answer = await spend({ key: key ?? null })
    expect(answer).toMatchObject({ status: 400, body: { code: 'idempotency_key_required' } })
    expect(runs).toBe(0)
  })

  test('is carried out once for 20 that come together, and all get the same answer', async () => {
    const open = closeGate()
    const key = randomUUID()
    const answers = Array.from({ length: 20 }, (_, n) => spend({ key, at: n % 2 === 0 ? server : other }))
    await expect.poll(() => runs).toBe(1)
    open()
    const texts = new Set((await Promise.all(answers)).map(({ text }) => text))
    expect(texts.size).toBe(1)
    expect(runs).toBe(1)
  })

  test('gives the same answer byte by byte for its key again, on any replica', async () => {
    const key = randomUUID()
    const first = await spend({ key })
    expect(first).toMatchObject({ status: 200, replayed: null })
    for (const at of [server, other]) {
      const again = await spend({ key, at })
      expect(again).toMatchObject({ status: 200, text: first.text, replayed: 'true' })
    }
    expect(runs).toBe(1)
  })

  test('is another one for another customer', async () => {
    const key = randomUUID()
    await spend({ key, token: 'anna' })
    expect((await spend({ key, token: 'ben' })).replayed).toBeNull()
    expect(runs).toBe(2)
  })

  test('with other content under the same key is refused, also while the first one runs', async () => {
    const key = randomUUID()
    const open = closeGate()
    const first = spend({ key, amount: 1 })
    await expect.poll(() => runs).toBe(1)
    for (const at of [server, other]) {
      expect(await spend({ key, amount: 2, at })).toMatchObject({
        status: 409,
        body: { code: 'idempotency_key_reused' },
      })
    }
    open()
    await first
    expect(await spend({ key, amount: 2 })).toMatchObject({ status: 409 })
    expect(runs).toBe(1)
  })

  test('whose content is the same in another order is the same call', async () => {
    const key = randomUUID()
    const first = await spend({ key, text: '{"amount":5,"note":"a"}' })
    expect((await spend({ key, text: '{ "note": "a", "amount": 5 }' })).text).toBe(first.text)
  })

  test('that was refused for good is refused in the same words', async () => {
    const key = randomUUID()
    outcome = 'insufficient_balance'
    const first = await spend({ key })
    expect(first).toMatchObject({ status: 402, body: { code: 'insufficient_balance' } })
    outcome = null
    expect(await spend({ key, language: 'ja' })).toMatchObject({
      status: 402,
      text: first.text,
      replayed: 'true',
    })
    expect(runs).toBe(1)
  })

  test.each(['gpu_sold_out', 'compute_unavailable', 'unavailable', 'boom'] as const)(
    'that failed for now (%s) may be tried again with its key',
    async failure => {
      const key = randomUUID()
      outcome = failure
      expect((await spend({ key })).body.status).toBe('error')
      outcome = null
      expect(await spend({ key })).toMatchObject({ status: 200, replayed: null })
      expect(runs).toBe(2)
    },
  )

  test('whose gateway died is taken over when its lease has run out', async () => {
    const key = randomUUID()
    await leaveBehind(key, new Date(Date.now() - 1_000))
    expect(await spend({ key })).toMatchObject({ status: 200, replayed: null })
    expect(runs).toBe(1)
    expect((await spend({ key })).replayed).toBe('true')
  })

  test('that another replica carries out for longer than a caller waits is still in progress', async () => {
    const key = randomUUID()
    await leaveBehind(key, new Date(Date.now() + 60_000))
    const keeper = createIdempotency({ db: database.db, clock: systemClock })
    const call = { userId: userId('anna'), operation: 'test.spend', key, bodyHash: 'hash', waitMs: 150 }
    await expect(keeper.execute(call, () => Promise.reject(new Error('must not run')))).rejects.toMatchObject(
      {
        code: 'idempotency_in_progress',
      },
    )
  })
})

test('[B3] answers are kept for a day', async () => {
  const hour = 3_600_000
  const keys = { old: randomUUID(), young: randomUUID() }
  await spend({ key: keys.old })
  await spend({ key: keys.young })
  const past = new Date(Date.now() - (IDEMPOTENCY_KEPT_HOURS * hour + 1_000))
  await database.db.update(idempotency).set({ createdAt: past }).where(eq(idempotency.key, keys.old))
  expect(await server.pruneIdempotency(async () => new Set())).toBe(1)
  expect((await spend({ key: keys.young })).replayed).toBe('true')
})

test('[B3] what is not decided yet is found by its key however old it is', async () => {
  const past = new Date(Date.now() - (IDEMPOTENCY_KEPT_HOURS * 3_600_000 + 1_000))
  const results: string[] = Array.from({ length: 1_203 }, () => randomUUID())
  const row = { userId: randomUUID(), operation: 'bill.topup', bodyHash: '', leaseUntil: past }
  await database.db
    .insert(idempotency)
    .values(
      results.map(result => ({ ...row, key: result, state: 'running' as const, result, createdAt: past })),
    )
  const open = new Set(results.filter((_, at) => at % 400 === 0))
  expect(await server.pruneIdempotency(async asked => new Set(asked.filter(id => open.has(id))))).toBe(
    results.length - open.size,
  )
  const left = await database.db.select().from(idempotency).where(eq(idempotency.userId, row.userId))
  expect(new Set(left.map(({ result }) => result))).toEqual(open)
  await server.pruneIdempotency(async () => new Set())
  expect(await database.db.$count(idempotency, eq(idempotency.userId, row.userId))).toBe(0)
})

interface SpendOptions {
  key: string | null
  at?: TestServer
  token?: string
  amount?: number
  text?: string
  language?: string
}

async function spend(options: SpendOptions) {
  const { key, at = server, token = 'anna', amount = 5, language = 'en' } = options
  const response = await fetch(`${at.origin}/gateway/api/spend`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'accept-language': language,
      authorization: `Bearer ${token}`,
      ...(key !== null && { 'idempotency-key': key }),
    },
    body: options.text ?? JSON.stringify({ amount }),
  })
  const text = await response.text()
  return {
    status: response.status,
    text,
    body: JSON.parse(text),
    replayed: response.headers.get('idempotent-replayed'),
  }
}

/** Makes handlers wait. @returns What lets them go on. */
function closeGate(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>()
  gate = promise
  return resolve
}

/** What a gateway that died while it carried the call out leaves behind. */
async function leaveBehind(key: string, leaseUntil: Date): Promise<void> {
  const made = await spend({ key })
  expect(made.status).toBe(200)
  runs = 0
  const row = { state: 'running' as const, leaseUntil, answer: null, httpStatus: null }
  await database.db
    .update(idempotency)
    .set(leaseUntil > new Date() ? { ...row, bodyHash: 'hash' } : row)
    .where(eq(idempotency.key, key))
}

function userId(token: string): string {
  return TOKENS[token]?.userId ?? ''
}

function spendRoute(): Route {
  const call = defineCall({
    operation: 'test.spend',
    method: 'POST',
    path: '/api/spend',
    summary: 'A test.',
    audience: 'verified',
    spends: true,
    timeout: 'long',
    audit: { target: [] },
    stales: [],
    body: z.object({ amount: z.number(), note: z.string().optional() }),
    data: z.any(),
  })
  return route(call, async ({ body, idempotencyKey }) => {
    runs++
    await gate
    if (outcome === 'boom') throw new Error('boom')
    if (outcome) throw new ApiError(outcome)
    return { id: randomUUID(), amount: body.amount, key: idempotencyKey }
  })
}
