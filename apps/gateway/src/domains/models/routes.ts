import { createApiKey, editApiKey, listApiKeys, revokeApiKey } from '@berth/contract/api-keys'
import { listModelDays, listModelFigures } from '@berth/contract/model-figures'
import { getCallBody, getModelKeeping, setModelKeeping } from '@berth/contract/model-keeping'
import { chat as chatCall, generateImage, listModels } from '@berth/contract/models'
import { downloadSessionLog, listSessionLog } from '@berth/contract/session-log'
import type { Say } from '../../platform/config/catalogue-words.ts'
import { type Route, route } from '../../platform/http/handler.ts'
import { creationRoutes } from './creations/creation-routes.ts'
import type { Models } from './models.ts'
import type { TokenRates } from './token-rates.ts'
import { consoleAnswer } from './v1/chat-answer.ts'

/**
 * The calls on models, and on what customers have called (R1.5).
 * @param models The domain.
 * @param say Says the catalogue's texts in the caller's language.
 * @param tokenRates Count tokens.
 */
export function modelsRoutes(
  {
    chat,
    list,
    figures,
    days,
    log,
    whole,
    creations,
    desk,
    keeping,
  }: Pick<Models, 'chat' | 'list' | 'figures' | 'days' | 'log' | 'whole' | 'creations' | 'desk' | 'keeping'>,
  say: Say,
  tokenRates: TokenRates,
): Route[] {
  /** Who calls by a session. */
  const callerOf = (userId: string) => {
    const caller = { userId, keyId: null, tokensPerMinute: null }
    return { ...caller, ...tokenRates.of(caller) }
  }
  return [
    route(listModels, async ({ language }) =>
      list().map(one => ({
        ...one,
        name: say(one.name, language),
        description: say(one.description, language),
      })),
    ),
    route(chatCall, async ({ caller: { userId }, body, signal }) =>
      consoleAnswer(await chat.chat(callerOf(userId), { text: body, signal, tellsCost: true })),
    ),
    route(generateImage, async ({ caller: { userId }, body, contentType, signal }) => {
      const asked = { body, contentType, signal }
      // The console shows what comes, wherever a server would have kept it.
      const fields = { response_format: 'b64_json' }
      return consoleAnswer(await whole.images(callerOf(userId), asked, fields))
    }),
    route(listModelFigures, figures.list),
    route(listModelDays, ({ query }) => days.list(query.model)),
    route(getModelKeeping, ({ caller }) => keeping.get(caller.userId)),
    route(setModelKeeping, ({ caller, body }) => keeping.set(caller.userId, body.days)),
    route(getCallBody, async ({ caller, params }) => {
      const { question, answer, isCut, deletedAt } = await keeping.read(caller.userId, params.id)
      return { question, answer, cut: isCut, deleted_at: deletedAt.toISOString() }
    }),
    route(listSessionLog, ({ caller, query, language }) =>
      log.page(caller.userId, query, english => say(english, language)),
    ),
    route(downloadSessionLog, ({ caller, query, language }) =>
      log.file(caller.userId, query, { language, say: english => say(english, language) }),
    ),
    ...creationRoutes(creations, { desk, say }),
  ]
}

/** The calls on the keys that models are called by (B10). */
export function apiKeysRoutes(apiKeys: Models['apiKeys']): Route[] {
  return [
    route(listApiKeys, async ({ caller }) => apiKeys.list(caller.userId)),
    route(createApiKey, async ({ caller, body }) => apiKeys.create(caller.userId, body)),
    route(editApiKey, async ({ caller, params, body }) => apiKeys.edit(caller.userId, params.id, body)),
    route(revokeApiKey, async ({ caller, params }) => {
      await apiKeys.revoke(caller.userId, params.id)
      return null
    }),
  ]
}
