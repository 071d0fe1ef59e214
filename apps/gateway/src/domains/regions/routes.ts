import { allRegions, listGpuSpecs, listRegions } from '@berth/contract/regions'
import { type Route, route } from '../../platform/http/handler.ts'
import type { Regions } from './regions.ts'

/**
 * The calls on regions and GPU specs (R7.2).
 * @param regions The domain.
 */
export function regionsRoutes(regions: Regions): Route[] {
  return [
    route(allRegions, async () => regions.all()),
    route(listRegions, async ({ query }) => {
      const found = regions
        .all()
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
    route(listGpuSpecs, ({ body }) => regions.specs(body.region_codes)),
  ]
}
