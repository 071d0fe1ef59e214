import type { Call } from '@berth/contract/call'
import { ERRORS } from '@berth/contract/errors'
import type { Language } from '@berth/contract/limits'
import type { ApiError, ApiFault } from './api-error.ts'
import { errorText, ruleText } from './error-texts.ts'

/** An answer that is ready to be sent. */
export interface Answer {
  httpStatus: number
  /** JSON. */
  text: string
}

export type EnvelopeStyle = Call['envelope']

/**
 * The envelope of a call that worked (R7.8).
 * @param data What the handler gave.
 */
export function okText(call: Call, data: unknown): string {
  const json = JSON.stringify(data) ?? 'null'
  if (call.envelope === 'berth') return `{"status":"ok","msg":"","data":${json}}`
  const { sub, name } = call.operation === 'account.get-account' ? whoseAccount(data) : { sub: '', name: '' }
  return `{"status":"ok","msg":"","sub":${JSON.stringify(sub)},"name":${JSON.stringify(name)},"data":${json},"data2":null,"data3":null}`
}

/** The envelope of a call that failed, in the caller's language (R7.8, R8.1). */
export function errorAnswer(
  error: ApiError,
  style: EnvelopeStyle,
  language: Language,
  requestId: string,
): Answer {
  const msg = errorText(language, error.code, error.values)
  // That a value is not allowed says less than an error that says why it is not.
  const fieldText = ({ rule, values }: ApiFault) =>
    rule === 'not_allowed' && error.code !== 'validation_failed' ? msg : ruleText(language, rule, values)
  const fields = error.fields.map(fault => ({ path: fault.path, rule: fault.rule, msg: fieldText(fault) }))
  const casdoor = style === 'casdoor'
  const envelope = {
    status: 'error',
    msg,
    code: error.code,
    ...(casdoor && { sub: '', name: '' }),
    data: null,
    ...(casdoor && { data2: null, data3: null }),
    ...(fields.length > 0 && { fields }),
    request_id: requestId,
  }
  return { httpStatus: ERRORS[error.code].http || 500, text: JSON.stringify(envelope) }
}

/** Casdoor says whose account it is beside the data, on this one call. */
function whoseAccount(data: unknown): { sub: string; name: string } {
  const { id, name } = (data ?? {}) as Record<string, unknown>
  return { sub: String(id ?? ''), name: String(name ?? '') }
}
