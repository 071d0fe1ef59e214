import type { Pool } from 'pg'
import { pino } from 'pino'
import { inject } from 'vitest'
import { PATIENCE_MS } from '../../../scripts/test/patience-ms.ts'
import type { Database } from '../src/platform/database/database.ts'
import { type OpenDatabase, openDatabase } from '../src/platform/database/open-database.ts'
import { copyTemplate } from './copy-template.ts'

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
  const { url, drop } = await copyTemplate(inject('postgresUrl'), inject('templateName'))
  const opened = openDatabase({
    url,
    log: pino({ level: 'silent' }),
    poolSize: POOL_SIZE,
    connectTimeoutMs: PATIENCE_MS,
  })
  return {
    db: opened.db,
    pool: opened.pool,
    url,
    listen: opened.listen,
    async drop() {
      await opened.close()
      await drop()
    },
  }
}
