import type { Catalogue, CatalogueModel } from './catalogue.ts'
import { type CatalogueChange, diffCatalogues } from './catalogue-diff.ts'

/** The process of the model beside the gateway is made for the models that it answers for. */
const isLocal = ({ servers }: CatalogueModel) => servers.some(({ driver }) => driver === 'local')

/**
 * What a gateway that goes by one catalogue can take of another one only when it starts: regions that come and go, their
 * engines and public IPs, brands, registries, credits for outages, check-ins, referring, models that are found, and those that
 * run beside it. All else is taken while it runs.
 */
export function changesForRestart(before: Catalogue, after: Catalogue): CatalogueChange[] {
  const fixed = (catalogue: Catalogue): Catalogue => ({
    ...catalogue,
    prices: before.prices,
    words: before.words,
    gpu_specs: [],
    images: [],
    models: catalogue.models.filter(isLocal),
    regions: catalogue.regions.map(region => ({
      ...region,
      name: '',
      enabled: true,
      traffic_micro_per_gb: 0n,
    })),
  })
  return diffCatalogues(fixed(before), fixed(after))
}

/**
 * Puts what can be taken without a restart in place of what a catalogue says, at once: whoever holds it reads the new one
 * from here on. Its models stay the same list, which others hold by itself.
 * @param after A catalogue of which `changesForRestart` says nothing.
 */
export function takeCatalogue(held: Catalogue, after: Catalogue): void {
  const { source, prices, gpu_specs, images, words, regions } = after
  Object.assign(held, { source, prices, gpu_specs, images, words, regions })
  held.models.splice(0, held.models.length, ...after.models)
}
