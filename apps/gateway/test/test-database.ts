import { randomBytes } from 'node:crypto'
import { Client, type Pool } from 'pg'
import { pino } from 'pino'
import { inject } from 'vitest'
import type { Database } from '../src/platform/database/database.ts'
import { type OpenDatabase, openDatabase } from '../src/platform/database/open-database.ts'

/** Connections of one test's pool: enough for tests of concurrency, few enough for many files at once. */
const POOL_SIZE = 10

export interface TestDatabase {
  db: Database
  pool: Pool
  url: string
  listen: OpenDatabase['listen']
  /** Closes the connections and removes the database. */
  drop(): Promise<void>
}

/** A database of its own with the whole schema and no rows, copied from the run's template in milliseconds. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const serverUrl = inject('postgresUrl')
  const name = `test_${randomBytes(8).toString('hex')}`
  await onServer(serverUrl, `create database ${name} template ${inject('templateName')} strategy file_copy`)
  const url = databaseUrl(serverUrl, name)
  const opened = openDatabase({ url, log: pino({ level: 'silent' }), poolSize: POOL_SIZE })
  return {
    db: opened.db,
    pool: opened.pool,
    url,
    listen: opened.listen,
    async drop() {
      await opened.close()
      await onServer(serverUrl, `drop database if exists ${name} with (force)`)
    },
  }
}

/** The address of another database on the same server. */
function databaseUrl(serverUrl: string, name: string): string {
  return serverUrl.replace('/postgres?', `/${name}?`)
}

async function onServer(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
