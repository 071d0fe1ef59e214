import Stripe from 'stripe'
import * as z from 'zod'
import type { Logger } from '../../../platform/log.ts'
import { type PlatformEvent, type WebhookDelivery, WebhookRefused, WebhookUnreadable } from '../port.ts'
import { askStripe } from './stripe-client.ts'
import type { CustomersDeps } from './stripe-customers.ts'
import { findPayment } from './stripe-intents.ts'

const SIGNATURE_HEADER = 'stripe-signature'
/** A webhook older than this, or dated ahead by more, is refused, so that one that was overheard cannot be sent again for ever. */
const TOLERANCE_S = 300
const EVENTS_PAGE = 100
/** Pages of one reading; what is beyond is found by the payments' own looks. */
const PAGES_MAX = 1_000
const NAME_CHARS_MAX = 200

/** What a webhook's endpoint at Stripe must send, and what is asked of the list of events (twenty at most). */
const EVENT_TYPES = [
  'payment_intent.processing',
  'payment_intent.requires_action',
  'payment_intent.succeeded',
  'payment_intent.payment_failed',
  'payment_intent.canceled',
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'checkout.session.expired',
  'charge.refunded',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'charge.dispute.created',
  'charge.dispute.updated',
  'charge.dispute.closed',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
] as const

const name = z.string().min(1).max(NAME_CHARS_MAX)
/** Of what an event is about only the names are read: how far it is, is asked (see `completeEvent`). */
const eventShape = z.object({
  id: name,
  type: name,
  created: z.int().min(0),
  livemode: z.boolean(),
  account: name.nullish(),
  data: z.object({
    object: z.object({
      id: name,
      object: name,
      payment_intent: z.union([name, z.object({ id: name })]).nullish(),
      metadata: z.record(z.string(), z.string()).nullish(),
    }),
  }),
})
type EventShape = z.output<typeof eventShape>

export interface EventsDeps extends CustomersDeps {
  log: Pick<Logger, 'warn' | 'error'>
  webhookSecret: string
  /** Whether the keys are those of real money. */
  live: boolean
}

/**
 * Checks a webhook and reads what it is about.
 * @throws WebhookRefused for one that Stripe did not sign, not lately, or for another account or kind of money.
 * @throws WebhookUnreadable for one that is no event.
 */
export function readStripeWebhook(deps: EventsDeps, { body, headers }: WebhookDelivery): PlatformEvent[] {
  const header = headers[SIGNATURE_HEADER]
  if (typeof header !== 'string') throw new WebhookRefused('there is no signature')
  const told = eventShape.safeParse(signedBy(deps, Buffer.from(body), header))
  if (!told.success) throw new WebhookUnreadable('it is no event of Stripe', { cause: told.error })
  if (told.data.livemode !== deps.live) throw new WebhookRefused('it is of the other kind of money')
  if (told.data.account) throw new WebhookRefused('it is of another account')
  return eventsOf(told.data)
}

function signedBy({ stripe, webhookSecret, clock }: EventsDeps, body: Buffer, header: string): unknown {
  try {
    const now = clock.now().getTime()
    const event = stripe.webhooks.constructEvent(body, header, webhookSecret, TOLERANCE_S, undefined, now)
    // The library refuses what is old alone: one that is dated ahead could be sent again until then.
    if (signedAtS(header) - now / 1_000 <= TOLERANCE_S) return event
  } catch (error) {
    if (error instanceof Stripe.errors.StripeSignatureVerificationError) {
      throw new WebhookRefused('the signature is wrong or too old')
    }
    throw new WebhookUnreadable('it is no event of Stripe', { cause: error })
  }
  throw new WebhookRefused('the signature is of a moment to come')
}

/** When a webhook was signed, in seconds, read from its header as the library reads it: the last moment counts. */
function signedAtS(header: string): number {
  const last = header.split(',').findLast(item => item.startsWith('t='))
  return Number.parseInt(last?.slice(2) ?? '', 10)
}

/** Everything that Stripe told since a moment, newest first, in pages. One odd event is logged and skipped. */
export async function* readStripeEvents(deps: EventsDeps, since: Date): AsyncIterable<PlatformEvent[]> {
  const created = { gte: Math.floor(since.getTime() / 1_000) }
  let after: string | undefined
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const more = after === undefined ? {} : { starting_after: after }
    const { data, has_more } = await askStripe(() =>
      deps.stripe.events.list({ created, types: [...EVENT_TYPES], limit: EVENTS_PAGE, ...more }),
    )
    const events = data.flatMap(event => listed(deps, event))
    if (events.length > 0) yield events
    after = data.at(-1)?.id
    if (!has_more || after === undefined) return
  }
  deps.log.error({ since }, 'Stripe has more events than are read at once; the oldest were left')
}

function listed({ log, live }: EventsDeps, event: unknown): PlatformEvent[] {
  const told = eventShape.safeParse(event)
  if (!told.success) {
    log.warn({ err: told.error }, 'an event of Stripe could not be read and was skipped')
    return []
  }
  return told.data.livemode === live ? eventsOf(told.data) : []
}

/** An event of a type that says nothing of payments is none. */
function eventsOf({ id: event_id, type, created, data: { object } }: EventShape): PlatformEvent[] {
  if (!(EVENT_TYPES as readonly string[]).includes(type)) return []
  const event = {
    event_id,
    occurred_at: new Date(created * 1_000),
    status: null,
    failure: null,
    refunded_cents: 0,
    refunds_failed_cents: 0,
    next_url: null,
  }
  if (object.object === 'payment_intent' || object.object === 'checkout.session') {
    const reference = object.metadata?.reference ?? null
    // Another program of the same account: nobody is asked about it.
    if (reference === null) return [{ ...event, reference, intent_id: object.id }]
    return [{ ...event, reference, intent_id: object.id, incomplete: true }]
  }
  const { payment_intent: payment } = object
  const intent_id = typeof payment === 'string' ? payment : (payment?.id ?? null)
  return [{ ...event, reference: null, intent_id, ...(intent_id === null ? {} : { incomplete: true }) }]
}

/**
 * Asks how far the payment of an event is. What the event says of it may be older than what is so now, and has the
 * shape of whatever version of the API its endpoint was made with.
 */
export async function completeEvent(deps: EventsDeps, event: PlatformEvent): Promise<PlatformEvent> {
  const { incomplete: _, ...known } = event
  const found = event.intent_id === null ? null : await findPayment(deps, event.intent_id, true)
  if (!found?.reference) return { ...known, reference: null }
  const { intent, reference, isHosted } = found
  // What was charged for a page is known to us by the page's name; what was declined there may be tried there again.
  if (!isHosted || intent.intent_id.startsWith('cs_')) return { ...known, ...intent, reference }
  const isFar = intent.status === 'succeeded' || intent.status === 'processing'
  const status = isFar ? intent.status : null
  return { ...known, ...intent, intent_id: null, status, failure: null, next_url: null, reference }
}
