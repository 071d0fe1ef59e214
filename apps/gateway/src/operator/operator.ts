// What operators do with a running installation: `npm run operator -- images queue`, with the settings of the gateways, while
// at least one runs where the database is the embedded one. Answers go to standard output, as text or with --json.
import { composeGateway, type Gateway } from '../compose.ts'
import { gatewayParts, readCatalogue } from '../gateway-parts.ts'
import { systemClock } from '../platform/clock.ts'
import { loadConfig } from '../platform/config/config.ts'
import { readSettingsFile } from '../platform/config/settings-file.ts'
import { embeddedUrlOf } from '../platform/database/embedded/embedded-postgres.ts'
import { openDatabase } from '../platform/database/open-database.ts'
import { ApiError } from '../platform/http/api-error.ts'
import { systemIds } from '../platform/ids.ts'
import { openOwnSecrets, openSecrets } from '../platform/installation/open-secrets.ts'
import { createLog } from '../platform/log.ts'
import { checkBooks } from './books-command.ts'
import { runCoupons } from './coupons-commands.ts'
import { runCredits } from './credits-commands.ts'
import { runImages } from './images-commands.ts'
import { type OperatorCommand, readCommand } from './read-command.ts'
import { runRefunds } from './refunds-commands.ts'
import { USAGE, UsageError } from './usage.ts'

/** What was asked for cannot be understood; nothing was done. */
const EXIT_USAGE = 2
const EXIT_FAILURE = 1

process.exit(await main(process.argv.slice(2)))

/** @returns The exit status. */
async function main(args: string[]): Promise<number> {
  try {
    readSettingsFile()
    const command = readCommand(args)
    if (command === null) {
      process.stdout.write(USAGE)
      return 0
    }
    const answer = await withGateway(gateway => run(gateway, command))
    process.stdout.write(command.json ? `${JSON.stringify(answer.data, null, 2)}\n` : answer.text)
    return 'failed' in answer && answer.failed ? EXIT_FAILURE : 0
  } catch (error) {
    process.stderr.write(`${wordsOf(error)}\n`)
    return error instanceof UsageError ? EXIT_USAGE : EXIT_FAILURE
  }
}

async function run({ billing, identity, images }: Gateway, command: OperatorCommand) {
  if (command.group === 'books') return await checkBooks(billing)
  if (command.group === 'images') return await runImages(images, command)
  if (command.group === 'coupons') return await runCoupons(billing, systemClock, command)
  const note = (line: string) => process.stderr.write(`${line}\n`)
  if (command.group === 'credits') {
    const { customerNamed } = identity
    return await runCredits(billing, { clock: systemClock, ids: systemIds, note, customerNamed }, command)
  }
  return await runRefunds(billing, { ids: systemIds, note }, command)
}

function wordsOf(error: unknown): string {
  if (error instanceof ApiError) {
    if (error.code === 'not_found') return 'There is no such image.'
    if (error.code === 'image_state')
      return `The image is ${error.values?.status}: that cannot be done with it now.`
    if (error.code === 'image_changed')
      return 'The image is not what that --seen stands for: its customer has changed it. Show it, and look again.'
  }
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : ''
  return `${error instanceof Error ? error.message : String(error)}${cause}`
}

/** The domains on the installation's database, of a gateway that neither listens nor runs any loop. */
async function withGateway<T>(run: (gateway: Gateway) => Promise<T>): Promise<T> {
  const config = loadConfig()
  const log = createLog({ level: 'warn', pretty: process.stderr.isTTY === true })
  const folder = openOwnSecrets(config)
  const url = config.databaseUrl ?? embeddedUrlOf(config.dataDir, folder?.databasePassword ?? '')
  const database = openDatabase({ url, log })
  try {
    const catalogue = readCatalogue(config)
    const base = { clock: systemClock, ids: systemIds, log }
    const secrets = await openSecrets({ ...base, config, folder, database })
    const gateway = await composeGateway({
      ...(await gatewayParts({ config, catalogue, database, secrets, log })),
      gatewayId: systemIds.uuid(),
      formerGatewayId: null,
      engines: [],
    })
    await gateway.openJobs()
    return await run(gateway)
  } finally {
    await database.close()
  }
}
