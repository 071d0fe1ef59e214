import { setTimeout } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import type { Transaction } from './database.ts'
import { allowLonger, type OpenDatabase, openDatabase } from './open-database.ts'
import { together } from './together.ts'

const STATEMENT_MS = 100
/** Longer than the server gives a statement, and than we wait for it after that. */
const WORK_S = 2.4

let owned: TestDatabase
let open: OpenDatabase
beforeAll(async () => {
  owned = await createTestDatabase()
  // One connection, so that each transaction has the same.
  const log = pino({ level: 'silent' })
  open = openDatabase({ url: owned.url, log, poolSize: 1, statementTimeoutMs: STATEMENT_MS })
})
afterAll(async () => {
  await open.close()
  await owned.drop()
})

test('[B2] who may take longer is given up neither by the database nor by us, and whoever comes next is as before', async () => {
  const work = sql.raw(`select pg_sleep(${WORK_S}), 7 as done`)
  await expect(open.db.transaction(tx => tx.execute(work))).rejects.toMatchObject({
    cause: { code: '57014' },
  })
  const { rows } = await open.db.transaction(async tx => {
    await allowLonger(tx, 60_000)
    return await tx.execute(work)
  })
  expect(rows).toMatchObject([{ done: 7 }])
  await expect(open.db.transaction(tx => tx.execute(work))).rejects.toMatchObject({
    cause: { code: '57014' },
  })
})

test('[B2] of what goes on side by side in a transaction nothing is written once it was ended by what failed', async () => {
  await open.db.execute(sql`create table noted (what text)`)
  const goesOn = async (tx: Transaction) => {
    await tx.execute(sql`insert into noted values ('before')`)
    await setTimeout(50)
    await tx.execute(sql`insert into noted values ('after')`)
  }
  let late: Promise<unknown> = Promise.resolve()
  const failing = open.db.transaction(async tx => {
    late = goesOn(tx)
    await Promise.all([late, tx.execute(sql`select 1 / 0`)])
  })
  await expect(failing).rejects.toMatchObject({ cause: { code: '22012' } })
  // The same connection has another one's transaction by then.
  await open.db.transaction(async tx => {
    await tx.execute(sql`insert into noted values ('another')`)
    await expect(late).rejects.toMatchObject({ cause: { message: 'the transaction is over' } })
  })
  expect((await open.db.execute(sql`select what from noted`)).rows).toEqual([{ what: 'another' }])
})

test('what is begun together is taken by the database in its order, each with an end of its own', async () => {
  const one = (tx: Transaction, n: number) => tx.execute(sql`select ${n}::int as n, clock_timestamp() as at`)
  const all = await open.db.transaction(tx => Promise.all([1, 2, 3].map(n => one(tx, n))))
  expect(all.map(({ rows }) => rows[0]?.n)).toEqual([1, 2, 3])
  const moments = all.map(({ rows }) => String(rows[0]?.at))
  expect(moments).toEqual([...moments].sort())
})

test('[B2] of what is begun together the first that fails is told, and none of the others has something to say by then', async () => {
  let isOver = false
  const goesOn = async (tx: Transaction) => {
    await tx.execute(sql`select 1`)
    await setTimeout(50)
    isOver = true
  }
  const failing = open.db.transaction(tx =>
    // Those behind it fail since it did (25P02), and may be heard of sooner.
    together([
      goesOn(tx),
      (async () => await (async () => await tx.execute(sql`select 1 / 0`))())(),
      tx.execute(sql`select 2`),
    ]),
  )
  await expect(failing).rejects.toMatchObject({ cause: { code: '22012' } })
  expect(isOver).toBe(true)
})
