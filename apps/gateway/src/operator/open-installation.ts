import { composeGateway } from '../compose.ts'
import { createMailDesk } from '../drivers/mail/mail-desk.ts'
import { gatewayParts, localModelOf, readCatalogue } from '../gateway-parts.ts'
import { systemClock } from '../platform/clock.ts'
import type { Config } from '../platform/config/config.ts'
import { embeddedUrlOf } from '../platform/database/embedded/embedded-postgres.ts'
import { openDatabase } from '../platform/database/open-database.ts'
import { systemIds } from '../platform/ids.ts'
import {
  createInstallationSecrets,
  openOwnSecrets,
  openSecrets,
} from '../platform/installation/open-secrets.ts'
import { createLog } from '../platform/log.ts'
import type { Operated } from './operated.ts'

/** The domains on the installation's database, of a gateway that neither listens nor runs any loop. */
export async function openInstallation(
  config: Config,
): Promise<{ operated: Operated; close(): Promise<void> }> {
  const log = createLog({ level: 'warn', pretty: process.stderr.isTTY === true })
  const folder = openOwnSecrets(config)
  const url = config.databaseUrl ?? embeddedUrlOf(config.dataDir, folder?.databasePassword ?? '')
  const database = openDatabase({ url, log })
  try {
    const { catalogue, localModel } = localModelOf(config, readCatalogue(config), log)
    const base = { clock: systemClock, ids: systemIds, log }
    const secrets = await openSecrets({ ...base, config, folder, database })
    const gateway = await composeGateway({
      ...(await gatewayParts({ config, catalogue, database, secrets, localModel, log })),
      gatewayId: systemIds.uuid(),
      formerGatewayId: null,
      engines: [],
    })
    await gateway.openJobs()
    return {
      operated: {
        ...gateway,
        keys: createInstallationSecrets({ ...base, config, folder, database }),
        mails: createMailDesk({ db: database.db }),
      },
      async close() {
        await gateway.audit.stop()
        // What breaks from here on breaks because it ends.
        log.level = 'silent'
        await database.close()
      },
    }
  } catch (error) {
    await database.close()
    throw error
  }
}
