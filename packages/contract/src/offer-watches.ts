import * as z from 'zod'
import { defineCall } from './call.ts'
import { by, micro, slug, timestamp } from './fields.ts'
import { deployBody } from './instances.ts'
import { DEPLOY_BODY_BYTES_MAX, STOP_AT_CHARS_MAX } from './limits.ts'

/** Where a watch is: it waits, it has deployed, its date has come, or what it was to deploy cannot be made any more. */
export const OFFER_WATCH_STATES = ['waiting', 'deployed', 'expired', 'refused'] as const

/** Why a watch has not deployed though there was stock; it goes on waiting. */
export const OFFER_WATCH_HOLDS = [
  'price_above',
  'insufficient_balance',
  'budget_reached',
  'instance_limit',
  'not_verified',
] as const
export type OfferWatchHold = (typeof OFFER_WATCH_HOLDS)[number]

/** An offer that was sold out, and what is to happen when it is back (B15). */
export const offerWatch = z.object({
  id: z.string(),
  action: z.enum(['mail', 'deploy']),
  region_code: z.string(),
  region_name: z.string(),
  gpu_spec_id: z.string(),
  gpu_spec_name: z.string(),
  /** So many have to be free. */
  gpu_count: z.number().int(),
  /** The most that an hour of the instance may cost; null for a mail. */
  price_max_micro_per_hour: micro.nullable(),
  /** Of the instance that is deployed; null for a mail. */
  instance_name: z.string().nullable(),
  until: timestamp,
  state: z.enum(OFFER_WATCH_STATES),
  held_by: z.enum(OFFER_WATCH_HOLDS).nullable(),
  /** When the customer was last told that there is stock. */
  told_at: timestamp.nullable(),
  ended_at: timestamp.nullable(),
  /** What was deployed. */
  instance_id: z.string().nullable(),
  created_at: timestamp,
})
z.globalRegistry.add(offerWatch, { id: 'OfferWatch' })
export type OfferWatch = z.infer<typeof offerWatch>

const { region_code: _region, gpu_spec_id: _spec, gpu_count: _count, ...setupFields } = deployBody.shape

/** What a watch deploys: all of a deploy but what is watched. */
const setup = z.object(setupFields, by('required'))
z.globalRegistry.add(setup, { id: 'OfferWatchSetup' })

/** A price has so many digits at the most: a million units of currency an hour. */
const PRICE_MAX_PATTERN = /^\d{1,12}$/

export const watchOfferBody = z.object({
  region_code: slug,
  gpu_spec_id: slug,
  gpu_count: deployBody.shape.gpu_count,
  /** Later than now, and no more than ninety days ahead. */
  until: z.iso.datetime(by('moment')).max(STOP_AT_CHARS_MAX, by('moment')),
  /** Null sends a mail each time that the offer is back. */
  deploy: z
    .object(
      {
        price_max_micro_per_hour: z.string(by('not_a_number')).regex(PRICE_MAX_PATTERN, by('not_a_number')),
        setup,
      },
      by('wrong_type'),
    )
    .nullable()
    .default(null),
})
z.globalRegistry.add(watchOfferBody, { id: 'WatchOfferBody' })
export type WatchOfferBody = z.infer<typeof watchOfferBody>

export const watchOffer = defineCall({
  operation: 'offer_watch.add',
  method: 'POST',
  path: '/api/offer-watch/',
  summary:
    'Watches an offer until a date: mails when it is back, or deploys by itself under a price. Asked for again it is the same watch.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['data.id'] },
  stales: ['offer_watch.list'],
  bodyBytesMax: DEPLOY_BODY_BYTES_MAX,
  body: watchOfferBody,
  data: offerWatch,
})

export const listOfferWatches = defineCall({
  operation: 'offer_watch.list',
  method: 'GET',
  path: '/api/offer-watch/',
  summary: "The customer's watches, newest first; those that have ended for a week.",
  audience: 'user',
  timeout: 'normal',
  retry: true,
  data: z.array(offerWatch),
})

export const cancelOfferWatch = defineCall({
  operation: 'offer_watch.cancel',
  method: 'DELETE',
  path: '/api/offer-watch/{id}',
  summary: 'Ends a watch and takes it off the list. What it has deployed stays.',
  audience: 'user',
  timeout: 'normal',
  audit: { target: ['params.id'] },
  stales: ['offer_watch.list'],
  params: z.object({ id: z.uuid(by('not_allowed')) }),
  data: z.null(),
})

export const offerWatchCalls = [watchOffer, listOfferWatches, cancelOfferWatch] as const
