import { CALL_HEADER, COST_HEADER } from '@berth/contract/models'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { RawAnswer } from '../../../platform/http/raw-routes.ts'
import type { ChatReply } from '../calls/chat.ts'
import { readRefusal } from './upstream-refusal.ts'

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

/** What came of a call, as a client of OpenAI's protocol is answered. @throws ApiError `model_call_failed` */
export function openAiAnswer(reply: ChatReply): RawAnswer {
  if (reply.status < REFUSED) return goodAnswer(reply)
  const refusal = refusedBy(reply)
  if (refusal === null) throw new ApiError('model_call_failed')
  const headers = { ...JSON_HEADERS, [CALL_HEADER]: reply.callId, [COST_HEADER]: '0' }
  return { status: reply.status, headers, body: JSON.stringify({ error: refusal.error }) }
}

/**
 * What came of a call, as the console is answered: as it is, and what is refused like any other refusal (R7.8).
 * @throws ApiError `context_length_over`, `context_length_exceeded`, `model_refused`, `model_call_failed`
 */
export function consoleAnswer(reply: ChatReply): RawAnswer {
  if (reply.status < REFUSED) return goodAnswer(reply)
  const refusal = refusedBy(reply)
  if (refusal === null) throw new ApiError('model_call_failed')
  const { tooLong, error } = refusal
  if (tooLong?.numbers) {
    const { limit, asked } = tooLong.numbers
    throw new ApiError('context_length_over', { values: { limit, asked, over: asked - limit } })
  }
  if (tooLong) throw new ApiError('context_length_exceeded')
  throw new ApiError('model_refused', { values: { reason: error.message } })
}

function refusedBy({ body }: ChatReply) {
  return Buffer.isBuffer(body) ? readRefusal(body) : null
}

function goodAnswer({ callId, streamed, costMicro, body }: ChatReply): RawAnswer {
  const headers: Record<string, string> = { [CALL_HEADER]: callId }
  if (streamed) return { status: 200, headers: { ...EVENT_HEADERS, ...headers }, body }
  if (costMicro !== null) headers[COST_HEADER] = String(costMicro)
  return { status: 200, headers: { ...JSON_HEADERS, ...headers }, body }
}
