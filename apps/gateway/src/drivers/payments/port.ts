import type { Card } from '@berth/contract/billing'
import type { ErrorCode } from '@berth/contract/errors'
import type { Currency, Language } from '@berth/contract/limits'
import type { PageSources } from '../../platform/http/page-security.ts'

/**
 * The payments port: what Berth needs from whoever moves real (or test) money. A payment is an intent that lives at
 * the platform. It moves by what we ask, by what the customer does there, and by time; the platform tells us by
 * answers, by signed webhooks and by its list of events, each of them any number of times and in any order.
 *
 * Every function that asks the platform throws `PaymentUnavailable` when it did not answer, so that nobody knows
 * what it did: asking again is always safe. `PaymentRefused` ends what was asked for.
 */
export interface PaymentDriver {
  /** Name on the wire, such as `testcard`. */
  readonly name: string
  readonly display_name: string
  /** True when no real money moves. */
  readonly test: boolean
  readonly currencies: readonly Currency[]
  /** Where a card is entered: in our form (`identify` reads it), or on a page of the platform's own. */
  readonly entry: 'card' | 'hosted'
  /**
   * Where `entry` is `hosted`: what a script of the platform's own is opened by in the customer's browser, which enters a
   * card there and gives its name, for `source`. Null or left out where cards are entered at the platform's page alone.
   */
  readonly publishable_key?: string | null
  /** The origins that the script needs, so that the console's policy lets them. */
  readonly pageSources?: PageSources
  /** Whether new payments may begin. Those that have begun come to their end either way. */
  readonly offered: boolean

  /**
   * Reads what a customer entered, without asking the platform: what may be stored of it, and what people know it
   * by. What is refused here is stored nowhere.
   */
  identify(source: string): SourceAnswer

  /**
   * Makes an intent, once for each reference; nothing is charged yet. The same reference gives the same intent. One
   * whose card is entered at the platform's own page is answered `requires_action`, with the page.
   */
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

  /**
   * Keeps a source for later charges without charging it, once for each key; the same card again is the method that there
   * is. A bank may want the customer first: then a visit is open, with the page on which they answer; as is one to the page
   * of a platform whose `entry` is `hosted`, where the card is entered. What is refused at once is thrown.
   */
  saveMethod(request: MethodRequest): Promise<MethodVisit>
  /** What became of a visit; only this says that a card was kept, never the way back. */
  readVisit(visit_id: string): Promise<MethodVisit>
  /** Ends a visit, so that no card is kept by it any more; one that has kept it before is answered as it is. */
  endVisit(visit_id: string): Promise<MethodVisit>
  /** Forgets a saved source; one that is gone already is forgotten too. */
  forgetMethod(method_id: string): Promise<void>

  /**
   * Forgets all that it keeps of a customer whose account is deleted, and who pays no more; one that it does not know is
   * forgotten too. Left out where nothing is kept of customers.
   * @param customer As in `IntentRequest`.
   */
  forgetCustomer?(customer: string): Promise<void>

  /**
   * Checks a webhook's signature over its raw bytes and reads what it tells. Asks nobody.
   * @throws WebhookRefused when the platform did not send it, or not lately.
   * @throws WebhookUnreadable when it did, and what it says makes no sense.
   */
  readWebhook(delivery: WebhookDelivery): PlatformEvent[]
  /** Asks the platform for what an event that is `incomplete` leaves open; any other needs no question. */
  complete?(event: PlatformEvent): Promise<PlatformEvent>
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
  /** Our id of who pays: what is kept for later charges is theirs alone. */
  customer: string
  amount_cents: number
  currency: Currency
  /** The reference that `identify` gave, or the id of a saved method. */
  source: string
  /** Where a page of the platform sends the customer's browser afterwards. */
  return_url: string
  /** The customer wants what is paid with kept for later charges; the answer names it once it is paid. */
  keeps?: boolean
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
  /** True where the customer is not there to be asked: what needs them is refused. */
  off_session?: boolean
}

export interface RefundRequest {
  intent_id: string
  idempotency_key: string
  amount_cents: number
}

export interface MethodRequest {
  idempotency_key: string
  /** As in `IntentRequest`. */
  customer: string
  /** The reference that `identify` gave. */
  source: string
  /** What the customer's wallet is kept in; a page shows it. */
  currency: Currency
  /** As in `IntentRequest`. */
  return_url: string
  /** It was paid with and is kept by that: its bank has nothing to ask any more. */
  was_paid?: boolean
}

/** How far the keeping of a card is. */
export interface MethodVisit {
  /** Null where there is nothing to come back to: it was kept at once. */
  visit_id: string | null
  /** `open` waits for the customer, or for the bank alone; what has `ended` is nobody's any more. */
  status: 'open' | 'saved' | 'refused' | 'ended'
  /** Where the customer goes on, while it waits for them: an address, or a path of this gateway. */
  next_url: string | null
  /** What was kept. */
  method: PlatformMethod | null
  /** Why it was refused. */
  failure: ErrorCode | null
}

/** A card that is kept. @param visit_id The visit by which; null where it was at once. */
export function savedVisit(visit_id: string | null, method: PlatformMethod): MethodVisit {
  return { visit_id, status: 'saved', next_url: null, method, failure: null }
}

/**
 * How long platforms remember what they told. What is older cannot be read again, and is kept by nobody.
 */
export const EVENTS_KEPT_MS = 30 * 24 * 3_600_000

/** What a platform can say about an intent. */
export type IntentStatus = 'created' | 'requires_action' | 'processing' | 'succeeded' | 'failed' | 'canceled'

/** What of a payment has gone back, in sums that never fall. */
export interface SumsBack {
  /** Given back so far, in all. */
  refunded_cents: number
  /** The part of that which did not arrive and came back to us; never more. */
  refunds_failed_cents: number
  /** Taken by the customer's bank because somebody disputes the payment, in all; left out: none. */
  disputed_cents?: number
  /** The part of that which the bank gave back to us; never more. */
  disputes_won_cents?: number
}

export interface PlatformIntent extends SumsBack {
  intent_id: string
  status: IntentStatus
  /** Why it failed. */
  failure: ErrorCode | null
  /** Where the customer goes on while it requires an action: an address, or a path of this gateway. */
  next_url: string | null
  /** What was paid with, where that was chosen at the platform's own page. */
  card?: Card | null
  /** What `saveMethod` takes for what was paid with, where it was to be kept. */
  paid_with?: string | null
  /** The same for the same card, whoever pays with it and however it was entered; null where that is not known. */
  fingerprint?: string | null
}

export interface PlatformEvent extends SumsBack {
  /** Unique at the platform; one that comes again is the same event. */
  event_id: string
  occurred_at: Date
  /** The reference of the intent that it is about; null for what is none of ours. */
  reference: string | null
  /** Null where the platform calls it otherwise than its answers do: then the reference alone names it. */
  intent_id: string | null
  /** Null where the event tells of what went back only. */
  status: IntentStatus | null
  failure: ErrorCode | null
  /** As in `PlatformIntent`. */
  next_url: string | null
  card?: Card | null
  paid_with?: string | null
  fingerprint?: string | null
  /** It says that something moved, and not how far: `complete` asks. */
  incomplete?: true
}

export interface PlatformMethod {
  method_id: string
  brand: string
  last4: string
  expiry_month: number
  expiry_year: number
  /** As in `PlatformIntent`. */
  fingerprint?: string | null
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

/** The platform refused for good: nothing was charged by it, and asking again changes nothing. */
export class PaymentRefused extends Error {
  /** What the customer is told. */
  readonly failure: ErrorCode
  constructor(message: string, failure: ErrorCode, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'PaymentRefused'
    this.failure = failure
  }
}

/** A webhook that the platform did not send. */
export class WebhookRefused extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'WebhookRefused'
  }
}
