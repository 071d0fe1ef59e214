import { createApiKey, listApiKeys, revokeApiKey } from '@berth/contract/api-keys'
import { type Route, route } from '../../platform/http/handler.ts'
import type { Models } from './models.ts'

/**
 * The calls on models (B10).
 * @param models The domain.
 */
export function modelsRoutes({ apiKeys }: Models): Route[] {
  return [
    route(listApiKeys, async ({ caller }) => apiKeys.list(caller.userId)),
    route(createApiKey, async ({ caller, body }) => apiKeys.create(caller.userId, body)),
    route(revokeApiKey, async ({ caller, params }) => {
      await apiKeys.revoke(caller.userId, params.id)
      return null
    }),
  ]
}
