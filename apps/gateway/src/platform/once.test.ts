import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { systemClock } from './clock.ts'
import type { Transaction } from './database/database.ts'
import { createIdempotency } from './http/idempotency.ts'
import { earlierResult, keepResult } from './once.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const newKey = () => ({ userId: randomUUID(), operation: 'test.spend', key: randomUUID() })
const DONE = { answer: { httpStatus: 200, text: '{}' }, errorCode: null, final: true }
const OPEN = { answer: { httpStatus: 503, text: '{}' }, errorCode: 'unavailable' as const, final: false }

/** Does a thing once, and says whether it was this try that did it. */
async function doOnce(tx: Transaction, key: ReturnType<typeof newKey>, result: string): Promise<string> {
  const earlier = await earlierResult(tx, key, systemClock.now())
  if (earlier !== null) return earlier
  await keepResult(tx, key, result)
  return result
}

describe('[B3] what a key has done', () => {
  test('is known to the next try, and to no other key, customer or call', async () => {
    const key = newKey()
    const { db } = database
    expect(await db.transaction(tx => doOnce(tx, key, 'first'))).toBe('first')
    expect(await db.transaction(tx => doOnce(tx, key, 'second'))).toBe('first')
    for (const other of [{ userId: randomUUID() }, { operation: 'test.other' }, { key: randomUUID() }]) {
      expect(await db.transaction(tx => doOnce(tx, { ...key, ...other }, 'other'))).toBe('other')
    }
  })

  test('is forgotten with the change that is rolled back', async () => {
    const key = newKey()
    const { db } = database
    const failing = db.transaction(async tx => {
      await doOnce(tx, key, 'never')
      throw new Error('the gateway died')
    })
    await expect(failing).rejects.toThrow('the gateway died')
    expect(await db.transaction(tx => doOnce(tx, key, 'then'))).toBe('then')
  })

  test('is done once by tries at the same time', async () => {
    const key = newKey()
    const tries = Array.from({ length: 8 }, (_, n) => database.db.transaction(tx => doOnce(tx, key, `${n}`)))
    expect(new Set(await Promise.all(tries)).size).toBe(1)
  })

  test('outlives an answer that does not stand, and the next try need not wait', async () => {
    const key = { ...newKey(), bodyHash: 'h', waitMs: 0 }
    const idempotency = createIdempotency({ db: database.db, clock: systemClock })
    const done: string[] = []
    const attempt = (result: string) => database.db.transaction(tx => doOnce(tx, key, result))
    await idempotency.execute(key, async () => {
      done.push(await attempt('first'))
      return OPEN
    })
    await idempotency.execute(key, async () => {
      done.push(await attempt('second'))
      return DONE
    })
    expect(done).toEqual(['first', 'first'])
    expect(await idempotency.execute(key, async () => OPEN)).toMatchObject({ replayed: true, ...DONE })
  })

  test('is known to the first call over HTTP, and then to no call with other content', async () => {
    const key = { ...newKey(), bodyHash: 'h', waitMs: 0 }
    const idempotency = createIdempotency({ db: database.db, clock: systemClock })
    await database.db.transaction(tx => doOnce(tx, key, 'without HTTP'))
    const attempt = async () => {
      expect(await database.db.transaction(tx => doOnce(tx, key, 'by HTTP'))).toBe('without HTTP')
      return OPEN
    }
    expect(await idempotency.execute(key, attempt)).toMatchObject(OPEN)
    const other = idempotency.execute({ ...key, bodyHash: 'other' }, async () => DONE)
    await expect(other).rejects.toMatchObject({ code: 'idempotency_key_reused' })
  })
})
