import type { Captcha as ShownCaptcha } from '@berth/contract/account-sign-in'
import type { Language } from '@berth/contract/limits'
import type { Logger } from 'pino'
import type { CaptchaService } from '../../../drivers/captcha/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Ids } from '../../../platform/ids.ts'
import { createDrawnCaptcha } from './drawn-captcha.ts'

/** What a sign-in sends to show that a person is there; empty texts where nothing was sent. */
export interface CaptchaAnswer {
  /** Casdoor's name of the kind. */
  type: string
  /** What was read or answered, or what the service gave. */
  token: string
  /** Which one was answered; empty for a service's. */
  captchaId: string
}

interface CaptchaDeps {
  db: Database
  clock: Clock
  ids: Ids
  log: Pick<Logger, 'warn'>
  rootKey: Uint8Array
  kind: 'Default' | 'none' | CaptchaService
}

/** The keys of Casdoor's answer that say nothing here. */
const UNUSED = { owner: 'admin', name: 'captcha', subType: '', appKey: '', scene: '', clientId2: '' }
const EMPTY = { captchaId: '', captchaImage: '', captchaQuestion: '', clientId: '' }

/** The captcha of the kind that the operator chose. */
export function createCaptcha({ kind, log, ...deps }: CaptchaDeps) {
  const drawn = createDrawnCaptcha(deps)
  const service = typeof kind === 'string' ? null : kind
  const type = service?.type ?? (kind as string)

  async function isRight(answer: CaptchaAnswer, address: string): Promise<boolean> {
    if (!service) return await drawn.use(answer.captchaId, answer.token)
    try {
      return await service.verify(answer.token, address)
    } catch (cause) {
      // Nobody gets past it while it is down: else taking it down would be the way around it.
      log.warn({ err: cause, service: type }, 'the captcha service did not judge an answer')
      throw new ApiError('captcha_unavailable', { cause })
    }
  }

  return {
    /** Whether there is a captcha at all. */
    isAsked: kind !== 'none',

    /** A new one, in Casdoor's shape; the embedded kind's question is in that language. */
    async make(language: Language): Promise<ShownCaptcha> {
      const common = { ...UNUSED, ...EMPTY, type, clientSecret: '', clientSecret2: '' }
      if (service) return { ...common, clientId: service.siteKey, clientSecret: '***' }
      return kind === 'none' ? common : { ...common, ...(await drawn.make(language)) }
    },

    /**
     * Looks at an answer, which is used up by that.
     * @throws ApiError `captcha_required` when there is none, `captcha_wrong`, or `captcha_unavailable`.
     */
    async check(answer: CaptchaAnswer, address: string): Promise<void> {
      const isGiven = answer.token.trim() !== '' && (service !== null || answer.captchaId !== '')
      if (!isGiven) throw new ApiError('captcha_required')
      const isOurs = answer.type === '' || answer.type === type
      if (!isOurs || !(await isRight(answer, address))) throw new ApiError('captcha_wrong')
    },

    purge: drawn.purge,
  }
}
export type Captcha = ReturnType<typeof createCaptcha>
