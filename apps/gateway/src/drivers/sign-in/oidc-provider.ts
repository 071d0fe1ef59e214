import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  calculatePKCECodeChallenge,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
} from 'openid-client'
import type { Clock } from '../../platform/clock.ts'
import {
  type IdentityProvider,
  IdentityProviderError,
  type ProviderAnswer,
  type ProviderIdentity,
  type VisitSecrets,
} from './port.ts'
import { callbackUrl, PROVIDER_TIMEOUT_S } from './provider-calls.ts'
import { providerFailure } from './provider-failure.ts'

/** What a service says of itself changes rarely; a new place of its keys is found by then. */
const DISCOVERY_KEPT_MS = 3_600_000

interface OidcSettings {
  name: string
  displayName: string
  issuer: string
  clientId: string
  clientSecret: string
  scopes: string
}

type Claims = Readonly<Record<string, unknown>>

/**
 * Any service that speaks OpenID Connect: found by its issuer, asked with the authorization code flow and PKCE. The
 * service is looked up when somebody first goes there, and again after a failure, so that one that is down holds up
 * nothing but its own button.
 */
export function createOidcProvider(settings: OidcSettings, { clock }: { clock: Clock }): IdentityProvider {
  const { name, displayName, clientId, scopes } = settings
  const configuration = keepFor(DISCOVERY_KEPT_MS, clock, () => discover(settings))

  return {
    name,
    kind: 'oidc',
    displayName,
    clientId,
    scopes,

    async authorizationUrl({ state, nonce, codeVerifier, redirectUri }: VisitSecrets): Promise<string> {
      try {
        const challenge = await calculatePKCECodeChallenge(codeVerifier)
        const url = buildAuthorizationUrl(await configuration(), {
          redirect_uri: redirectUri,
          scope: scopes,
          state,
          nonce,
          code_challenge: challenge,
          code_challenge_method: 'S256',
        })
        return url.href
      } catch (error) {
        throw providerFailure(name, error)
      }
    },

    async identify(answer: ProviderAnswer): Promise<ProviderIdentity> {
      try {
        const config = await configuration()
        const tokens = await authorizationCodeGrant(config, callbackUrl(answer), {
          expectedState: answer.state,
          expectedNonce: answer.nonce,
          pkceCodeVerifier: answer.codeVerifier,
          idTokenExpected: true,
        })
        const claims = tokens.claims()
        if (!claims) throw new IdentityProviderError(`${name}: there was no ID token`)
        const said = await claimsWithEmail(config, tokens.access_token, claims)
        return identityOf(claims.sub, said)
      } catch (error) {
        throw providerFailure(name, error)
      }
    },
  }
}

async function discover({ issuer, clientId, clientSecret }: OidcSettings): Promise<Configuration> {
  const checks = [
    // The ID token came over TLS from the service itself; its signature is looked at all the same.
    enableNonRepudiationChecks,
    ...(issuer.startsWith('http:') ? [allowInsecureRequests] : []),
  ]
  const server = new URL(issuer)
  return await discovery(server, clientId, {}, secretAuth(clientSecret), {
    timeout: PROVIDER_TIMEOUT_S,
    execute: checks,
  })
}

/** The secret goes in the header, which every service takes by default, unless this one says that it does not. */
function secretAuth(clientSecret: string): ClientAuth {
  const basic = ClientSecretBasic(clientSecret)
  const post = ClientSecretPost(clientSecret)
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    return (methods.includes('client_secret_basic') ? basic : post)(server, ...rest)
  }
}

/** Many services put no more than the subject into the ID token; the rest is at another address. */
async function claimsWithEmail(config: Configuration, accessToken: string, claims: Claims): Promise<Claims> {
  if (claims.email !== undefined || !config.serverMetadata().userinfo_endpoint) return claims
  // Either all or nothing: an address of one answer is not proven by another.
  return await fetchUserInfo(config, accessToken, String(claims.sub))
}

function identityOf(subject: string, claims: Claims): ProviderIdentity {
  const username = textOf(claims.preferred_username) || textOf(claims.nickname)
  return {
    subject,
    username,
    displayName: textOf(claims.name) || textOf(claims.given_name) || username,
    email: textOf(claims.email),
    // Some services say "true" or 1, or nothing at all: only what the standard says is proof.
    emailVerified: claims.email_verified === true,
  }
}

function textOf(claim: unknown): string {
  return typeof claim === 'string' ? claim.trim() : ''
}

/** Makes something once for a while, for all who ask at the same time; what failed is made anew. */
function keepFor<T>(keptMs: number, clock: Clock, make: () => Promise<T>): () => Promise<T> {
  let kept: { value: Promise<T>; until: number } | null = null
  return async () => {
    const now = clock.now().getTime()
    if (kept && now < kept.until) return await kept.value
    const mine = { value: make(), until: now + keptMs }
    kept = mine
    try {
      return await mine.value
    } catch (error) {
      if (kept === mine) kept = null
      throw error
    }
  }
}
