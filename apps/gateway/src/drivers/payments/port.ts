import type { Card } from '@berth/contract/billing'
import type { ErrorCode } from '@berth/contract/errors'
import type { Currency, Language } from '@berth/contract/limits'

/**
 * The payments port: what Berth needs from whoever moves real (or test) money. A payment is an intent that lives at
 * the platform. It moves by what we ask, by what the customer does there, and by time; the platform tells us by
 * answers, by signed webhooks and by its list of events, each of them any number of times and in any order.
 *
 * Every function that asks the platform throws `PaymentUnavailable` when it did not answer, so that nobody knows
 * what it did: asking again is always safe.
 */
export interface PaymentDriver {
  /** Name on the wire, such as `testcard`. */
  readonly name: string
  readonly display_name: string
  /** True when no real money moves. */
  readonly test: boolean
  readonly currencies: readonly Currency[]
  /** Whether new payments may begin. Those that have begun come to their end either way. */
  readonly offered: boolean

  /**
   * Reads what a customer entered, without asking the platform: what may be stored of it, and what people know it
   * by. What is refused here is stored nowhere.
   */
  identify(source: string): SourceAnswer

  /** Makes an intent, once for each reference; nothing is charged yet. The same reference gives the same intent. */
  createIntent(request: IntentRequest): Promise<PlatformIntent>
  /**
   * Charges an intent that is `created`, once. One that has moved on is answered as it is. A refusal is an answer
   * (`failed`), not an error.
   */
  confirm(request: ConfirmRequest): Promise<PlatformIntent>
  /** An intent as it is now. */
  retrieve(intent_id: string): Promise<PlatformIntent>
  /** Ends an intent that waits (`created`, `requires_action`); one that has moved on is answered as it is. */
  cancel(intent_id: string): Promise<PlatformIntent>
  /** Gives back a part of what an intent took, once for each key; never more than it took. */
  refund(request: RefundRequest): Promise<PlatformIntent>

  /** Keeps a source for later charges, once for each key. */
  saveMethod(request: MethodRequest): Promise<PlatformMethod>
  /** Forgets a saved source; one that is gone already is forgotten too. */
  forgetMethod(method_id: string): Promise<void>

  /**
   * Checks a webhook's signature over its raw bytes and reads what it tells. Asks nobody.
   * @throws WebhookRefused when the platform did not send it, or not lately.
   * @throws WebhookUnreadable when it did, and what it says makes no sense.
   */
  readWebhook(delivery: WebhookDelivery): PlatformEvent[]
  /** Everything that the platform would tell by webhook, from that moment on, in pages: what was lost is found here. */
  eventsSince(since: Date): AsyncIterable<PlatformEvent[]>

  /** Only a platform that lives in the gateway has work of its own. */
  readonly embedded?: EmbeddedPlatform
}

/** A platform that is part of this process: it has pages of its own, and somebody must let its time pass. */
export interface EmbeddedPlatform {
  /** Answers a page below `/gateway/pay/<name>/`, where customers confirm. */
  page(request: PageRequest): Promise<PageAnswer>
  /** Forgets what it told longer ago than any platform would remember. */
  prune(): Promise<void>
  /** Begins to let time pass and to send webhooks. */
  start(send: (delivery: WebhookDelivery) => Promise<number>): { stop(): Promise<void> }
}

export interface PageRequest {
  method: 'GET' | 'POST'
  /** What follows `/gateway/pay/<name>/`. */
  token: string
  /** The form that was sent. */
  form: URLSearchParams
  language: Language
}

export interface PageAnswer {
  status: number
  html: string
}

export interface IntentRequest {
  /** The platform's idempotency key, and what its events name the intent by. */
  reference: string
  amount_cents: number
  currency: Currency
  /** The reference that `identify` gave, or the id of a saved method. */
  source: string
}

/** A webhook that the platform did send, and that says nothing that can be understood. */
export class WebhookUnreadable extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'WebhookUnreadable'
  }
}

export interface ConfirmRequest {
  intent_id: string
  /** Where the platform sends the customer's browser afterwards. What it then shows comes from the gateway alone. */
  return_url: string
}

export interface RefundRequest {
  intent_id: string
  idempotency_key: string
  amount_cents: number
}

export interface MethodRequest {
  idempotency_key: string
  /** The reference that `identify` gave. */
  source: string
}

/**
 * How long platforms remember what they told. What is older cannot be read again, and is kept by nobody.
 */
export const EVENTS_KEPT_MS = 30 * 24 * 3_600_000

/** What a platform can say about an intent. */
export type IntentStatus = 'created' | 'requires_action' | 'processing' | 'succeeded' | 'failed' | 'canceled'

export interface PlatformIntent {
  intent_id: string
  status: IntentStatus
  /** Why it failed. */
  failure: ErrorCode | null
  /** Given back so far, in all: it never falls. */
  refunded_cents: number
  /** The part of that which did not arrive and came back to us: it never falls either, and is never more. */
  refunds_failed_cents: number
  /** Where the customer goes on while it requires an action: an address, or a path of this gateway. */
  next_url: string | null
}

export interface PlatformEvent {
  /** Unique at the platform; one that comes again is the same event. */
  event_id: string
  occurred_at: Date
  /** The reference of the intent that it is about; null for what is none of ours. */
  reference: string | null
  intent_id: string
  /** Null where the event tells of a refund only. */
  status: IntentStatus | null
  failure: ErrorCode | null
  /** As in `PlatformIntent`. */
  refunded_cents: number
  refunds_failed_cents: number
  next_url: string | null
}

export interface PlatformMethod {
  method_id: string
  brand: string
  last4: string
  expiry_month: number
  expiry_year: number
}

export interface WebhookDelivery {
  /** As it came: a signature is over bytes, not over what they mean. */
  body: Uint8Array
  headers: Readonly<Record<string, string | string[] | undefined>>
}

export type SourceAnswer =
  /** `reference` is safe to keep: it names the source to the platform and is never a card number. */
  { accepted: true; reference: string; card: Card } | { accepted: false; failure: ErrorCode }

/** The platform did not answer: what it did is not known yet. */
export class PaymentUnavailable extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'PaymentUnavailable'
  }
}

/** A webhook that the platform did not send. */
export class WebhookRefused extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'WebhookRefused'
  }
}
