import { randomUUID } from 'node:crypto'
import { asc, eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { systemClock } from '../../platform/clock.ts'
import { systemIds } from '../../platform/ids.ts'
import { createAuditWriter } from './audit-writer.ts'
import { auditEntry } from './tables.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

test('[B12] a thousand notes at once are all written, in their order', async () => {
  const { writer, lost } = make()
  const userId = randomUUID()
  const targets = Array.from({ length: 1_000 }, (_, index) => `t${index}`)
  for (const target of targets) writer.note({ userId, actor: 'customer', action: 'test', target })
  await writer.stop()
  const rows = await rowsOf(userId)
  expect(rows.map(({ target }) => target)).toEqual(targets)
  expect(lost).toEqual([])
})

test('[B12] one that the database refuses fails nobody, is told loudly, and takes no other with it', async () => {
  const { writer, lost } = make()
  const userId = randomUUID()
  const note = { userId, actor: 'customer', action: 'test' } as const
  writer.note({ ...note, target: 'first' })
  writer.note({ ...note, userId: 'no uuid', target: 'refused' })
  writer.note({ ...note, target: 'zero\u0000byte\nand line', userAgent: 'x'.repeat(1_000) })
  await writer.stop()
  expect((await rowsOf(userId)).map(({ target }) => target)).toEqual(['first', 'zero byte and line'])
  expect(lost).toMatchObject([{ target: 'refused' }])
})

test('[B12] notes wait while the database is away, and are written once when it is back', async () => {
  let away = true
  const broken = new Proxy(database.db, {
    get(db, name) {
      if (name === 'insert' && away) throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
      const value = Reflect.get(db, name)
      return typeof value === 'function' ? value.bind(db) : value
    },
  })
  const { writer, warnings } = make(broken)
  const userId = randomUUID()
  writer.note({ userId, actor: 'customer', action: 'test' })
  await vi.waitUntil(() => warnings.length > 0)
  expect(await rowsOf(userId)).toEqual([])
  away = false
  await vi.waitUntil(async () => (await rowsOf(userId)).length === 1)
  await writer.stop()
  expect(await rowsOf(userId)).toHaveLength(1)
})

function make(db = database.db) {
  const lost: unknown[] = []
  const warnings: unknown[] = []
  const log = {
    error: (line: { audit: unknown }) => lost.push(line.audit),
    warn: (line: unknown) => warnings.push(line),
  }
  const writer = createAuditWriter({ db, clock: systemClock, ids: systemIds, log: log as never })
  return { writer, lost, warnings }
}

function rowsOf(userId: string) {
  return database.db
    .select()
    .from(auditEntry)
    .where(eq(auditEntry.userId, userId))
    .orderBy(asc(auditEntry.id))
}
