import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { allowLonger, type OpenDatabase, openDatabase } from './open-database.ts'

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
