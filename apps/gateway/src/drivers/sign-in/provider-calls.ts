import type { ProviderAnswer } from './port.ts'

/** How long one request to a service may take: three of them fit into the time that a sign-in has. */
export const PROVIDER_TIMEOUT_S = 4

/** The address that the browser came back to, as the client library reads it. */
export function callbackUrl({ redirectUri, code, state, issuer }: ProviderAnswer): URL {
  const url = new URL(redirectUri)
  url.searchParams.set('code', code)
  url.searchParams.set('state', state)
  if (issuer !== null) url.searchParams.set('iss', issuer)
  return url
}
