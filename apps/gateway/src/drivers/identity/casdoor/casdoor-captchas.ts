import * as z from 'zod'
import type { IdentitySource } from '../port.ts'
import { CASDOOR_TIMEOUT_MS, type CasdoorHttp } from './casdoor-http.ts'
import { notUnderstood } from './casdoor-refusals.ts'

const text = z.string().default('')
const casdoorCaptcha = z.object({
  type: z.string(),
  subType: text,
  captchaId: text,
  captchaImage: text,
  clientId: text,
})

interface CaptchaDeps {
  http: CasdoorHttp
  organization: string
  application: string
}

/** Casdoor's own captchas: when one is asked for, and a new one. */
export function createCasdoorCaptchas(
  deps: CaptchaDeps,
): Pick<IdentitySource, 'needsCaptcha' | 'makeCaptcha'> {
  const { http, organization, application } = deps
  return {
    async needsCaptcha({ username, address }) {
      const answer = await http.ask({
        path: 'get-captcha-status',
        // Before 2024 the name was another one; an unknown one is ignored.
        query: { organization, application, userId: username, user_id: username },
        as: 'anyone',
        address,
        timeoutMs: CASDOOR_TIMEOUT_MS.read,
      })
      if (typeof answer.data !== 'boolean') throw notUnderstood(answer, 'whether a captcha is needed')
      return answer.data
    },

    async makeCaptcha(address) {
      const answer = await http.ask({
        path: 'get-captcha',
        query: { applicationId: `admin/${application}`, isCurrentProvider: 'false' },
        as: 'anyone',
        address,
        timeoutMs: CASDOOR_TIMEOUT_MS.read,
      })
      const captcha = casdoorCaptcha.safeParse(answer.data)
      if (!captcha.success) throw notUnderstood(answer, 'a captcha')
      // Its pictures have no words to go with them.
      return { ...captcha.data, captchaQuestion: '' }
    },
  }
}
