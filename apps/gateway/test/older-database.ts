import { randomBytes } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import { Client } from 'pg'
import { inject } from 'vitest'

const DRIZZLE = resolve(import.meta.dirname, '../drizzle')

/** A database as an older version left it, on a connection that stays open over the migrations that follow. */
export interface OlderDatabase {
  url: string
  /** Carries a statement out. @returns Its rows. */
  run<Row = Record<string, string>>(text: string, values?: unknown[]): Promise<Row[]>
  /** Closes the connection and removes the database, whoever else uses it. */
  drop(): Promise<void>
}

/**
 * Makes a database that has all migrations before one, and no rows.
 * @param migration The one that it lacks, with all after it: the name's words, such as `subjects_and_meters`.
 */
export async function createOlderDatabase(migration: string): Promise<OlderDatabase> {
  const serverUrl = inject('postgresUrl')
  const name = `older_${randomBytes(8).toString('hex')}`
  const url = serverUrl.replace('/postgres?', `/${name}?`)
  await connected(serverUrl, server => server.query(`create database ${name}`))
  await connected(url, client => migrateToBefore(client, migration))
  const client = new Client({ connectionString: url })
  await client.connect()
  return {
    url,
    async run(text, values = []) {
      return (await client.query(text, values)).rows
    },
    async drop() {
      await client.end()
      await connected(serverUrl, server => server.query(`drop database ${name} with (force)`))
    },
  }
}

/** Applies the migrations of a copy of the folder whose journal ends there. */
async function migrateToBefore(client: Client, migration: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-test-migrations-'))
  try {
    cpSync(DRIZZLE, folder, { recursive: true })
    const file = join(folder, 'meta', '_journal.json')
    const journal = JSON.parse(readFileSync(file, 'utf8')) as { entries: { tag: string }[] }
    const until = journal.entries.findIndex(({ tag }) => tag.endsWith(`_${migration}`))
    if (until < 1) throw new Error(`nothing comes before a migration named ${migration}`)
    writeFileSync(file, JSON.stringify({ ...journal, entries: journal.entries.slice(0, until) }))
    await migrate(drizzle({ client }), { migrationsFolder: folder })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function connected(url: string, work: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}
