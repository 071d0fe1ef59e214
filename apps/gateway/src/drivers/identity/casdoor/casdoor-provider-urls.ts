import { createHash } from 'node:crypto'
import type { SourceVisit } from '../port.ts'

/** A service as Casdoor's application lists it. */
export interface ListedProvider {
  name: string
  provider: {
    category: string
    type: string
    clientId: string
    scopes: string
    customAuthUrl: string
    enablePkce?: boolean | null | undefined
  } | null
}

/** Where services of a type ask people to sign in, and what is asked for where the provider does not say. */
const KNOWN: Record<string, { endpoint: string; scope: string }> = {
  GitHub: { endpoint: 'https://github.com/login/oauth/authorize', scope: 'user:email read:user' },
  GitLab: { endpoint: 'https://gitlab.com/oauth/authorize', scope: 'read_user profile' },
  Google: { endpoint: 'https://accounts.google.com/o/oauth2/v2/auth', scope: 'profile email' },
}
/** Casdoor has several of them: `Custom`, `Custom2` and so on. */
const CUSTOM = /^Custom/

/** Whether the gateway can send a browser to a service. */
export function canVisit(item: ListedProvider): boolean {
  return endpointOf(item) !== null
}

/** Whether a code of the service is worth nothing without the verifier (PKCE). */
export function wantsVerifier({ provider }: ListedProvider): boolean {
  return provider?.enablePkce === true
}

/**
 * Where the browser goes. The state is the gateway's own, and Casdoor never sees it.
 * @returns Null for a kind of service whose address is not known.
 */
export function providerUrl(item: ListedProvider, visit: SourceVisit): string | null {
  const known = endpointOf(item)
  if (!known || !item.provider) return null
  const url = new URL(known.endpoint)
  const { scopes, clientId } = item.provider
  const query = {
    client_id: clientId,
    redirect_uri: visit.redirectUri,
    // Casdoor's own page joins them by a plus.
    scope: scopes.trim() === '' ? known.scope : scopes.trim().replaceAll('+', ' '),
    response_type: 'code',
    state: visit.state,
    ...(wantsVerifier(item) && {
      code_challenge: createHash('sha256').update(visit.codeVerifier).digest('base64url'),
      code_challenge_method: 'S256',
    }),
  }
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return url.href
}

function endpointOf({ provider }: ListedProvider): { endpoint: string; scope: string } | null {
  if (provider?.category !== 'OAuth') return null
  if (!CUSTOM.test(provider.type)) return KNOWN[provider.type] ?? null
  const { customAuthUrl } = provider
  return URL.canParse(customAuthUrl) ? { endpoint: customAuthUrl, scope: 'openid profile email' } : null
}
