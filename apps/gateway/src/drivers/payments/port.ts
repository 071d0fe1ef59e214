import type { ErrorCode } from '@berth/contract/errors'
import type { Currency } from '@berth/contract/limits'

/** The payments port: what Berth needs from whoever moves real (or test) money. */
export interface PaymentDriver {
  /** Name on the wire, such as `testcard`. */
  readonly name: string
  readonly display_name: string
  /** True when no real money moves. */
  readonly test: boolean
  readonly currencies: readonly Currency[]

  /**
   * Reads what a customer entered, without asking the platform: what may be stored of it, and what it is called
   * for people. What is refused here is stored nowhere.
   */
  identify(source: string): SourceAnswer

  /**
   * Charges once for each key, however often it is called and however often either side dies in between: the
   * same key gives the first answer again. A refusal is an answer, not an error.
   * @throws PaymentUnavailable when the platform did not answer, so that nobody knows; ask again with the key.
   */
  charge(request: ChargeRequest): Promise<ChargeAnswer>
}

export interface ChargeRequest {
  idempotency_key: string
  amount_cents: number
  currency: Currency
  /** The reference that `identify` gave for what is charged. */
  source: string
}

export type SourceAnswer =
  /** `reference` is safe to keep: it names the source to the platform and is never a card number. */
  { accepted: true; reference: string; label: string } | { accepted: false; failure: ErrorCode }

export type ChargeAnswer =
  | { charged: true; charge_id: string; label: string }
  | { charged: false; failure: ErrorCode; label: string }

/** The platform did not answer: whether it charged is not known yet. */
export class PaymentUnavailable extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'PaymentUnavailable'
  }
}
