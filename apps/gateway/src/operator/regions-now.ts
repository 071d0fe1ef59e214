import type { Catalogue } from '../platform/config/catalogue.ts'
import type { Config } from '../platform/config/config.ts'
import type { Operated } from './operated.ts'

/** What gateways that run go by, or what they start with where none does. */
export async function regionsNow(
  config: Config,
  catalogues: Operated['catalogues'],
): Promise<Catalogue['regions']> {
  const { readCatalogue, readCatalogueText } = await import('../gateway-parts.ts')
  const source = (await catalogues.gateways()).find(one => one.source !== null)?.source
  const read = source ? readCatalogueText(source, 'what gateways go by') : readCatalogue(config)
  return read.regions
}
