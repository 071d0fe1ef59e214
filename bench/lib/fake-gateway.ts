import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { composeGateway, type Gateway } from '../../apps/gateway/src/compose.ts'
import { createFakeEngine, type FakeEngine } from '../../apps/gateway/src/drivers/compute/fake/fake-engine.ts'
import type { Engine } from '../../apps/gateway/src/drivers/compute/port/engine.ts'
import { createLayoutFolder } from '../../apps/gateway/src/drivers/image-store/layout/layout-folder.ts'
import { createMailboxDriver } from '../../apps/gateway/src/drivers/mail/mailbox.ts'
import { systemClock } from '../../apps/gateway/src/platform/clock.ts'
import { type Catalogue, loadCatalogue } from '../../apps/gateway/src/platform/config/catalogue.ts'
import { startEmbeddedPostgres } from '../../apps/gateway/src/platform/database/embedded/embedded-postgres.ts'
import { migrate } from '../../apps/gateway/src/platform/database/migrate.ts'
import { type OpenDatabase, openDatabase } from '../../apps/gateway/src/platform/database/open-database.ts'
import { RATE_LIMITS } from '../../apps/gateway/src/platform/http/rate-limits.ts'
import { systemIds } from '../../apps/gateway/src/platform/ids.ts'
import { fixedTokenKeys } from '../../apps/gateway/src/platform/installation/token-keys.ts'
import { createLog } from '../../apps/gateway/src/platform/log.ts'
import { LOCAL_PARTS } from '../../apps/gateway/test/local-parts.ts'

export const CATALOGUE = join(import.meta.dirname, '../../config/catalogue.yaml')

/** The whole gateway in this process. */
export interface BenchGateway {
  gateway: Gateway
  database: OpenDatabase
  stop(): Promise<void>
}

/** One with an engine whose machines are entries in memory: it costs nothing itself. */
export interface FakeGateway extends BenchGateway {
  compute: FakeEngine
}

/** Starts one on a fresh PostgreSQL, with all loops as in production. */
export async function startFakeGateway(): Promise<FakeGateway> {
  const compute = createFakeEngine({ clock: systemClock })
  return { ...(await startGatewayOver(compute, loadCatalogue(CATALOGUE))), compute }
}

/** The same over any engine, which all regions have. */
export async function startGatewayOver(compute: Engine, catalogue: Catalogue): Promise<BenchGateway> {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-bench-fake-'))
  const log = createLog({ level: 'error', pretty: false })
  const server = await startEmbeddedPostgres({ dataDir, password: randomBytes(16).toString('hex'), log })
  await migrate(server.url)
  const database = openDatabase({ url: server.url, log })
  const base = { db: database.db, clock: systemClock, ids: systemIds }
  const mailbox = createMailboxDriver(base)
  const gateway = await composeGateway({
    ...LOCAL_PARTS,
    ...base,
    gatewayId: systemIds.uuid(),
    formerGatewayId: null,
    database,
    log,
    secrets: {
      rootKey: randomBytes(32),
      tokenKeys: fixedTokenKeys(randomBytes(32)),
      installationId: 'ba9876543210',
    },
    catalogue,
    engines: [
      {
        description: 'the engine of the bench',
        regionCodes: catalogue.regions.map(({ code }) => code),
        formerId: () => null,
        open: async () => compute,
      },
    ],
    imageStore: createLayoutFolder(join(dataDir, 'images'), { bytes_max: 2 ** 40, free_bytes_min: 0 }),
    modelServers: new Map(),
    mail: { driver: mailbox, mailbox },
    captcha: 'none',
    payments: [],
    rateLimits: RATE_LIMITS,
  })
  await gateway.listen(0)
  return {
    gateway,
    database,
    async stop() {
      await gateway.stopRequests()
      await gateway.stopLoops()
      await gateway.stopCompute()
      await database.close()
      await server.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}
