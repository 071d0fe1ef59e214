import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { pendingStatements } from '../../../test/schema.ts'
import { migrate } from './migrate.ts'

const name = `migrate_${randomBytes(6).toString('hex')}`
const serverUrl = inject('postgresUrl')
const url = serverUrl.replace('/postgres?', `/${name}?`)

beforeAll(() => query(serverUrl, `create database ${name}`))
afterAll(() => query(serverUrl, `drop database ${name} with (force)`))

test('[B14] replicas that start together migrate once, and a later start changes nothing', async () => {
  await Promise.all([migrate(url), migrate(url), migrate(url)])
  const before = await query(url, 'select * from drizzle.__drizzle_migrations order by id')
  await migrate(url)
  expect(await query(url, 'select * from drizzle.__drizzle_migrations order by id')).toEqual(before)
  expect(await query(url, "select to_regclass('ledger_transfer') is not null as there")).toEqual([
    { there: true },
  ])
})

test('the migrations make what the tables say', async () => {
  expect(
    await pendingStatements(),
    'Run `npm run migration -w @berth/gateway` and commit what it writes.',
  ).toEqual([])
})

test('a database that a newer version has used is refused', async () => {
  await migrate(url)
  await query(
    url,
    `insert into drizzle.__drizzle_migrations (hash, created_at) values ('newer', 9999999999999)`,
  )
  await expect(migrate(url)).rejects.toThrow('used by a newer version of Berth')
})

async function query(address: string, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: address })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}
