import type { FieldError } from '@berth/contract/envelope'
import type { ErrorCode } from '@berth/contract/errors'

/** Fills the `{{…}}` of an error's text. */
export type ErrorValues = Record<string, string | number>

/** A field and the rule that it breaks, with what fills the `{{…}}` of the rule's text. */
export type ApiFault = Omit<FieldError, 'msg'> & { values?: ErrorValues }

/**
 * The one error that reaches a caller on purpose. The text is made from `code` in the caller's language;
 * `cause` is for the log alone.
 */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly values: ErrorValues
  readonly fields: ApiFault[]

  constructor(code: ErrorCode, options: { values?: ErrorValues; fields?: ApiFault[]; cause?: unknown } = {}) {
    super(code, 'cause' in options ? { cause: options.cause } : undefined)
    this.name = 'ApiError'
    this.code = code
    this.values = options.values ?? {}
    this.fields = options.fields ?? []
  }
}
