import type { Config } from '../config/config.ts'
import type { FolderSecrets } from '../installation/folder-secrets.ts'
import type { Logger } from '../log.ts'
import { withProgress } from '../progress.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded/embedded-postgres.ts'
import { migrate } from './migrate.ts'
import { type OpenDatabase, openDatabase } from './open-database.ts'
import { isDatabaseUnavailable } from './unavailable.ts'

interface GatewayDatabase {
  database: OpenDatabase
  /** Stops the embedded server; nothing to do for another one. */
  stopServer(): Promise<void>
}

/** How long a database of somebody else may still be starting. */
const AWAY_MS = 30_000
const RETRY_MS = 1_000

/**
 * Opens the database that the settings name, or starts the embedded one, with this version's schema.
 * @throws Error with words for the operator.
 */
export async function openGatewayDatabase(options: {
  config: Pick<Config, 'databaseUrl' | 'dataDir'>
  /** Needed for the embedded server. */
  secrets: Pick<FolderSecrets, 'databasePassword'> | null
  log: Logger
}): Promise<GatewayDatabase> {
  const { config, secrets, log } = options
  const embedded =
    config.databaseUrl === null && secrets ? await startEmbedded(config.dataDir, secrets, log) : null
  const url = embedded?.url ?? config.databaseUrl ?? ''
  try {
    await withProgress('Bringing the database up to date', () =>
      embedded ? migrate(url) : migrateWhenThere(url),
    )
  } catch (error) {
    await embedded?.stop()
    throw error
  }
  return {
    database: openDatabase({ url, log }),
    stopServer: async () => embedded?.stop(),
  }
}

function startEmbedded(
  dataDir: string,
  { databasePassword }: Pick<FolderSecrets, 'databasePassword'>,
  log: Logger,
): Promise<EmbeddedPostgres> {
  return withProgress('Starting PostgreSQL', () =>
    startEmbeddedPostgres({ dataDir, password: databasePassword, log }),
  )
}

async function migrateWhenThere(url: string): Promise<void> {
  const deadline = performance.now() + AWAY_MS
  for (;;) {
    try {
      return await migrate(url)
    } catch (error) {
      if (!isDatabaseUnavailable(error)) throw error
      if (performance.now() > deadline) {
        const place = URL.parse(url)?.host ?? 'a Unix socket'
        const why = error instanceof Error ? error.message : String(error)
        throw new Error(`The database of DATABASE_URL (${place}) does not answer: ${why}`, { cause: error })
      }
      await new Promise(resolve => setTimeout(resolve, RETRY_MS))
    }
  }
}
