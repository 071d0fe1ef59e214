import fc from 'fast-check'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { systemClock } from '../clock.ts'
import { type OpenDatabase, openDatabase } from '../database/open-database.ts'
import { rateCount } from '../database/tables.ts'
import { createRateCounts } from './rate-counts.ts'

const WINDOW_MS = 60_000

let database: TestDatabase
/** One connection: what is asked after a count was sent is answered after it was counted. */
let single: OpenDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  single = openDatabase({ url: database.url, log: pino({ level: 'silent' }), poolSize: 1 })
})
afterAll(async () => {
  await single.close()
  await database.drop()
})

test('strict classes let through exactly what is allowed, however many gateways are asked at once', async () => {
  const rule = { max: 20, windowMs: WINDOW_MS }
  const gateways = [1, 2, 3].map(() => countsOn(database).exact('login'))
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, at) => gateways[at % 3]?.('192.0.2.1', rule)),
  )
  expect(answers.filter(answer => (answer?.current ?? 0) <= rule.max)).toHaveLength(rule.max)
  for (const answer of answers) expect(answer?.ttlMs).toBeGreaterThan(0)
  // Another address, and another class of calls, have a count of their own.
  expect(await gateways[0]?.('192.0.2.2', rule)).toMatchObject({ current: 1 })
  expect(await countsOn(database).exact('mail')('192.0.2.1', rule)).toMatchObject({ current: 1 })
})

test('a key over its limit costs the database nothing more', async () => {
  const rule = { max: 1, windowMs: WINDOW_MS }
  const count = countsOn(database).exact('over')
  for (let call = 0; call < 3; call++) await count('192.0.2.3', rule)
  const before = await totalCounted()
  for (let call = 0; call < 20; call++) {
    expect((await count('192.0.2.3', rule)).current).toBeGreaterThan(rule.max)
  }
  expect(await totalCounted()).toBe(before)
})

test('a window that is over begins anew, and is cleared away', async () => {
  const count = countsOn(database).exact('short')
  const rule = { max: 1, windowMs: 50 }
  await count('192.0.2.4', rule)
  await expect.poll(async () => (await count('192.0.2.4', rule)).current).toBe(1)
  await expect
    .poll(async () => {
      await countsOn(database).prune()
      const rows = await database.db.select().from(rateCount)
      return rows.filter(({ endsAt }) => endsAt.getTime() < Date.now() - 5_000)
    })
    .toEqual([])
})

test('the general class holds over all gateways but for a twentieth each, and refuses nobody too soon', async () => {
  let runs = 0
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 120 }),
      fc.array(fc.tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 1, max: 20 })), { maxLength: 25 }),
      async (max, bursts) => {
        const key = `run ${runs++}`
        const rule = { max, windowMs: WINDOW_MS }
        const gateways = [0, 1, 2].map(() => countsOn(single).shared('general'))
        let asked = 0
        let passed = 0
        for (const [at, calls] of bursts) {
          for (let call = 0; call < calls; call++) {
            asked++
            const answer = await gateways[at]?.(key, rule)
            if (answer && answer.current <= max) passed++
            await single.db.execute('select 1')
          }
        }
        expect(passed).toBeGreaterThanOrEqual(Math.min(asked, max))
        expect(passed).toBeLessThanOrEqual(max + 2 * Math.max(1, Math.floor(max / 20)))
      },
    ),
    { numRuns: 15 },
  )
})

test('a thousand calls of the general class are told to the database twenty times', async () => {
  let writes = 0
  const counted = new Proxy(single.db, {
    get(target, name) {
      if (name === 'insert') writes++
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const count = createRateCounts({ db: counted, clock: systemClock }).shared('cheap')
  for (let call = 0; call < 1_000; call++) await count('192.0.2.5', { max: 1_000, windowMs: WINDOW_MS })
  expect(writes).toBeGreaterThan(0)
  expect(writes).toBeLessThanOrEqual(20)
})

test('without the database each gateway counts for itself, and no call waits or fails for it', async () => {
  const away = openDatabase({ url: 'postgresql://nobody@127.0.0.1:9/none', log: pino({ level: 'silent' }) })
  const count = createRateCounts({ db: away.db, clock: systemClock }).shared('away')
  const rule = { max: 40, windowMs: WINDOW_MS }
  const answers = Array.from({ length: 60 }, () => count('192.0.2.6', rule))
  expect(answers.map(answer => 'current' in answer && answer.current)).toEqual(
    Array.from({ length: 60 }, (_, at) => at + 1),
  )
  await away.close()
})

function countsOn({ db }: Pick<OpenDatabase, 'db'>) {
  return createRateCounts({ db, clock: systemClock })
}

async function totalCounted(): Promise<number> {
  const rows = await database.db.select().from(rateCount)
  return rows.reduce((sum, { count }) => sum + count, 0)
}
