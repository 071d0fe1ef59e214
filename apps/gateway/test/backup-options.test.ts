import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openInstallation } from '../src/operator/open-installation.ts'
import { createOperatorFixture } from '../src/operator/type-commands-fixture.ts'
import { systemClock } from '../src/platform/clock.ts'
import { readConfig } from '../src/platform/config/config.ts'
import { systemIds } from '../src/platform/ids.ts'
import { makeQuickFolder } from './quick-folder.ts'
import { createTestDatabase, type TestDatabase } from './test-database.ts'

// Goal: a backup of years ago comes back in the version of today, with what its sandbox's machines store where that was asked
// for, and takes the place of what is there only when its name is typed. Method: a backup that version 0083 of the schema has
// written, kept as it was; each test goes on where the one before has ended.

vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 })

/** Made by a gateway of then: ada@example.org with $12.34 of credit and a volume. */
const OLD = resolve(import.meta.dirname, 'backups/schema-0083.tar.gz')
const MIGRATIONS = resolve(import.meta.dirname, '../drizzle')
const PASSPHRASE = 'a passphrase of a test'

let folder: string
let database: TestDatabase
let config: ReturnType<typeof readConfig>
let operator: ReturnType<typeof createOperatorFixture>
beforeAll(async () => {
  folder = makeQuickFolder('backup-options')
  database = await createTestDatabase()
  config = readConfig({
    PATH: process.env.PATH ?? '',
    BERTH_DATA_DIR: join(folder, 'data'),
    BERTH_COMPUTE: 'sandbox',
    BERTH_BACKUP_PASSPHRASE: PASSPHRASE,
    DATABASE_URL: database.url,
  })
  operator = createOperatorFixture({ clock: systemClock, ids: systemIds, config, installation: {} })
})
afterAll(async () => {
  await database.drop()
  rmSync(folder, { recursive: true, force: true })
})

/** What a query gives, by a connection that does not outlive it: a restore replaces the tables. */
async function rows(query: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: database.url })
  await client.connect()
  try {
    return (await client.query(query)).rows
  } finally {
    await client.end()
  }
}

/** A file in a machine of the sandbox. */
const stored = () => join(config.sandboxDir, 'i-one/files/model.bin')

test('[R6.5] a backup of an older version comes back in the schema of this one, and its books balance', async () => {
  const file = join(folder, 'old.tar.gz')
  copyFileSync(OLD, file)
  expect(await operator.type('backup', 'check', file)).toMatchObject({ exit: 0 })
  const restored = await operator.type('backup', 'restore', file)
  expect(restored).toMatchObject({ exit: 0, err: '', out: expect.stringContaining('The books balance.') })
  const [done] = await rows('select count(*)::int as steps from drizzle.__drizzle_migrations')
  const steps = readdirSync(MIGRATIONS).filter(name => name.endsWith('.sql')).length
  expect(done).toEqual({ steps })
  // What has come since is there, empty.
  expect(await rows('select name, wanted_micro_per_gb_day as told from volume')).toEqual([
    { name: 'datasets', told: null },
  ])
  const { operated, close } = await openInstallation(config)
  try {
    const [customer] = await rows('select id from user_account')
    const { account_balance } = await operated.billing.balance(String(customer?.id))
    expect(account_balance.amount).toBeGreaterThan(1_200)
  } finally {
    await close()
  }
})

test('[R6.5] what machines of the sandbox store goes along with --with-machines alone', async () => {
  mkdirSync(dirname(stored()), { recursive: true })
  writeFileSync(stored(), 'weights')
  const without = join(folder, 'without.tar.gz')
  expect(await operator.json('backup', 'create', without)).not.toHaveProperty('files.machines')
  const withThem = join(folder, 'with.tar.gz')
  expect(await operator.json('backup', 'create', withThem, '--with-machines')).toMatchObject({
    files: { machines: 1 },
  })
})

test('[R6.5] what is there is replaced with --replace and its name, or stays as it is', async () => {
  const [{ name } = {}] = await rows('select current_database() as name')
  const spoil = async () => {
    await rows(`update volume set name = 'spoilt'`)
    rmSync(config.sandboxDir, { recursive: true })
    mkdirSync(config.sandboxDir, { recursive: true })
    writeFileSync(join(config.sandboxDir, 'other'), 'of another')
  }
  await spoil()
  const file = join(folder, 'with.tar.gz')
  for (const [more, status] of [
    [[], 1],
    [['--replace'], 4],
    [['--replace', '--confirm', 'another'], 4],
    [['--replace', '--dry-run'], 0],
  ] as const) {
    expect((await operator.type('backup', 'restore', file, ...more)).exit).toBe(status)
    expect(await rows('select name from volume')).toEqual([{ name: 'spoilt' }])
    expect(existsSync(join(config.sandboxDir, 'other'))).toBe(true)
  }
  const words = ['backup', 'restore', file, '--replace', '--confirm', String(name)]
  expect(await operator.type(...words)).toMatchObject({
    ...{ exit: 0, out: expect.stringContaining('The books balance.') },
  })
  expect(await rows('select name from volume')).toEqual([{ name: 'datasets' }])
  expect(readFileSync(stored(), 'utf8')).toBe('weights')
  expect(existsSync(join(config.sandboxDir, 'other'))).toBe(false)
  // One without machines leaves theirs alone.
  await spoil()
  const without = ['backup', 'restore', join(folder, 'without.tar.gz'), '--replace', '--yes']
  expect((await operator.type(...without)).exit).toBe(0)
  expect(await rows('select name from volume')).toEqual([{ name: 'datasets' }])
  expect(existsSync(join(config.sandboxDir, 'other'))).toBe(true)
})

test('[R6.5] a backup of a newer version is refused, and changes nothing', async () => {
  await rows(
    `insert into drizzle.__drizzle_migrations (hash, created_at) values ('of tomorrow', 9e12::bigint)`,
  )
  const file = join(folder, 'newer.tar.gz')
  expect((await operator.type('backup', 'create', file)).exit).toBe(0)
  expect(await operator.type('backup', 'restore', file, '--replace', '--yes')).toMatchObject({
    ...{ exit: 1, err: expect.stringContaining('by a newer version of Berth') },
  })
  expect(await rows('select name from volume')).toEqual([{ name: 'datasets' }])
})
