import { ApiError } from '../../../platform/http/api-error.ts'
import type { IdentitySource, SourceVisitReturn } from '../port.ts'
import type { CasdoorApplications } from './casdoor-applications.ts'
import { CASDOOR_TIMEOUT_MS, type CasdoorEnvelope, type CasdoorHttp } from './casdoor-http.ts'
import { type ListedProvider, providerUrl, wantsVerifier } from './casdoor-provider-urls.ts'
import type { CasdoorUsers } from './casdoor-users.ts'

const LINKED_ELSEWHERE = /is already linked to another account/
const NOT_LINKED = /^Please link first/
/** Of the filter that looks at tokens: it is over, unknown, or of somebody who is blocked. */
const TOKEN_OVER = /^Access token |^Please login first$|^The user is forbidden/

interface ProvidersDeps {
  http: CasdoorHttp
  organization: string
  application: string
  applications: Pick<CasdoorApplications, 'findProvider'>
  users: Pick<CasdoorUsers, 'findWhole'>
  /** What a login answered: who it was and the token. */
  readLogin(answer: CasdoorEnvelope): ReturnType<IdentitySource['signInByProvider']>
}

/** Signing in through services that Casdoor knows: it trades the code, and the gateway keeps state and verifier. */
export function createCasdoorProviders(deps: ProvidersDeps) {
  const { http, organization, application, applications } = deps

  async function find(name: string): Promise<ListedProvider> {
    const item = await applications.findProvider(name)
    if (!item) throw failed(`Casdoor's application has no provider ${name} any more`)
    return item
  }

  async function login(back: SourceVisitReturn, token: string | null): Promise<CasdoorEnvelope> {
    const item = await find(back.provider)
    return await http.ask({
      path: 'login',
      json: {
        type: token === null ? 'token' : 'link',
        // Casdoor makes no difference between signing in and up.
        method: token === null ? 'signup' : 'link',
        organization,
        application,
        provider: back.provider,
        code: back.code,
        // What stands here in Casdoor's own page: the name of the application.
        state: application,
        redirectUri: back.redirectUri,
        autoSignin: back.stay,
        ...(wantsVerifier(item) && { codeVerifier: back.codeVerifier }),
      },
      as: token === null ? 'anyone' : { token },
      address: back.address,
      timeoutMs: CASDOOR_TIMEOUT_MS.write,
    })
  }

  return {
    async providerUrl(visit) {
      const item = await applications.findProvider(visit.provider)
      return item && providerUrl(item, visit)
    },

    async signInByProvider(back) {
      return await deps.readLogin(await login(back, null))
    },

    async linkProvider(token, back) {
      const answer = await login(back, token)
      if (answer.status === 'error') throw refusalOf(answer)
      if (answer.data !== true) throw failed('Casdoor did not link a service, and did not say why')
    },

    async unlinkProvider(token, profile, { type, name }) {
      const answer = await http.ask({
        path: 'unlink',
        // Casdoor reads what is linked from the user that it is sent.
        json: {
          providerType: type,
          ...(name !== null && { providerName: name }),
          user: await deps.users.findWhole(profile.id),
        },
        as: { token },
        address: null,
        timeoutMs: CASDOOR_TIMEOUT_MS.write,
      })
      if (answer.status === 'error') throw refusalOf(answer)
    },
  } satisfies Partial<IdentitySource>
}

function refusalOf({ msg }: CasdoorEnvelope): ApiError {
  if (LINKED_ELSEWHERE.test(msg)) return new ApiError('oauth_linked_elsewhere')
  if (NOT_LINKED.test(msg)) return new ApiError('oauth_not_linked')
  // Casdoor's token ends before the gateway's session may: signing in anew gives another.
  if (TOKEN_OVER.test(msg)) return new ApiError('login_expired')
  return failed(`Casdoor said: ${msg}`)
}

function failed(why: string): ApiError {
  return new ApiError('oauth_failed', { cause: new Error(why) })
}
