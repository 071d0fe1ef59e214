import { createApiKeys } from './api-keys.ts'

/** The models that customers call, so far with the keys that they call them by. */
export function createModels(deps: Parameters<typeof createApiKeys>[0]) {
  return { apiKeys: createApiKeys(deps) }
}
export type Models = ReturnType<typeof createModels>
