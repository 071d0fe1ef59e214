import type { Currency } from '@berth/contract/limits'

/**
 * The payouts port: who pays money to customers. Functions that ask the platform throw `PayoutUnavailable` when it did not
 * answer, so that nobody knows what it did: asking again with the same key is safe for `keyKeptMs`.
 */
export interface PayoutDriver {
  /** `paypal` or `by-hand`. */
  readonly name: string
  /** True when no real money moves by itself. */
  readonly test: boolean
  /** An operator pays, from a file, and says so: the driver is asked nothing. */
  readonly byHand: boolean
  /** So long after the first try the platform pays once for a key; later nobody may ask it again. */
  readonly keyKeptMs: number
  /**
   * Has an amount paid, once for each key.
   * @returns What the platform calls it.
   * @throws PayoutRefused where it pays nothing, and PayoutDoubtful where it has the key already and does not say what became of it.
   */
  pay(request: PayoutRequest): Promise<{ batch_id: string }>
  /** What became of it. */
  read(batch_id: string): Promise<PayoutAnswer>
}

export interface PayoutRequest {
  /** The same for every try. */
  key: string
  /** The account that it goes to. */
  email: string
  cents: number
  currency: Currency
  /** What whoever gets it reads of it. */
  note: string
}

/** Why money did not arrive: the account does not take it, it is none, or something else. */
export type PayoutFailure = 'account_refused' | 'account_unknown' | 'not_accepted' | 'other'

export type PayoutAnswer =
  /** Not decided: an account that is not there yet may still take it. */
  { status: 'pending' } | { status: 'paid' } | { status: 'failed'; failure: PayoutFailure }

/** Nobody knows what the platform did; the same again is safe. */
export class PayoutUnavailable extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'PayoutUnavailable'
  }
}

/** The platform has paid nothing and never will by this key. */
export class PayoutRefused extends Error {
  readonly failure: PayoutFailure
  constructor(message: string, failure: PayoutFailure, options?: ErrorOptions) {
    super(message, options)
    this.name = 'PayoutRefused'
    this.failure = failure
  }
}

/** The platform has the key, and what became of it cannot be asked: an operator looks there. */
export class PayoutDoubtful extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'PayoutDoubtful'
  }
}
