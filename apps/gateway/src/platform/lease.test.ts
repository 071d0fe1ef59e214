import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { releaseLeases, withLease } from './lease.ts'

let database: TestDatabase
let now = new Date('2026-01-01T00:00:00Z')
const clock = { now: () => now }
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

test('[B14] of two replicas one runs; the other takes over when the lease has run out', async () => {
  const ran: string[] = []
  const attempt = (owner: string) =>
    withLease(database.db, clock, { name: 'loop', owner, ttlMs: 10_000 }, async () => {
      ran.push(owner)
    })
  expect(await attempt('a')).toBe(true)
  expect(await attempt('b')).toBe(false)
  expect(await attempt('a')).toBe(true)
  now = new Date(now.getTime() + 10_001)
  expect(await attempt('b')).toBe(true)
  expect(await attempt('a')).toBe(false)
  expect(ran).toEqual(['a', 'a', 'b'])
})

test('many that come at once: one runs', async () => {
  const runs = await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      withLease(database.db, clock, { name: 'rush', owner: `${n}`, ttlMs: 1_000 }, async () => {}),
    ),
  )
  expect(runs.filter(ran => ran)).toHaveLength(1)
})

test('a lease that is given up is free at once', async () => {
  const attempt = (owner: string) =>
    withLease(database.db, clock, { name: 'given', owner, ttlMs: 60_000 }, async () => {})
  expect(await attempt('a')).toBe(true)
  await releaseLeases(database.db, 'a')
  expect(await attempt('b')).toBe(true)
})

test('who lost the lease while it worked is told to stop', async () => {
  const options = { name: 'lost', owner: 'a', ttlMs: 60 }
  await withLease(database.db, clock, options, async signal => {
    now = new Date(now.getTime() + 1_000)
    const taken = await withLease(
      database.db,
      clock,
      { ...options, owner: 'b', ttlMs: 60_000 },
      async () => {},
    )
    expect(taken).toBe(true)
    await expect.poll(() => signal.aborted).toBe(true)
  })
})
