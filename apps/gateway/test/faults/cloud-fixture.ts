import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parse, stringify } from 'yaml'
import { createTestDatabase } from '../test-database.ts'
import { createGatewayHome, type GatewayHome, type GatewayRun } from './gateway-home-fixture.ts'
import { endProcesses, processesOf } from './processes-fixture.ts'
import { type RoundRobin, startRoundRobin } from './round-robin-fixture.ts'

const CATALOGUE = resolve(import.meta.dirname, '../../../../config/catalogue.yaml')
/** Regions, and a sandbox of its own for each. */
export const REGIONS = { 'us-west': 'west', 'eu-frankfurt': 'east' } as const
type Sandbox = (typeof REGIONS)[keyof typeof REGIONS]
/** Each sandbox is reached by two of the three gateways. */
const REACHED: Sandbox[][] = [['west', 'east'], ['west'], ['east']]

/** One gateway of several: where it is reached directly, and its process. */
export interface CloudGateway {
  home: GatewayHome
  run: GatewayRun
}

/** Three gateways on one database behind a proxy, and the machines of two sandboxes. */
export interface Cloud {
  proxy: RoundRobin
  gateways: CloudGateway[]
  databaseUrl: string
  /** Folder of everything that runs, as `processesOf` and `machinesOf` know it. */
  dataDir: string
  /** All that the gateways said, for a test that fails. */
  output(): string
  remove(): Promise<void>
}

/** Starts it all; every gateway is ready when this returns. */
export async function startCloud(): Promise<Cloud> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-test-cloud-'))
  const dataDir = join(folder, 'data')
  mkdirSync(dataDir)
  const database = await createTestDatabase()
  const homes = await Promise.all(
    REACHED.map((sandboxes, at) =>
      createGatewayHome({
        folder,
        settings: {
          DATABASE_URL: database.url,
          BERTH_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
          BERTH_CATALOGUE: writeCatalogue(folder, at, sandboxes),
          BERTH_COMPUTE: 'auto',
          BERTH_RATE_LIMIT_PER_MINUTE: '0',
        },
      }),
    ),
  )
  const gateways = await Promise.all(homes.map(async home => ({ home, run: await home.start() })))
  const proxy = await startRoundRobin(homes.map(({ port }) => port))
  return {
    proxy,
    gateways,
    databaseUrl: database.url,
    dataDir,
    output: () => homes.map((home, at) => `══ ${at + 1}\n${home.output()}`).join('\n'),
    async remove() {
      await proxy.close()
      for (const { run } of gateways) await run.kill()
      await endProcesses(() => processesOf(dataDir))
      await database.drop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The catalogue as one gateway has it: a region whose sandbox it does not reach is at an engine that is not there. */
function writeCatalogue(folder: string, at: number, sandboxes: Sandbox[]): string {
  const catalogue = parse(readFileSync(CATALOGUE, 'utf8')) as {
    regions: { code: string; engines?: object[] }[]
  }
  for (const region of catalogue.regions) {
    const sandbox = REGIONS[region.code as keyof typeof REGIONS]
    region.engines =
      sandbox && sandboxes.includes(sandbox)
        ? [{ driver: 'sandbox', dir: join(folder, 'data', sandbox) }]
        : [{ driver: 'docker', url: `unix://${join(folder, 'none.sock')}` }]
  }
  const file = join(folder, `catalogue-${at}.yaml`)
  writeFileSync(file, stringify(catalogue))
  return file
}
