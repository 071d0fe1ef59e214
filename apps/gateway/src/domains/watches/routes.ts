import { cancelOfferWatch, listOfferWatches, watchOffer } from '@berth/contract/offer-watches'
import { type Route, route } from '../../platform/http/handler.ts'
import type { Watches } from './watches.ts'

/**
 * The calls on watched offers (B15).
 * @param watches The domain.
 */
export function watchesRoutes(watches: Watches): Route[] {
  return [
    route(watchOffer, ({ caller, body, language }) => watches.add(caller.userId, body, language)),
    route(listOfferWatches, ({ caller, language }) => watches.list(caller.userId, language)),
    route(cancelOfferWatch, async ({ caller, params }) => {
      await watches.cancel(caller.userId, params.id)
      return null
    }),
  ]
}
