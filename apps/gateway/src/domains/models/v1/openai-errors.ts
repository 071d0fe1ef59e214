import type { ErrorCode } from '@berth/contract/errors'
import { ERRORS } from '@berth/contract/errors'
import type { Language } from '@berth/contract/limits'
import type { ApiError } from '../../../platform/http/api-error.ts'
import { errorText, ruleText } from '../../../platform/http/error-texts.ts'

/** An error as OpenAI's clients read it. */
export interface OpenAiError {
  error: { message: string; type: string; param: string | null; code: string | null }
}

/** What those clients know some of our codes as, and the status by which they act. */
const KNOWN: Partial<Record<ErrorCode, { status: number; type: string; code: string }>> = {
  api_key_invalid: { status: 401, type: 'invalid_request_error', code: 'invalid_api_key' },
  // As OpenAI says of a project that may not use a model.
  api_key_model: { status: 403, type: 'invalid_request_error', code: 'model_not_found' },
  model_call_repeated: { status: 409, type: 'invalid_request_error', code: 'idempotent_replayed' },
  model_unknown: { status: 404, type: 'invalid_request_error', code: 'model_not_found' },
  // By this they know that trying again is of no use, which a status of its own would not tell them.
  insufficient_balance: { status: 429, type: 'insufficient_quota', code: 'insufficient_quota' },
  account_suspended: { status: 403, type: 'invalid_request_error', code: 'account_deactivated' },
  api_key_spent: { status: 429, type: 'insufficient_quota', code: 'insufficient_quota' },
  budget_reached: { status: 429, type: 'insufficient_quota', code: 'insufficient_quota' },
  too_many_requests: { status: 429, type: 'rate_limit_error', code: 'rate_limit_exceeded' },
}

const SERVER_ERROR = 500

/** Puts an error of ours as OpenAI's clients read it. */
export function openAiError(error: ApiError, language: Language): { status: number; body: OpenAiError } {
  const [field] = error.fields
  const text = errorText(language, error.code, error.values)
  const message = field ? `${text} (${field.path}: ${ruleText(language, field.rule, field.values)})` : text
  const { http } = ERRORS[error.code]
  const known = KNOWN[error.code]
  const type = known?.type ?? (http >= SERVER_ERROR ? 'server_error' : 'invalid_request_error')
  return {
    status: known?.status ?? http,
    body: { error: { message, type, param: field?.path ?? null, code: known?.code ?? error.code } },
  }
}
