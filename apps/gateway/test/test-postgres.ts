import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { pino } from 'pino'
import { startEmbeddedPostgres } from '../src/platform/database/embedded/embedded-postgres.ts'
import { migrate } from '../src/platform/database/migrate.ts'
import { openDatabase } from '../src/platform/database/open-database.ts'
import { createJobs } from '../src/platform/jobs/jobs.ts'
import { makeQuickFolder, removeLeftovers } from './quick-folder.ts'
import { pendingStatements } from './schema.ts'

const TEMPLATE = 'berth_template'

/** A PostgreSQL of a run of tests. */
export interface TestPostgres {
  /** Its address, on its maintenance database. */
  url: string
  /** The migrated database that each test's is copied from. */
  templateName: string
  /** Stops it and removes its data. */
  stop(): Promise<void>
}

/** Starts one PostgreSQL for a whole run, in memory where there is room, with a template of the schema. */
export async function startTestPostgres(): Promise<TestPostgres> {
  removeLeftovers()
  const dataDir = makeQuickFolder('postgres')
  const server = await start(dataDir)
  await makeTemplate(server.urlOf('postgres'), server.urlOf(TEMPLATE))
  return {
    url: server.urlOf('postgres'),
    templateName: TEMPLATE,
    async stop() {
      await server.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

function start(dataDir: string) {
  // Its socket is for its own user alone. A password would be hashed thousands of times for each connection, of which
  // a run makes thousands; `embedded-postgres.test.ts` proves it where it counts.
  const clients = join(dataDir, 'clients.conf')
  writeFileSync(clients, 'local all all trust\n')
  return startEmbeddedPostgres({
    dataDir,
    password: 'for-tests-on-a-private-socket',
    log: pino({ level: 'warn' }),
    // Nothing here outlives the run, so nothing need survive a power cut.
    settings: {
      hba_file: clients,
      fsync: 'off',
      synchronous_commit: 'off',
      full_page_writes: 'off',
      max_connections: '300',
      max_wal_size: '256MB',
      // No database lives long enough to have anything to clean up.
      autovacuum: 'off',
    },
  })
}

async function makeTemplate(serverUrl: string, templateUrl: string): Promise<void> {
  const server = new Client({ connectionString: serverUrl })
  await server.connect()
  await server.query(`create database ${TEMPLATE}`)
  await migrate(templateUrl)
  // Tables may be ahead of the migrations while they are being changed; a test of its own tells.
  const template = new Client({ connectionString: templateUrl })
  await template.connect()
  for (const statement of await pendingStatements()) await template.query(statement)
  await template.end()
  await makeJobTables(templateUrl)
  await server.query(`alter database ${TEMPLATE} is_template true`)
  await server.end()
}

/** What the queues add at their first start, so that it is not made anew for each test. */
async function makeJobTables(templateUrl: string): Promise<void> {
  const log = pino({ level: 'warn' })
  const database = openDatabase({ url: templateUrl, log })
  const jobs = createJobs({ database, log })
  await jobs.open()
  await jobs.stop()
  await database.close()
}
