import type { Language } from '@berth/contract/limits'
import { allRegions, listGpuSpecs, listRegions } from '@berth/contract/regions'
import type { Say } from '../../platform/config/catalogue-words.ts'
import { type Route, route } from '../../platform/http/handler.ts'
import type { Regions } from './regions.ts'

/**
 * The calls on regions and GPU specs (R7.2).
 * @param regions The domain.
 * @param say How the catalogue's texts are said in a language.
 */
export function regionsRoutes(regions: Regions, say: Say): Route[] {
  const allIn = (language: Language) =>
    regions.all().map(region => ({ ...region, name: say(region.name, language) }))
  return [
    route(allRegions, async ({ language }) => allIn(language)),
    route(listRegions, async ({ query, language }) => {
      const found = allIn(language)
        .filter(({ name }) => !query.name || name.toLowerCase().includes(query.name.toLowerCase()))
        .filter(({ code }) => !query.code || code === query.code)
      const from = (query.page - 1) * query.page_size
      return {
        items: found.slice(from, from + query.page_size),
        total: found.length,
        page: query.page,
        page_size: query.page_size,
      }
    }),
    route(listGpuSpecs, async ({ body, language }) => {
      const specs = await regions.specs(body.region_codes)
      return specs.map(spec => ({ ...spec, name: say(spec.name, language) }))
    }),
  ]
}
