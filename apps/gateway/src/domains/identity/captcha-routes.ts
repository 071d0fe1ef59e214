import { getCaptcha, getCaptchaStatus } from '@berth/contract/account-sign-in'
import { ApiError } from '../../platform/http/api-error.ts'
import { type Route, route } from '../../platform/http/handler.ts'
import type { CaptchaAnswer } from './captcha/captcha.ts'
import type { Identity } from './identity.ts'

/**
 * Whether a captcha is asked for, and a new one.
 * @param identity The domain.
 */
export function captchaRoutes(
  identity: Pick<Identity, 'application' | 'checkNames' | 'wantsCaptcha' | 'makeCaptcha'>,
): Route[] {
  return [
    route(getCaptchaStatus, async ({ query, address }) => {
      identity.checkNames(query)
      return await identity.wantsCaptcha(query.userId, address)
    }),

    route(getCaptcha, async ({ query, language, address }) => {
      if (!(await identity.application(query.applicationId))) {
        throw new ApiError('validation_failed', { fields: [{ path: 'applicationId', rule: 'not_allowed' }] })
      }
      return await identity.makeCaptcha(language, address)
    }),
  ]
}

interface LoginFields {
  captchaType?: string | undefined
  captchaToken?: string | undefined
  clientSecret?: string | undefined
}

/**
 * The answer to a captcha among the fields of a login, which have Casdoor's names.
 * @param body What was sent.
 */
export function answerIn({ captchaType, captchaToken, clientSecret }: LoginFields): CaptchaAnswer {
  return { type: captchaType ?? '', token: captchaToken ?? '', captchaId: clientSecret ?? '' }
}
