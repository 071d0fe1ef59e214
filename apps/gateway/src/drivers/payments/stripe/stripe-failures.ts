import type { ErrorCode } from '@berth/contract/errors'

/** What Stripe says of a charge that it refused; both may be missing. */
export interface StripeFailure {
  code?: string | null | undefined
  decline_code?: string | null | undefined
}

/**
 * What Stripe's codes are to customers. What it takes for fraud is said as any other decline, as Stripe asks for: whoever
 * tries stolen cards learns nothing.
 */
const FAILURES: Readonly<Record<string, ErrorCode>> = {
  card_declined: 'card_declined',
  insufficient_funds: 'card_insufficient_funds',
  balance_insufficient: 'card_insufficient_funds',
  withdrawal_count_limit_exceeded: 'card_insufficient_funds',
  card_velocity_exceeded: 'card_insufficient_funds',
  lost_card: 'card_lost',
  stolen_card: 'card_stolen',
  expired_card: 'card_expired',
  invalid_expiry_month: 'card_expired',
  invalid_expiry_year: 'card_expired',
  incorrect_cvc: 'card_incorrect_cvc',
  invalid_cvc: 'card_incorrect_cvc',
  processing_error: 'card_processing_error',
  issuer_not_available: 'card_processing_error',
  try_again_later: 'card_processing_error',
  reenter_transaction: 'card_processing_error',
  authentication_required: 'card_authentication_required',
  authentication_not_handled: 'card_authentication_required',
  payment_intent_authentication_failure: 'payment_not_confirmed',
  setup_intent_authentication_failure: 'payment_not_confirmed',
}

/**
 * Why a charge failed, in our words: what the bank says goes first, then what Stripe makes of it.
 * @returns `payment_failed` where neither is known, `card_declined` where the bank gave another reason.
 */
export function failureOf({ code, decline_code }: StripeFailure): ErrorCode {
  const said = FAILURES[decline_code ?? ''] ?? FAILURES[code ?? '']
  if (said) return said
  return decline_code ? 'card_declined' : 'payment_failed'
}
