// Replaces the key that access tokens are signed with: `npm run rotate-token-key -w @berth/gateway`, with the
// settings of the gateways, while at least one runs where the database is the embedded one. The former key is believed
// as long as its tokens last; with `-- --at-once` it is not, and everybody signs in again.
import { parseArgs } from 'node:util'
import { systemClock } from './platform/clock.ts'
import { loadConfig } from './platform/config/config.ts'
import { readSettingsFile } from './platform/config/settings-file.ts'
import { embeddedUrlOf } from './platform/database/embedded/embedded-postgres.ts'
import { openDatabase } from './platform/database/open-database.ts'
import { systemIds } from './platform/ids.ts'
import { createInstallationSecrets, openOwnSecrets } from './platform/installation/open-secrets.ts'
import { createLog } from './platform/log.ts'
import { say } from './platform/progress.ts'

try {
  readSettingsFile()
  const { values } = parseArgs({ options: { 'at-once': { type: 'boolean', default: false } } })
  await rotate({ atOnce: values['at-once'] })
} catch (error) {
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : ''
  say(`${error instanceof Error ? error.message : String(error)}${cause}`)
  process.exit(1)
}

async function rotate({ atOnce }: { atOnce: boolean }): Promise<void> {
  const config = loadConfig()
  const log = createLog({ level: config.logLevel, pretty: process.stderr.isTTY === true })
  const folder = openOwnSecrets(config)
  const url = config.databaseUrl ?? embeddedUrlOf(config.dataDir, folder?.databasePassword ?? '')
  const database = openDatabase({ url, log, poolSize: 1 })
  try {
    const base = { clock: systemClock, ids: systemIds, log }
    const secrets = createInstallationSecrets({ ...base, config, folder, database })
    await secrets.load(folder?.former ?? null)
    const id = await secrets.replaceTokenKey({ atOnce })
    say(
      atOnce
        ? `Tokens are signed with the key ${id}. No other is believed: everybody signs in again.`
        : `Tokens are signed with the key ${id}. The former one is believed until its last token is over.`,
    )
  } finally {
    await database.close()
  }
}
