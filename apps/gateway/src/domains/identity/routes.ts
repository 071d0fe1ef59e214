import {
  endOtherSessions,
  endSession,
  getAccount,
  getApplication,
  listMailbox,
  listSessions,
  login,
  loginBy,
  logout,
  resetPassword,
  sendResetPasswordEmail,
  sendVerifyEmail,
  signup,
  updateUser,
  verifyEmail,
} from '@berth/contract/account'
import { confirmSignIn, deleteAccount, sendSignInCode, setPassword } from '@berth/contract/account-security'
import { ApiError } from '../../platform/http/api-error.ts'
import { type Route, route } from '../../platform/http/handler.ts'
import { answerIn, captchaRoutes } from './captcha-routes.ts'
import type { Identity } from './identity.ts'
import { checkNewPassword } from './passwords/password-change.ts'
import { providerRoutes, signInByProvider } from './provider-routes.ts'

/**
 * The account calls (R7.1), and the local mailbox.
 * @param identity The domain.
 */
export function identityRoutes(identity: Identity): Route[] {
  return [
    ...applicationRoutes(identity),
    ...signInRoutes(identity),
    ...captchaRoutes(identity),
    ...sessionRoutes(identity),
    ...passwordRoutes(identity),
    ...mailRoutes(identity),
  ]
}

function applicationRoutes(identity: Identity): Route[] {
  return [
    route(getApplication, ({ query }) => identity.application(query.id)),

    route(signup, async ({ body, language, address, userAgent }) => {
      identity.checkNames(body)
      // The address is the login name, so the two cannot differ.
      if (body.username !== body.email) {
        throw new ApiError('validation_failed', { fields: [{ path: 'username', rule: 'not_allowed' }] })
      }
      checkNewPassword(body.password, 'password', { email: body.email, displayName: body.name })
      return await identity.signUp({
        email: body.email,
        displayName: body.name,
        password: body.password,
        language: body.language ?? language,
        referralCode: body.referralCode ?? null,
        currency: body.currency,
        address,
        userAgent,
      })
    }),

    route(getAccount, ({ caller }) => identity.account(caller)),

    route(updateUser, async ({ query, body, caller }) => {
      const changed = await identity.rename({ userId: caller.userId, id: query.id, ...body })
      return changed ? 'Affected' : 'Unaffected'
    }),
  ]
}

function signInRoutes(identity: Identity): Route[] {
  type SignInRequest = Parameters<typeof signInByProvider>[1]

  async function signIn(method: 'password' | 'link' | 'provider', request: SignInRequest): Promise<string> {
    const { body, address, userAgent } = request
    identity.checkNames(body)
    if (method === 'provider') return await signInByProvider(identity, request)
    if (body.password === '') {
      throw new ApiError('validation_failed', { fields: [{ path: 'password', rule: 'required' }] })
    }
    const place = { address, userAgent, stay: body.autoSignin, device: body.device ?? null }
    if (method === 'link') return await identity.signInByLink(body.password, place)
    return await identity.signInByPassword(body.username, body.password, place, answerIn(body))
  }

  return [
    route(login, request => {
      const { signinMethod, username, provider } = request.body
      // As in Casdoor, a name that was typed goes before a provider.
      const byProvider = username === '' && provider !== undefined && provider !== ''
      return signIn(byProvider ? 'provider' : signinMethod === 'Link' ? 'link' : 'password', request)
    }),
    route(loginBy, request => signIn(request.params.method, request)),
    route(logout, async ({ caller }) => (caller ? await identity.signOut(caller) : null)),
    ...providerRoutes(identity),
  ]
}

function sessionRoutes(identity: Identity): Route[] {
  return [
    route(listSessions, ({ caller }) => identity.listSessions(caller)),
    route(endSession, async ({ params, caller }) => {
      await identity.endSession(caller, params.id)
      return null
    }),
    route(endOtherSessions, async ({ caller }) => ({ ended: await identity.endOtherSessions(caller) })),
  ]
}

function passwordRoutes(identity: Identity): Route[] {
  return [
    route(sendResetPasswordEmail, async ({ body }) => {
      identity.checkNames(body)
      await identity.requestPasswordReset(body.email)
      return null
    }),

    route(resetPassword, async ({ body, address, userAgent }) => {
      identity.checkNames(body)
      await identity.resetPassword({ secret: body.token, password: body.password, address, userAgent })
      return null
    }),

    route(setPassword, async ({ body, caller, address }) => {
      await identity.setPassword({ ...body, caller, address })
      return null
    }),

    route(confirmSignIn, async ({ body, caller, address }) => {
      await identity.confirmSignIn({ ...body, caller, address })
      return null
    }),

    route(sendSignInCode, async ({ caller }) => {
      await identity.requestSignInCode(caller)
      return null
    }),

    route(deleteAccount, async ({ body, caller, address }) => {
      await identity.deleteAccount({ ...body, caller, address })
      return null
    }),
  ]
}

function mailRoutes(identity: Identity): Route[] {
  return [
    route(sendVerifyEmail, async ({ body }) => {
      identity.checkNames(body)
      await identity.requestVerifyMail(body.email)
      return null
    }),

    route(verifyEmail, async ({ query, address, userAgent }) => {
      identity.checkNames(query)
      return { email: await identity.verifyEmail(query.token, { address, userAgent }) }
    }),

    route(listMailbox, async request => ({ items: await identity.mails(request) })),
  ]
}
