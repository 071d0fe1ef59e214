import { rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createOperatorFixture } from '../src/operator/type-commands-fixture.ts'
import { MANIFEST_NAME, type Manifest } from '../src/platform/backup/backup-format.ts'
import { partsOf } from '../src/platform/backup/read-backup.ts'
import { systemClock } from '../src/platform/clock.ts'
import { readConfig } from '../src/platform/config/config.ts'
import { systemIds } from '../src/platform/ids.ts'
import { makeQuickFolder } from './quick-folder.ts'
import { createTestDatabase, type TestDatabase } from './test-database.ts'

// Goal: nothing is left out of a backup, however new its table is (R6.5).
// Method: an installation from a backup of old, with a mail that waits and a mark of a reward; a backup of it, in another
// database; both compared table by table, and the tables with those of the database itself.

vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 })

const OLD = resolve(import.meta.dirname, 'backups/schema-0083.tar.gz')
/** What says which gateway does what now. All else belongs to the installation: a new table that does not is named here. */
const OF_GATEWAYS = ['engine_reach', 'gateway', 'held_catalogue', 'lease', 'rate_count']

let folder: string
let from: TestDatabase
let to: TestDatabase
beforeAll(async () => {
  folder = makeQuickFolder('backup-whole')
  from = await createTestDatabase()
  to = await createTestDatabase()
})
afterAll(async () => {
  await from.drop()
  await to.drop()
  rmSync(folder, { recursive: true, force: true })
})

/** An operator of the installation that has a database, with a data folder of its own. */
function operatorOf({ url }: TestDatabase, name: string) {
  const config = readConfig({
    ...{ PATH: process.env.PATH ?? '', BERTH_DATA_DIR: join(folder, name), BERTH_COMPUTE: 'sandbox' },
    ...{ BERTH_BACKUP_PASSPHRASE: 'a passphrase of a test', DATABASE_URL: url },
  })
  return createOperatorFixture({ clock: systemClock, ids: systemIds, config, installation: {} })
}

/** By a connection that does not outlive it: a restore replaces the tables. */
async function rows<Row>({ url }: TestDatabase, query: string): Promise<Row[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(query)).rows as Row[]
  } finally {
    await client.end()
  }
}

const tablesOf = async (database: TestDatabase) =>
  (
    await rows<{ name: string }>(
      database,
      `select c.relname as name from pg_class c where c.relnamespace = 'public'::regnamespace
       and c.relkind in ('r', 'p') and not c.relispartition order by 1`,
    )
  ).map(({ name }) => name)

test('[R6.5] a backup has every table, each of its rows, the jobs that wait and the numbers that go on', async () => {
  expect(await operatorOf(from, 'from').type('backup', 'restore', OLD)).toMatchObject({ exit: 0 })
  const [customer] = await rows<{ id: string }>(from, 'select id from user_account')
  await rows(
    from,
    `insert into referral_rewarded_mark (kind, hash, user_id) values ('card', 'ab', '${customer?.id}')`,
  )
  await rows(
    from,
    `insert into pgboss.job (name, data) select name, '{"to":"ada"}' from pgboss.queue order by name limit 1`,
  )
  await rows(
    from,
    `select setval(format('%I.%I', schemaname, sequencename)::regclass, 4711) from pg_sequences where schemaname = 'public'`,
  )
  const file = join(folder, 'backup.tar.gz')
  expect(await operatorOf(from, 'from').type('backup', 'create', file)).toMatchObject({ exit: 0 })
  const tables = await tablesOf(from)
  expect((await manifestOf(file)).tables.map(({ schema, name }) => `${schema}.${name}`).sort()).toEqual(
    [
      ...tables.filter(name => !OF_GATEWAYS.includes(name)).map(name => `public.${name}`),
      'pgboss.job',
    ].sort(),
  )

  expect(await operatorOf(to, 'to').type('backup', 'restore', file)).toMatchObject({ exit: 0 })
  expect(await tablesOf(to)).toEqual(tables)
  for (const name of tables) {
    // The restore itself is written down.
    if (OF_GATEWAYS.includes(name) || name === 'operator_entry') continue
    const all = (database: TestDatabase) =>
      rows<{ row: unknown }>(database, `select to_jsonb(t) as row from "${name}" t order by 1`)
    expect(await all(to), name).toEqual(await all(from))
  }
  const waiting = `select name, data, state from pgboss.job where state < 'completed'`
  expect(await rows(from, waiting)).toHaveLength(1)
  expect(await rows(to, waiting)).toEqual(await rows(from, waiting))
  const numbers = `select sequencename, last_value from pg_sequences where schemaname = 'public' order by 1`
  expect(await rows(to, numbers)).toEqual(await rows(from, numbers))
})

async function manifestOf(file: string): Promise<Manifest> {
  for await (const { entry, bytes } of partsOf(file)) {
    if (entry.name === MANIFEST_NAME) return JSON.parse(await text(bytes))
  }
  throw new Error('there is no manifest')
}
