import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse, stringify } from 'yaml'

const CATALOGUE = resolve(import.meta.dirname, '../../../../config/catalogue.yaml')

/** What of an engine is killed, beside the gateway. */
export type Victim = 'helper' | 'machine'

/** An engine whose processes a test kills, and what it shows past the gateway. */
export interface KilledEngine {
  name: 'docker' | 'sandbox' | 'qemu'
  /** What instances on it are. */
  kind: 'POD' | 'VM'
  /** Whether a machine that was started runs nothing of its customer's until the gateway has let it begin. */
  waits: boolean
  /** As the catalogue names the engine, and how it makes its image. */
  description: object
  recipe: Record<string, unknown>
  /** Settings that a gateway needs for its image. */
  settings?: Record<string, string>
  /**
   * Kills with SIGKILL, and returns when that which does not come back by itself was started again: `helper` is what
   * speaks for machines (Docker's daemon, the agent of a sandbox, the keeper beside QEMU), `machine` what runs in them.
   */
  kill(victim: Victim): Promise<void>
  /** Ids of machines that run, in order; one of which two run is there twice. */
  running(): Promise<string[]>
  /** Names of machines that are there, whether or not they run, but for those of these ids. */
  strays(ids: readonly string[]): Promise<string[]>
  /** Names of all that it has once its last instance and image are gone; none when all is well. */
  left(): Promise<string[]>
  /** Ends all that runs there and removes it. */
  remove(): Promise<void>
}

/** Where a gateway has an engine, by the catalogue that `writeCatalogue` makes. */
export interface Place {
  regionCode: string
  imageId: string
  /** The one address that the region gives to an instance for itself. */
  address: string
}

interface RawCatalogue {
  regions: { code: string; engines?: object[]; enabled: boolean; public_ips?: string[] }[]
  images: ({ id: string } & Record<string, unknown>)[]
}

/**
 * Writes the catalogue into a folder, with a region and an image for each of these engines, and no other images. Each of
 * these regions has one address for itself, of this computer alone.
 * @returns The file, and where each engine is.
 */
export function writeCatalogue(
  folder: string,
  engines: readonly KilledEngine[],
): { file: string; places: Map<KilledEngine, Place> } {
  const catalogue = parse(readFileSync(CATALOGUE, 'utf8')) as RawCatalogue
  const [plain] = catalogue.images
  if (!plain) throw new Error('the catalogue has no image')
  const { docker: _docker, sandbox: _sandbox, ...said } = plain
  const places = new Map<KilledEngine, Place>()
  for (const region of catalogue.regions) delete region.public_ips
  // Whatever other test runs beside this one listens elsewhere.
  const network = `127.73.${process.pid % 256}`
  for (const [at, engine] of engines.entries()) {
    const region = catalogue.regions[at]
    if (!region?.enabled) throw new Error('the catalogue has too few regions')
    region.engines = [engine.description]
    const address = `${network}.${at + 1}`
    region.public_ips = [address]
    places.set(engine, { regionCode: region.code, imageId: `of-${engine.name}`, address })
  }
  for (const region of catalogue.regions) region.engines ??= engines[0] ? [engines[0].description] : []
  catalogue.images = engines.map(engine => ({
    ...said,
    id: `of-${engine.name}`,
    kind: engine.kind,
    [engine.name]: engine.recipe[engine.name],
  }))
  const file = join(folder, 'catalogue.yaml')
  writeFileSync(file, stringify(catalogue))
  return { file, places }
}
