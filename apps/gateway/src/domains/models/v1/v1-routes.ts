import { type Language, MODEL_BODY_BYTES_MAX } from '@berth/contract/limits'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { RateCounts } from '../../../platform/http/rate-counts.ts'
import type { RawAnswer, RawRequest, RawRoute } from '../../../platform/http/raw-routes.ts'
import type { ModelCaller } from '../calls/call-book.ts'
import type { Models } from '../models.ts'
import { JSON_HEADERS, openAiAnswer } from './chat-answer.ts'
import { openAiError } from './openai-errors.ts'

/** What one key may call in a minute, and what one address may try that is no key. */
const CALLS_PER_MINUTE = 3_000
const REFUSED_PER_MINUTE = 60
const WINDOW_MS = 60_000

/**
 * `/v1`: hosted models by OpenAI's protocol, for any client of it, with an API key (B10). It lies at the root of the
 * console's address, where clients look for it.
 * @param models The domain.
 */
export function v1Routes(
  models: Pick<Models, 'apiKeys' | 'chat' | 'list'>,
  counts: Pick<RateCounts, 'shared' | 'exact'>,
): RawRoute[] {
  const countCall = counts.shared('v1')
  const countRefused = counts.exact('v1 refused')

  /** Who calls. Only keys that are none are counted by address: many customers may share one. */
  async function authenticate({ headers, address }: RawRequest): Promise<ModelCaller> {
    const given = /^Bearer +(\S+)$/i.exec(String(headers.authorization ?? ''))?.[1]
    const holder = given === undefined ? null : await models.apiKeys.authenticate(given)
    if (holder) return holder
    const { current, ttlMs } = await countRefused(address, { max: REFUSED_PER_MINUTE, windowMs: WINDOW_MS })
    if (current > REFUSED_PER_MINUTE) throw tooMany(ttlMs)
    throw new ApiError('api_key_invalid')
  }

  /** Counts a call of a key. @returns What OpenAI's clients are told of it. */
  async function count({ keyId }: ModelCaller): Promise<Record<string, string>> {
    const { current, ttlMs } = await countCall(keyId ?? '', { max: CALLS_PER_MINUTE, windowMs: WINDOW_MS })
    if (current > CALLS_PER_MINUTE) throw tooMany(ttlMs)
    return {
      'x-ratelimit-limit-requests': String(CALLS_PER_MINUTE),
      'x-ratelimit-remaining-requests': String(CALLS_PER_MINUTE - current),
      'x-ratelimit-reset-requests': `${Math.ceil(ttlMs / 1_000)}s`,
    }
  }

  const answering =
    (answer: (request: RawRequest, caller: ModelCaller) => Promise<RawAnswer>): RawRoute['handle'] =>
    async request => {
      const caller = await authenticate(request)
      const limits = await count(caller)
      const { headers, ...rest } = await answer(request, caller)
      return { ...rest, headers: { ...headers, ...limits } }
    }

  const common = { atRoot: true, isCounted: false, bodyBytesMax: MODEL_BODY_BYTES_MAX, refusal } as const
  return [
    {
      ...common,
      methods: ['GET'],
      path: '/v1/models',
      handle: answering(async () => ({
        status: 200,
        headers: JSON_HEADERS,
        body: JSON.stringify({
          object: 'list',
          data: models
            .list()
            .map(({ id, vendor }) => ({ id, object: 'model', created: 0, owned_by: vendor })),
        }),
      })),
    },
    {
      ...common,
      methods: ['POST'],
      path: '/v1/chat/completions',
      handle: answering(async ({ body, signal }, caller) =>
        openAiAnswer(await models.chat.chat(caller, { text: body, signal })),
      ),
    },
    {
      ...common,
      methods: ['GET', 'POST'],
      path: '/v1/*',
      handle: answering(() => Promise.reject(new ApiError('not_found'))),
    },
  ]
}

function tooMany(ttlMs: number): ApiError {
  return new ApiError('too_many_requests', { values: { seconds: Math.max(1, Math.ceil(ttlMs / 1_000)) } })
}

/** What is refused, as clients of the protocol read it. */
function refusal(error: ApiError, language: Language): RawAnswer {
  const { status, body } = openAiError(error, language)
  const { seconds } = error.values
  const retry = seconds === undefined ? {} : { 'retry-after': String(seconds) }
  return { status, headers: { ...JSON_HEADERS, ...retry }, body: JSON.stringify(body) }
}
