import * as z from 'zod'
import { defineEvent } from '../../platform/events/define-event.ts'

/** What a customer is told of a watch, once each; of stock that is back, once for each return. */
export const OFFER_WATCH_NEWS = [
  'back',
  'deployed',
  'price_above',
  'insufficient_balance',
  'budget_reached',
  'instance_limit',
  'not_verified',
  'refused',
  'expired',
] as const

/** Something happened to an offer that a customer watches. Names are the catalogue's in English. */
export const offerWatchNews = defineEvent(
  'offer-watch.news',
  z.object({
    userId: z.uuid(),
    at: z.iso.datetime(),
    news: z.enum(OFFER_WATCH_NEWS),
    gpuSpecName: z.string(),
    gpuCount: z.number().int(),
    regionName: z.string(),
    /** Of what it deploys; null for one that only mails. */
    instanceName: z.string().nullable(),
  }),
)
