import { IDEMPOTENCY_KEY_HEADER } from '@berth/contract/envelope'
import {
  API_KEY_CALLS_PER_MINUTE_MAX,
  type Language,
  MODEL_MEDIA_BODY_BYTES_MAX,
} from '@berth/contract/limits'
import { CALL_HEADER, COST_HEADER } from '@berth/contract/models'
import type { ModelPath } from '../../../drivers/models/port.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { RateCounts } from '../../../platform/http/rate-counts.ts'
import type { RawAnswer, RawRequest, RawRoute } from '../../../platform/http/raw-routes.ts'
import type { ModelCaller } from '../calls/call-book.ts'
import type { ChatReply } from '../calls/chat.ts'
import type { WordsPath } from '../calls/chat-body.ts'
import type { WholeInput } from '../calls/whole-calls.ts'
import type { KeyHolder } from '../known-keys.ts'
import type { Models } from '../models.ts'
import { onceOf } from '../once-calls.ts'
import type { TokenRates } from '../token-rates.ts'
import { JSON_HEADERS, openAiAnswer } from './chat-answer.ts'
import { openAiError } from './openai-errors.ts'
import { videoRoutes } from './video-routes.ts'

/** What one address may try in a minute that is no key. */
const REFUSED_PER_MINUTE = 60
const WINDOW_MS = 60_000
/** Codes of refusals that stay the same, however often a client asks. */
const FINAL_CODES: readonly unknown[] = [
  'insufficient_quota',
  'idempotent_replayed',
  'idempotency_key_reused',
]

/**
 * `/v1`: hosted models by OpenAI's protocol, for any client of it, with an API key (B10). It lies at the root of the
 * console's address, where clients look for it.
 * @param models The domain.
 * @param counts Counts calls.
 * @param tokenRates Count tokens.
 */
export function v1Routes(
  models: Pick<Models, 'apiKeys' | 'chat' | 'creations' | 'desk' | 'list' | 'whole'>,
  counts: Pick<RateCounts, 'shared' | 'exact'>,
  tokenRates: TokenRates,
): RawRoute[] {
  const countCall = counts.shared('v1')
  // A limit that a customer has set holds to the call over all gateways.
  const countLimited = counts.exact('v1 limited')
  const countRefused = counts.exact('v1 refused')

  /** Who calls. Only keys that are none are counted by address: many customers may share one. */
  async function authenticate({
    headers,
    address,
  }: Pick<RawRequest, 'headers' | 'address'>): Promise<KeyHolder> {
    const given = /^Bearer +(\S+)$/i.exec(String(headers.authorization ?? ''))?.[1]
    const holder = given === undefined ? null : await models.apiKeys.authenticate(given)
    if (holder) return holder
    const { current, ttlMs } = await countRefused(address, { max: REFUSED_PER_MINUTE, windowMs: WINDOW_MS })
    if (current > REFUSED_PER_MINUTE) throw tooMany(ttlMs)
    throw new ApiError('api_key_invalid')
  }

  /** Counts a call of a key. @returns What OpenAI's clients are told of it, and whether it is one too many. */
  async function count({ keyId, requestsPerMinute }: KeyHolder) {
    const max = requestsPerMinute ?? API_KEY_CALLS_PER_MINUTE_MAX
    const rule = { max, windowMs: WINDOW_MS }
    const { current, ttlMs } = await (requestsPerMinute === null ? countCall : countLimited)(keyId, rule)
    const told = {
      'x-ratelimit-limit-requests': String(max),
      'x-ratelimit-remaining-requests': String(Math.max(0, max - current)),
      'x-ratelimit-reset-requests': `${Math.max(1, Math.ceil(ttlMs / 1_000))}s`,
    }
    return { told, ttlMs, isOver: current > max }
  }

  /** Answers a holder of a key; what is refused also says how much of its limit is left, and which call it was. */
  const answering =
    (
      path: string,
      answer: (request: RawRequest, caller: ModelCaller & KeyHolder) => Promise<RawAnswer>,
    ): RawRoute['handle'] =>
    async request => {
      const holder = await authenticate(request)
      const { told, ttlMs, isOver } = await count(holder)
      const headers: Record<string, string> = { ...told }
      const onBegun = (callId: string) => Object.assign(headers, callHeaders(callId))
      try {
        if (isOver) throw tooMany(ttlMs)
        const given = request.headers[IDEMPOTENCY_KEY_HEADER.toLowerCase()]
        const once = onceOf(given, { keyId: holder.keyId, path, body: request.body })
        const answered = await answer(request, {
          ...holder,
          once,
          onBegun,
          ...tokenRates.of(holder, headers),
        })
        return { ...answered, headers: { ...answered.headers, ...headers } }
      } catch (error) {
        throw error instanceof ApiError ? new V1Refusal(error, headers) : error
      }
    }

  /** Pictures are read of those alone who have a key. */
  const admitLong: RawRoute['admitLong'] = async head => (await authenticate(head)).userId

  const common = {
    atRoot: true,
    isCounted: false,
    bodyBytesMax: MODEL_MEDIA_BODY_BYTES_MAX,
    refusal,
    admitLong,
  } as const

  const inWords = (path: WordsPath): RawRoute => ({
    ...common,
    methods: ['POST'],
    path: `/v1/${path}`,
    handle: answering(path, async ({ body, signal }, caller) =>
      openAiAnswer(await models.chat.chat(caller, { text: body, path, signal })),
    ),
  })
  const asWhole = (
    path: ModelPath | 'images/edits',
    ask: (caller: ModelCaller, input: WholeInput) => Promise<ChatReply>,
  ): RawRoute => ({
    ...common,
    methods: ['POST'],
    path: `/v1/${path}`,
    handle: answering(path, async ({ body, headers, signal }, caller) =>
      openAiAnswer(await ask(caller, { body, contentType: String(headers['content-type'] ?? ''), signal })),
    ),
  })

  return [
    {
      ...common,
      methods: ['GET'],
      path: '/v1/models',
      handle: answering('models', async (_request, { models: named }) => ({
        status: 200,
        headers: JSON_HEADERS,
        body: JSON.stringify({
          object: 'list',
          data: models
            .list()
            .filter(({ id }) => named === null || named.includes(id))
            .map(({ id, vendor }) => ({ id, object: 'model', created: 0, owned_by: vendor })),
        }),
      })),
    },
    inWords('chat/completions'),
    inWords('completions'),
    asWhole('embeddings', models.whole.embeddings),
    asWhole('images/generations', models.whole.images),
    // Where clients send a picture to be made after.
    asWhole('images/edits', models.whole.images),
    ...videoRoutes(models, { common, answering }),
    {
      ...common,
      methods: ['GET', 'POST', 'DELETE'],
      path: '/v1/*',
      handle: answering('*', () => Promise.reject(new ApiError('not_found'))),
    },
  ]
}

function tooMany(ttlMs: number): ApiError {
  return new ApiError('too_many_requests', { values: { seconds: Math.max(1, Math.ceil(ttlMs / 1_000)) } })
}

/** How a call is found again in the log of calls; OpenAI's clients read the second one. */
function callHeaders(callId: string): Record<string, string> {
  return { [CALL_HEADER]: callId, 'x-request-id': callId }
}

/** A refusal that has headers of its own. */
class V1Refusal extends ApiError {
  readonly headers: Record<string, string>

  constructor(error: ApiError, headers: Record<string, string>) {
    super(error.code, { values: error.values, fields: error.fields, cause: error.cause })
    this.headers = headers
  }
}

/** What is refused, as clients of the protocol read it. */
function refusal(error: ApiError, language: Language): RawAnswer {
  const { status, body } = openAiError(error, language)
  const { seconds, call, cost_micro: costMicro } = error.values
  return {
    status,
    headers: {
      ...JSON_HEADERS,
      ...(error instanceof V1Refusal && error.headers),
      ...(seconds !== undefined && { 'retry-after': String(seconds) }),
      // The call that was answered before.
      ...(call !== undefined && callHeaders(String(call))),
      ...(costMicro !== undefined && { [COST_HEADER]: String(costMicro) }),
      // Clients try a 429 and a 409 again, which is of no use here.
      ...(FINAL_CODES.includes(body.error.code) && { 'x-should-retry': 'false' }),
    },
    body: JSON.stringify(body),
  }
}
