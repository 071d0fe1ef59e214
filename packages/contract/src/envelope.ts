import type { ErrorCode } from './errors.ts'

/** A rule that one field of the input breaks. `rule` is a key of the `rules` part of the error texts. */
export interface FieldError {
  /** Where, as the input spells it: `name`, `ports.2.port`. */
  path: string
  rule: string
  /** The rule in the customer's language; where the error knows better why a value is not allowed, its own text. */
  msg: string
}

/** What a call that worked answers (R7.8). */
export interface OkEnvelope<Data> {
  status: 'ok'
  msg: string
  data: Data
}

/** What a call that failed answers: match `code`, show `msg` (R7.8). */
export interface ErrorEnvelope {
  status: 'error'
  /** In the language that the caller asked for. */
  msg: string
  code: ErrorCode
  data: null
  /** Present when particular fields are at fault. */
  fields?: FieldError[]
  /** Ties what the customer saw to the operator's log. */
  request_id: string
}

/** The header that every spending call carries (B3): 8 to 200 visible ASCII characters chosen by the caller. */
export const IDEMPOTENCY_KEY_HEADER = 'Idempotency-Key'

/** The header that carries the interface language (R7.7). */
export const LANGUAGE_HEADER = 'Accept-Language'

/** All calls sit under this prefix (R7). */
export const GATEWAY_PREFIX = '/gateway'
