import { defineCall } from '@berth/contract/call'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { PATIENCE_MS } from '../../../../../scripts/test/patience-ms.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { startTestServer, type TestServer } from '../../../test/test-server.ts'
import { createCallerTurns, QUICK_AT_ONCE_MAX, SLOW_AT_ONCE_MAX, WAITING_MAX } from './caller-turns.ts'
import { route } from './handler.ts'

/** More than the pool of a test has connections, and of a gateway. */
const FLOOD = 40

let database: TestDatabase
let server: TestServer
let holding = 0
let gate = Promise.withResolvers<void>()

/** Holds a connection of the pool, as a change does that waits for another one. */
async function hold(): Promise<null> {
  await database.db.transaction(async tx => {
    await tx.execute('select 1')
    holding++
    await gate.promise
  })
  holding--
  return null
}

beforeAll(async () => {
  database = await createTestDatabase()
  const shared = { summary: 'It is a test.', audience: 'guest', data: z.null() } as const
  server = await startTestServer(
    database.db,
    [
      route(
        defineCall({ ...shared, operation: 'test.hold', method: 'GET', path: '/api/hold', readOnly: true }),
        hold,
      ),
      route(defineCall({ ...shared, operation: 'test.ask', method: 'GET', path: '/api/ask' }), async () => {
        await database.db.execute('select 1')
        return null
      }),
    ],
    {
      rawRoutes: [
        {
          methods: ['GET'],
          path: '/raw',
          bodyBytesMax: 1,
          async handle() {
            holding++
            await gate.promise
            holding--
            return { status: 200, headers: {}, body: '' }
          },
        },
      ],
    },
  )
})
afterAll(async () => {
  await server.close(1_000)
  await database.drop()
})
beforeEach(() => {
  gate = Promise.withResolvers<void>()
})

const ask = (path: string, token?: string) =>
  fetch(`${server.origin}/gateway${path}`, token ? { headers: { authorization: `Bearer ${token}` } } : {})

/** Makes many calls at once, and waits until as many are worked on as may be. */
async function flood(
  path: string,
  { token, atOnce = QUICK_AT_ONCE_MAX }: { token?: string; atOnce?: number } = {},
): Promise<() => Promise<number[]>> {
  const sent = Array.from({ length: FLOOD }, async () => (await ask(path, token)).status)
  await vi.waitUntil(() => holding >= atOnce, { timeout: PATIENCE_MS })
  return async () => {
    gate.resolve()
    return Promise.all(sent)
  }
}

test('however many calls a customer makes at once, others’ are answered meanwhile, and then all of them', async () => {
  const end = await flood('/api/hold', { token: 'anna' })
  expect((await ask('/api/ask', 'ben')).status).toBe(200)
  expect((await ask('/api/ask')).status).toBe(200)
  expect(holding).toBe(QUICK_AT_ONCE_MAX)
  expect(new Set(await end())).toEqual(new Set([200]))
})

test('however many calls guests of an address make at once, a customer’s are answered meanwhile', async () => {
  const end = await flood('/api/hold')
  expect((await ask('/api/ask', 'ben')).status).toBe(200)
  expect(holding).toBe(QUICK_AT_ONCE_MAX)
  expect(new Set(await end())).toEqual(new Set([200]))
})

test('what is no call, such as a cover, has its turns by address', async () => {
  const end = await flood('/raw', { atOnce: SLOW_AT_ONCE_MAX })
  expect((await ask('/api/ask')).status).toBe(200)
  expect(holding).toBe(SLOW_AT_ONCE_MAX)
  expect(new Set(await end())).toEqual(new Set([200]))
})

test('who makes more than may wait is told to come later', async () => {
  const inTurn = createCallerTurns()
  const quick = { timeout: 'fast', bytes: false } as const
  const anna = { caller: { userId: 'anna' }, ip: '192.0.2.1' }
  const work = () => gate.promise
  const all = Array.from({ length: QUICK_AT_ONCE_MAX + WAITING_MAX }, () => inTurn(quick, anna, work))
  await expect(inTurn(quick, anna, work)).rejects.toMatchObject({
    code: 'too_many_requests',
    values: { seconds: 1 },
  })
  // Nobody else waits for that, nor what takes long anyway, and what is at an address by itself.
  const free = async () => 'done'
  await expect(inTurn(quick, { ...anna, caller: { userId: 'ben' } }, free)).resolves.toBe('done')
  await expect(inTurn(quick, { ...anna, caller: null }, free)).resolves.toBe('done')
  await expect(inTurn({ timeout: 'deploy', bytes: false }, anna, free)).resolves.toBe('done')
  gate.resolve()
  await Promise.all(all)
  await expect(inTurn(quick, anna, free)).resolves.toBe('done')
})

test('a network of IPv6 is one guest', async () => {
  const inTurn = createCallerTurns()
  const quick = { timeout: 'fast', bytes: false } as const
  let begun = 0
  const work = async () => {
    begun++
    await gate.promise
  }
  const all = Array.from({ length: FLOOD }, (_, at) =>
    inTurn(quick, { caller: null, ip: `2001:db8:0:1::${at + 1}` }, work),
  )
  expect(begun).toBe(QUICK_AT_ONCE_MAX)
  await inTurn(quick, { caller: null, ip: '2001:db8:0:2::1' }, async () => undefined)
  gate.resolve()
  await Promise.all(all)
})
