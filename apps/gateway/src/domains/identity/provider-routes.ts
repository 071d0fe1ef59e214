import type { login } from '@berth/contract/account'
import { beginProviderSignIn, link, unlink } from '@berth/contract/account-sign-in'
import { ApiError } from '../../platform/http/api-error.ts'
import { type CallRequest, type Route, route } from '../../platform/http/handler.ts'
import type { Identity } from './identity.ts'

/** The calls that send somebody to another service and link or unlink it; signing in by it is a login. */
export function providerRoutes(identity: Identity): Route[] {
  const { providers, unlink: unlinkService } = identity
  return [
    route(beginProviderSignIn, async ({ body, caller, origin }) => {
      identity.checkNames(body)
      return await providers.begin({ ...body, caller, origin })
    }),

    route(link, async ({ body, caller }) => {
      identity.checkNames(body)
      return await providers.link({ ...body, issuer: body.iss ?? null }, caller)
    }),

    route(unlink, async ({ body, caller }) => {
      // Casdoor's administrators name others here; nobody does that in ours.
      if (body.user && body.user.id !== caller.userId) throw new ApiError('not_found')
      await unlinkService(caller, { type: body.providerType, name: body.providerName ?? null })
      return null
    }),
  ]
}

type LoginRequest = Pick<CallRequest<typeof login>, 'language' | 'address' | 'userAgent'> & {
  body: Omit<CallRequest<typeof login>['body'], 'signinMethod'>
}

/**
 * Signs in by what another service gave.
 * @returns An access token.
 * @throws ApiError `validation_failed` where a part is missing, and those of `ProviderSignIn.signIn`.
 */
export async function signInByProvider(identity: Identity, request: LoginRequest): Promise<string> {
  const { body, address, userAgent, language } = request
  const { provider = '', code = '', state = '', browserKey = '' } = body
  const missing = Object.entries({ provider, code, state, browserKey }).filter(([, value]) => value === '')
  if (missing.length > 0) {
    throw new ApiError('validation_failed', {
      fields: missing.map(([path]) => ({ path, rule: 'required' })),
    })
  }
  const { redirectUri = '', iss: issuer = null, method = null } = body
  return await identity.providers.signIn(
    { provider, code, state, browserKey, redirectUri, issuer, method },
    { address, userAgent, stay: body.autoSignin, device: body.device ?? null },
    {
      language: body.language ?? language,
      referralCode: body.referralCode ?? null,
      currency: body.currency,
    },
  )
}
