import type { ApiKey } from '@berth/contract/api-keys'

/** Whether a key can be used, and if not, why. */
export type ApiKeyState = 'active' | 'expired' | 'revoked'

/**
 * A key's state at a moment. A key that was revoked stays so, whether its time is over or not.
 * @param key Its ends, as the list gives them.
 * @param now The moment.
 */
export function apiKeyState(key: Pick<ApiKey, 'revoked_at' | 'expires_at'>, now: Date): ApiKeyState {
  if (key.revoked_at !== null) return 'revoked'
  return key.expires_at !== null && new Date(key.expires_at) <= now ? 'expired' : 'active'
}
