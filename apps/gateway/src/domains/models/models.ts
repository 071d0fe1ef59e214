import { type ApiKeys, createApiKeys } from './api-keys.ts'

/** The models that customers call, so far with the keys that they call them by. */
export interface Models {
  apiKeys: ApiKeys
  /** Removes all that is kept of a customer. */
  forgetUser: ApiKeys['forgetUser']
}

export function createModels(deps: Parameters<typeof createApiKeys>[0]): Models {
  const apiKeys = createApiKeys(deps)
  return { apiKeys, forgetUser: apiKeys.forgetUser }
}
