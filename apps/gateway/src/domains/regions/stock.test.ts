import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import fc from 'fast-check'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { systemClock } from '../../platform/clock.ts'
import { lockForUser } from '../../platform/database/user-lock.ts'
import { type Claim, createStock, type StockKey } from './stock.ts'

const MIGRATIONS = resolve(import.meta.dirname, '../../../drizzle')
const KEYS: [StockKey, StockKey, StockKey] = [
  { regionCode: 'north', specId: 'l4' },
  { regionCode: 'north', specId: 'cpu' },
  { regionCode: 'south', specId: 'l4' },
]
const GPUS = ['GPU-a', 'GPU-b', 'GPU-c', 'GPU-d']
const RUNS = 25

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

/** One gateway's stock: there is nothing in it but the way to the database. */
const makeStock = () => createStock({ db: database.db, clock: systemClock })

async function clear(): Promise<void> {
  await database.db.execute(sql`truncate stock, stock_claim`)
}

const check = (holders: Claim[]) => database.db.transaction(tx => makeStock().check(tx, holders))

interface Wish {
  subject: number
  /** Null gives back. */
  take: { key: number; count: number } | null
}

const wish: fc.Arbitrary<Wish> = fc.record({
  subject: fc.nat({ max: 5 }),
  take: fc.option(fc.record({ key: fc.nat({ max: 2 }), count: fc.integer({ min: 1, max: 4 }) })),
})
const round = fc.record({
  wishes: fc.uniqueArray(wish, { selector: ({ subject }) => subject, maxLength: 6 }),
  seeds: fc.array(fc.tuple(fc.nat({ max: 4 }), fc.nat({ max: 4 }), fc.nat({ max: 4 })), { maxLength: 2 }),
})

test('[B14] whatever gateways take, give back and seed at once, what is taken is the sum of the claims', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(round, { maxLength: 8 }), async rounds => {
      await clear()
      await makeStock().seed(KEYS.map(key => ({ ...key, total: 4 })))
      const holders = new Map<string, Claim>()
      for (const { wishes, seeds } of rounds) {
        const acting = wishes.map(async ({ subject, take }) => {
          const subjectId = `i-${subject}`
          const key = KEYS[take?.key ?? 0] ?? KEYS[0]
          const claim = { ...key, subjectId, count: take?.count ?? 0 }
          const gpuUuids = key === KEYS[1] ? [] : GPUS
          const stock = makeStock()
          try {
            await database.db.transaction(async tx => {
              // As whoever asks holds the lock of the subject's own row.
              await lockForUser(tx, 'stock', subjectId)
              if (!take) return stock.giveBack(tx, subjectId)
              const given = await stock.take(tx, claim, [{ engineId: 'fake:one', gpuUuids }])
              expect(given.gpuUuids).toHaveLength(gpuUuids.length > 0 ? claim.count : 0)
            })
            if (take) holders.set(subjectId, claim)
            else holders.delete(subjectId)
          } catch (error) {
            expect(error).toMatchObject({ code: 'gpu_sold_out' })
          }
        })
        const seeding = seeds.map(totals =>
          makeStock().seed(KEYS.map((key, index) => ({ ...key, total: totals[index] ?? 0 }))),
        )
        await Promise.all([...acting, ...seeding])
        expect(await check([...holders.values()])).toEqual([])
        // Four is the most that there ever is.
        for (const { taken } of await makeStock().levels()) expect(taken).toBeLessThanOrEqual(4)
      }
    }),
    { numRuns: RUNS },
  )
})

test('a total that falls below what is taken offers nothing, and keeps what is taken', async () => {
  await clear()
  const [key] = KEYS
  const claim = { ...key, subjectId: 'i-1', count: 3 }
  await makeStock().seed([{ ...key, total: 4 }])
  await database.db.transaction(tx => makeStock().take(tx, claim, [{ engineId: 'fake:one', gpuUuids: [] }]))
  await makeStock().seed([{ ...key, total: 2 }])
  expect(await makeStock().level(database.db, key)).toEqual({ total: 2, taken: 3, available: 0 })
  // A spec that is not offered any more, too.
  await makeStock().seed([])
  expect(await makeStock().level(database.db, key)).toEqual({ total: 0, taken: 3, available: 0 })
  await makeStock().seed([{ ...key, total: 8 }])
  expect(await makeStock().level(database.db, key)).toEqual({ total: 8, taken: 3, available: 5 })
  expect(await check([claim])).toEqual([])
})

test('the check names each way in which a stock can be wrong', async () => {
  await clear()
  const [key, other] = KEYS
  const claim = { ...key, subjectId: 'i-1', count: 1 }
  await makeStock().seed([{ ...key, total: 4 }])
  await database.db.transaction(tx => makeStock().take(tx, claim, [{ engineId: 'fake:one', gpuUuids: GPUS }]))
  expect(await check([])).toEqual(['i-1 has 1 of north/l4, and should not'])
  expect(await check([claim, { ...other, subjectId: 'i-2', count: 1 }])).toEqual([
    'i-2 has 1 of north/cpu, it should, and has not',
  ])
  await database.db.execute(sql`insert into stock_claim (subject_id, region_code, gpu_spec_id, count, gpu_uuids, taken_at)
      values ('i-3', 'south', 'l4', 1, '["GPU-a"]', now())`)
  await database.db.execute(sql`update stock set taken = 2`)
  expect(await check([claim, { ...KEYS[2], subjectId: 'i-3', count: 1 }])).toEqual([
    'north/l4: 2 taken, but claims of 1',
    'south/l4: claims, but no stock',
    'a GPU is given twice',
  ])
})

test('[B14] what instances hold in a database of the version before is carried over', async () => {
  const name = `stock_${Date.now()}`
  const serverUrl = inject('postgresUrl')
  const admin = new Client({ connectionString: serverUrl })
  await admin.connect()
  await admin.query(`create database ${name}`)
  const client = new Client({ connectionString: serverUrl.replace('/postgres?', `/${name}?`) })
  await client.connect()
  try {
    const files = readdirSync(MIGRATIONS)
      .filter(file => file.endsWith('.sql'))
      .sort()
    const until = files.findIndex(file => file.endsWith('_stock.sql'))
    const run = (file: string) => client.query(readFileSync(resolve(MIGRATIONS, file), 'utf8'))
    for (const file of files.slice(0, until)) await run(file)
    await client.query(`insert into gpu_stock values ('north', 'l4', 8), ('north', 'cpu', 4)`)
    await client.query(instanceBefore('i-runs', { holds: true, gpus: '["GPU-a"]', count: 1 }))
    await client.query(instanceBefore('i-simulated', { holds: true, gpus: '[]', count: 2 }))
    await client.query(instanceBefore('i-stopped', { holds: false, gpus: '[]', count: 4 }))
    await client.query(instanceBefore('i-failed', { holds: false, gpus: '["GPU-b"]', count: 1 }))
    await client.query(instanceBefore('i-gone', { holds: true, gpus: '["GPU-c"]', count: 1, gone: true }))
    await client.query(instanceBefore('i-dropped', { holds: true, gpus: '[]', count: 1, spec: 'b200' }))
    for (const file of files.slice(until)) await run(file)
    const levels = await createStock({ db: drizzle(client), clock: systemClock } as never).levels()
    expect(levels.map(({ specId, total, taken }) => [specId, total, taken]).sort()).toEqual([
      ['b200', 0, 1],
      ['cpu', 4, 0],
      ['l4', 8, 4],
    ])
    const { rows } = await client.query('select subject_id, gpu_uuids from stock_claim order by subject_id')
    expect(rows).toEqual([
      { subject_id: 'i-dropped', gpu_uuids: [] },
      { subject_id: 'i-failed', gpu_uuids: ['GPU-b'] },
      { subject_id: 'i-runs', gpu_uuids: ['GPU-a'] },
      { subject_id: 'i-simulated', gpu_uuids: [] },
    ])
  } finally {
    await client.end()
    await admin.query(`drop database ${name} with (force)`)
    await admin.end()
  }
})

/** An instance as the version before wrote it. */
function instanceBefore(
  id: string,
  row: { holds: boolean; gpus: string; count: number; gone?: boolean; spec?: string },
): string {
  return `insert into instance (id, user_id, idempotency_key, name, kind, region_code, gpu_spec_id, gpu_count, simulated,
      spec, gpu_uuids, image_id, billing_type, container_disk_gb, http_ports, tcp_ports, env, start_command,
      running_micro_per_hour, stopped_micro_per_hour, service_secret, desired, status, holds_gpus, status_since,
      next_attempt_at, created_at, terminated_at)
    values ('${id}', gen_random_uuid(), '${id}', '${id}', 'POD', 'north', '${row.spec ?? 'l4'}', ${row.count}, false,
      '{}', '${row.gpus}', 'berth-base', 'postpay', 20, '[]', '[]', '{}', '', 0, 0, '${id}', 'running', 'running',
      ${row.holds}, now(), now(), now(), ${row.gone ? 'now()' : 'null'})`
}
