import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { lease } from '../src/platform/database/tables.ts'
import { createTestDatabase, type TestDatabase } from './test-database.ts'

let first: TestDatabase
let second: TestDatabase
beforeAll(async () => {
  first = await createTestDatabase()
  second = await createTestDatabase()
})
afterAll(() => Promise.all([first.drop(), second.drop()]))

test('each test database has the schema and rows of its own', async () => {
  await first.db.insert(lease).values({ name: 'a', owner: 'b', until: new Date() })
  expect(await first.db.select().from(lease)).toHaveLength(1)
  expect(await second.db.select().from(lease)).toEqual([])
})

test('[B2] an entry of the ledger can be neither changed nor deleted', async () => {
  const accounts = ['house:clearing:USD', 'house:revenue:USD']
  for (const [id, kind] of [
    [accounts[0], 'clearing'],
    [accounts[1], 'revenue'],
  ]) {
    await first.db.execute(
      sql`insert into ledger_account (id, kind, currency) values (${id}, ${kind}, 'USD') on conflict do nothing`,
    )
  }
  await first.db.execute(sql`insert into ledger_transfer
    (id, key, from_account, to_account, amount_micro, kind, ref_id, user_id, created_at)
    values (${randomUUID()}, 'k', ${accounts[0]}, ${accounts[1]}, 5, 'topup', ${randomUUID()}, ${randomUUID()}, now())`)
  for (const change of [
    sql`update ledger_transfer set amount_micro = 6`,
    sql`delete from ledger_transfer`,
    sql`truncate ledger_transfer`,
  ]) {
    await expect(first.db.execute(change)).rejects.toMatchObject({
      cause: { message: expect.stringContaining('append-only') },
    })
  }
})
