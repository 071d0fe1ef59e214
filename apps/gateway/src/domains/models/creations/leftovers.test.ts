import { setTimeout as sleep } from 'node:timers/promises'
import { asc } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../../test/test-database.ts'
import { FilmRefused, type ModelServer, ModelServerFailed } from '../../../drivers/models/port.ts'
import { systemIds } from '../../../platform/ids.ts'
import { createLeftovers } from './leftovers.ts'
import { creationLeftover } from './tables.ts'

/**
 * Goal: films that nobody wants any more are told to their servers, whatever other servers do.
 * Method: a real database, and servers of which each does one thing.
 */

const START = Date.parse('2026-03-10T12:00:00Z')
const clock = { at: START, now: () => new Date(clock.at) }
let database: TestDatabase
let told: string[] = []

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())
beforeEach(async () => {
  clock.at = START
  told = []
  await database.db.delete(creationLeftover)
})

function serverOf(name: string, remove: ModelServer['films']['remove']): ModelServer {
  const films = {
    async remove(id: string, signal: AbortSignal) {
      told.push(`${name} ${id}`)
      await remove(id, signal)
    },
  }
  return { name, films } as ModelServer
}
const refuses = (name: string, status: number) =>
  serverOf(name, async () => {
    throw new FilmRefused(name, status, '')
  })
const fine = serverOf('fine', async () => {})

/** Notes so many films of each, one server after the other, and tells them once. */
async function tell(servers: ModelServer[], many = 1) {
  const { db } = database
  const leftovers = createLeftovers({
    ...{ db, clock, ids: systemIds, log: { warn: () => {} } },
    ...{ servers: new Map([['filmer', servers]]), answerMs: 200 },
  })
  for (const { name } of servers) {
    for (let film = 0; film < many; film++) {
      await db.transaction(tx =>
        leftovers.note(tx, { modelId: 'filmer', server: name, serverId: String(film) }),
      )
    }
  }
  const again = () => leftovers.tell(new AbortController().signal)
  await again()
  return again
}
const left = () => database.db.select().from(creationLeftover).orderBy(asc(creationLeftover.at))

test('many films of a server that never answers, or fails at each, hold no other server’s', async () => {
  const hangs = serverOf('hangs', async (_, signal) => {
    await sleep(60_000, undefined, { signal }).catch(() => {
      throw new ModelServerFailed('hangs', signal.reason)
    })
  })
  const begun = performance.now()
  await tell([hangs, refuses('fails', 500), fine], 60)
  expect(performance.now() - begun).toBeLessThan(20_000)
  // One that does not answer is asked once, and not for each of its films.
  expect(told.filter(line => line.startsWith('hangs'))).toHaveLength(1)
  expect(told.filter(line => line.startsWith('fine'))).toHaveLength(50)
  expect((await left()).filter(({ server }) => server === 'fine')).toHaveLength(10)
})

test.each([404, 405, 410, 501])('a server that refuses with %s is not told again', async status => {
  await tell([refuses('refuses', status)])
  expect(told).toHaveLength(1)
  expect(await left()).toEqual([])
})

test('what was not heard is told again later and later, and no more after a day', async () => {
  const again = await tell([refuses('fails', 500)])
  const at: number[] = []
  for (let minute = 1; minute <= 24 * 60 + 1; minute++) {
    clock.at = START + minute * 60_000
    const before = told.length
    const [row] = await left()
    if (row && row.nextAt.getTime() <= clock.at) await again()
    if (told.length > before) at.push(minute)
  }
  expect(at.slice(0, 6)).toEqual([1, 2, 4, 8, 16, 32])
  expect(at.at(-1)).toBeLessThanOrEqual(24 * 60)
  expect(Math.max(...at.map((minute, index) => minute - (at[index - 1] ?? 0)))).toBeLessThanOrEqual(60)
  clock.at = START + 86_400_001
  await again()
  expect(await left()).toEqual([])
}, 60_000)
