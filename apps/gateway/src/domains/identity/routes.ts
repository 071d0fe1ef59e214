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
import { ApiError } from '../../platform/http/api-error.ts'
import { type Route, route } from '../../platform/http/handler.ts'
import { checkNames } from './application.ts'
import { answerIn, captchaRoutes } from './captcha-routes.ts'
import type { Identity } from './identity.ts'

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
    route(getApplication, async ({ query }) => identity.application(query.id)),

    route(signup, async ({ body, language }) => {
      checkNames(body)
      // The address is the login name, so the two cannot differ.
      if (body.username !== body.email) {
        throw new ApiError('validation_failed', { fields: [{ path: 'username', rule: 'not_allowed' }] })
      }
      return await identity.signUp({
        email: body.email,
        displayName: body.name,
        password: body.password,
        language: body.language ?? language,
        referralCode: body.referralCode ?? null,
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
  interface SignInRequest {
    body: {
      application: string
      organization: string
      username: string
      password: string
      autoSignin: boolean
      captchaType?: string | undefined
      captchaToken?: string | undefined
      clientSecret?: string | undefined
    }
    address: string
    userAgent: string
  }

  async function signIn(method: 'password' | 'link' | 'provider', request: SignInRequest): Promise<string> {
    const { body, address, userAgent } = request
    checkNames(body)
    if (method === 'provider') throw new ApiError('unknown_sign_in_method')
    if (body.password === '') {
      throw new ApiError('validation_failed', { fields: [{ path: 'password', rule: 'required' }] })
    }
    const place = { address, userAgent, stay: body.autoSignin }
    if (method === 'link') return await identity.signInByLink(body.password, place)
    return await identity.signInByPassword(body.username, body.password, place, answerIn(body))
  }

  return [
    route(login, request => signIn(request.body.signinMethod === 'Link' ? 'link' : 'password', request)),
    route(loginBy, request => signIn(request.params.method, request)),
    route(logout, async ({ caller }) => (caller ? await identity.signOut(caller) : null)),
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
      checkNames(body)
      await identity.requestPasswordReset(body.email)
      return null
    }),

    route(resetPassword, async ({ body, address }) => {
      checkNames(body)
      await identity.resetPassword({ secret: body.token, password: body.password, address })
      return null
    }),
  ]
}

function mailRoutes(identity: Identity): Route[] {
  return [
    route(sendVerifyEmail, async ({ body }) => {
      checkNames(body)
      await identity.requestVerifyMail(body.email)
      return null
    }),

    route(verifyEmail, async ({ query }) => {
      checkNames(query)
      return { email: await identity.verifyEmail(query.token) }
    }),

    route(listMailbox, async request => ({ items: await identity.mails(request) })),
  ]
}
