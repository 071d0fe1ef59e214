import { CALL_HEADER, COST_HEADER } from '@berth/contract/models'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { RawAnswer } from '../../../platform/http/raw-routes.ts'
import type { ChatReply } from '../calls/chat.ts'
import { refusalOf } from './openai-errors.ts'

export const JSON_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
} as const
const EVENT_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // A proxy that gathers answers would hold its events back.
  'x-accel-buffering': 'no',
} as const
const REFUSED = 400
const REASON_CHARS_MAX = 500
/** How servers say that there is more than a model has context for, where their code does not. */
const TOO_LONG = /context (?:length|window|size)|maximum context|too many tokens/i

/** What came of a call, as a client of OpenAI's protocol is answered. @throws ApiError `model_call_failed` */
export function openAiAnswer(reply: ChatReply): RawAnswer {
  if (reply.status < REFUSED) return goodAnswer(reply)
  const refusal = refusedBy(reply)
  if (refusal === null) throw new ApiError('model_call_failed')
  const headers = { ...JSON_HEADERS, [CALL_HEADER]: reply.callId, [COST_HEADER]: '0' }
  return { status: reply.status, headers, body: JSON.stringify(refusal) }
}

/**
 * What came of a call, as the console is answered: as it is, and what is refused like any other refusal (R7.8).
 * @throws ApiError `context_length_exceeded`, `model_refused`, `model_call_failed`
 */
export function consoleAnswer(reply: ChatReply): RawAnswer {
  if (reply.status < REFUSED) return goodAnswer(reply)
  const refusal = refusedBy(reply)
  if (refusal === null) throw new ApiError('model_call_failed')
  const { code, message } = refusal.error
  if (code === 'context_length_exceeded' || TOO_LONG.test(message)) {
    throw new ApiError('context_length_exceeded')
  }
  throw new ApiError('model_refused', { values: { reason: message.slice(0, REASON_CHARS_MAX) } })
}

function refusedBy({ body }: ChatReply) {
  return Buffer.isBuffer(body) ? refusalOf(body) : null
}

function goodAnswer({ callId, streamed, costMicro, body }: ChatReply): RawAnswer {
  const headers: Record<string, string> = { [CALL_HEADER]: callId }
  if (streamed) return { status: 200, headers: { ...EVENT_HEADERS, ...headers }, body }
  if (costMicro !== null) headers[COST_HEADER] = String(costMicro)
  return { status: 200, headers: { ...JSON_HEADERS, ...headers }, body }
}
