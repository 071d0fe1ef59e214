import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientSecretPost,
  Configuration,
  calculatePKCECodeChallenge,
} from 'openid-client'
import * as z from 'zod'
import {
  type IdentityProvider,
  IdentityProviderError,
  type ProviderAnswer,
  type ProviderIdentity,
  type VisitSecrets,
} from './port.ts'
import { callbackUrl, PROVIDER_TIMEOUT_S } from './provider-calls.ts'
import { providerFailure } from './provider-failure.ts'

/** Who they are, and their addresses with the word whether they are verified. */
const SCOPES = 'read:user user:email'
/** The newest version of the API that Enterprise Servers in support know too. */
const API_VERSION = '2022-11-28'

const githubUser = z.object({ id: z.int().positive(), login: z.string(), name: z.string().nullish() })
const githubEmails = z.array(z.object({ email: z.string(), primary: z.boolean(), verified: z.boolean() }))

interface GithubSettings {
  name: string
  displayName: string
  clientId: string
  clientSecret: string
  /** `https://github.com`, or an Enterprise Server's address; without a slash at its end. */
  baseUrl: string
  apiUrl: string
}

/** GitHub, which speaks OAuth 2 without OpenID Connect: who came is asked at its API. */
export function createGithubProvider(settings: GithubSettings): IdentityProvider {
  const { name, displayName, clientId, baseUrl, apiUrl } = settings
  const config = configurationOf(settings)

  async function ask<Answer>(path: string, token: string, schema: z.ZodType<Answer>): Promise<Answer> {
    const response = await fetch(`${apiUrl}${path}`, {
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/vnd.github+json',
        'x-github-api-version': API_VERSION,
        // GitHub refuses requests that do not say who makes them.
        'user-agent': 'berth',
      },
      redirect: 'error',
      signal: AbortSignal.timeout(PROVIDER_TIMEOUT_S * 1_000),
    })
    if (!response.ok) throw new IdentityProviderError(`${name}: ${path} answered ${response.status}`)
    const parsed = schema.safeParse(await response.json())
    if (!parsed.success) throw new IdentityProviderError(`${name}: ${path} answered something unknown`)
    return parsed.data
  }

  return {
    name,
    kind: 'github',
    displayName,
    clientId,
    scopes: SCOPES,

    async authorizationUrl({ state, codeVerifier, redirectUri }: VisitSecrets): Promise<string> {
      const challenge = await calculatePKCECodeChallenge(codeVerifier)
      return buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: SCOPES,
        state,
        code_challenge: challenge,
        code_challenge_method: 'S256',
      }).href
    },

    async identify(answer: ProviderAnswer): Promise<ProviderIdentity> {
      try {
        // GitHub is no OpenID provider: an issuer in the address would have nothing to be compared with.
        const tokens = await authorizationCodeGrant(config, callbackUrl({ ...answer, issuer: null }), {
          expectedState: answer.state,
          pkceCodeVerifier: answer.codeVerifier,
        })
        const [user, emails] = await Promise.all([
          ask('/user', tokens.access_token, githubUser),
          ask('/user/emails', tokens.access_token, githubEmails),
        ])
        const primary = emails.find(email => email.primary)
        return {
          subject: String(user.id),
          username: user.login,
          displayName: user.name?.trim() || user.login,
          email: primary?.email ?? '',
          emailVerified: primary?.verified ?? false,
        }
      } catch (error) {
        throw providerFailure(name, error)
      }
    },
  }

  function configurationOf({ clientSecret }: GithubSettings): Configuration {
    const server = {
      issuer: baseUrl,
      authorization_endpoint: `${baseUrl}/login/oauth/authorize`,
      token_endpoint: `${baseUrl}/login/oauth/access_token`,
    }
    const made = new Configuration(server, clientId, {}, ClientSecretPost(clientSecret))
    made.timeout = PROVIDER_TIMEOUT_S
    if (baseUrl.startsWith('http:')) allowInsecureRequests(made)
    return made
  }
}
