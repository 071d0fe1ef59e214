import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate as applyMigrations } from 'drizzle-orm/node-postgres/migrator'
import { Client } from 'pg'
import * as z from 'zod'

/** Where `drizzle-kit generate` writes. */
const MIGRATIONS_DIR = resolve(import.meta.dirname, '../../../drizzle')

/** Any number that nobody else locks: replicas that start together migrate one after the other. */
const LOCK_ID = 7_366_214_905

const journal = z.object({ entries: z.array(z.object({ when: z.number() })).min(1) })

/**
 * Brings the schema up to this version, forward only; each migration once, whoever starts first.
 * @param url The database.
 * @throws Error when the schema is of a newer version than this program.
 */
export async function migrate(url: string): Promise<void> {
  const client = new Client({ connectionString: url, application_name: 'berth-migrate' })
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK_ID])
    await refuseNewer(client)
    await applyMigrations(drizzle({ client }), { migrationsFolder: MIGRATIONS_DIR })
  } finally {
    await client.end()
  }
}

async function refuseNewer(client: Client): Promise<void> {
  const { entries } = journal.parse(
    JSON.parse(readFileSync(join(MIGRATIONS_DIR, 'meta', '_journal.json'), 'utf8')),
  )
  const known = Math.max(...entries.map(({ when }) => when))
  const { rows: tables } = await client.query("select to_regclass('drizzle.__drizzle_migrations') as name")
  if (tables[0]?.name === null) return
  const { rows } = await client.query('select max(created_at) as latest from drizzle.__drizzle_migrations')
  if (Number(rows[0]?.latest) > known) {
    throw new Error(
      'The database was used by a newer version of Berth, and this one cannot go back. Start that version again, or ' +
        'restore a backup that was made before ("Rolling back" in docs/operating.md).',
    )
  }
}
