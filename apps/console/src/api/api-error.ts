import type { FieldError } from '@berth/contract/envelope'
import type { ErrorCode } from '@berth/contract/errors'

/** What is known of a call that failed. */
export interface ApiErrorFacts {
  /** Match on this, never on the message. */
  code: ErrorCode
  /** For people, in the language of the interface. */
  message: string
  /** HTTP status; 0 when no answer came. */
  status: number
  /** The fields at fault, when particular ones are. */
  fields?: readonly FieldError[]
  /** Ties what the customer saw to the operator's log; null when no answer came. */
  requestId?: string | null
  /** The call's stable name, such as `bill.topup`. */
  operation: string
}

/** The one shape in which a failed call reaches the console (R8.1). */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: ErrorCode
  readonly status: number
  readonly fields: readonly FieldError[]
  readonly requestId: string | null
  readonly operation: string

  constructor(facts: ApiErrorFacts) {
    super(facts.message)
    this.code = facts.code
    this.status = facts.status
    this.fields = facts.fields ?? []
    this.requestId = facts.requestId ?? null
    this.operation = facts.operation
  }
}

/**
 * Whether an error says that nobody is signed in (any more).
 * @param error Any ApiError. A terminal ticket that ran out is also a 401, and is not meant.
 */
export function isLoginLost(error: ApiError): boolean {
  if (error.code === 'login_required' || error.code === 'login_expired') return true
  return error.status === 401 && error.code !== 'terminal_ticket_invalid'
}

/**
 * Whether an error leaves open whether the call was carried out: no answer, an answer of the gateway that it
 * broke down, or one that is still being made.
 * @param error Any ApiError.
 */
export function isUnsettled(error: ApiError): boolean {
  if (error.code === 'idempotency_in_progress') return true
  // A 2xx or 3xx that is not the gateway's own envelope comes from something in between.
  if (error.code === 'request_failed' && error.status < 400) return true
  return error.status === 0 || error.status === 429 || error.status >= 500
}
