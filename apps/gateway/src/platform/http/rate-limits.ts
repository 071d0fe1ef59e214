import rateLimit from '@fastify/rate-limit'
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify'
import { ApiError } from './api-error.ts'

/** Calls that one network address may make in a minute; 0 means no limit. */
export interface RateLimits {
  general_per_minute: number
  strict_per_minute: Record<StrictClass, number>
}

type StrictClass = 'login' | 'signup' | 'mail' | 'captcha'

/**
 * General: a console makes some 30 calls a minute, and an office shares an address. Strict: far more than people
 * need, far less than guessing does; single accounts are guarded by the throttle of wrong passwords besides.
 * Captchas are asked for by each e-mail address that is typed and shown by each wrong answer: twice as many.
 */
export const RATE_LIMITS: RateLimits = {
  general_per_minute: 6_000,
  strict_per_minute: { login: 60, signup: 60, mail: 60, captcha: 120 },
}

const STRICT: Record<string, StrictClass> = {
  'account.login': 'login',
  'account.login-by': 'login',
  'account.signup': 'signup',
  'account.send-verify-email': 'mail',
  'account.verify-email': 'mail',
  'account.send-reset-password-email': 'mail',
  'account.reset-password': 'login',
  'account.set-password': 'login',
  'account.delete-account': 'login',
  'account.begin-provider-sign-in': 'login',
  'account.link': 'login',
  'account.unlink': 'login',
  'account.get-captcha-status': 'captcha',
  'account.get-captcha': 'captcha',
}

const WINDOW_MS = 60_000
/** Addresses that are counted at once; the least recent go first. */
const ADDRESSES_MAX = 20_000

/** The hook that limits a call of that name; null where nothing does. */
export type LimitOf = (operation: string) => onRequestAsyncHookHandler | null

/**
 * Makes the limits of one server: counted by network address, an IPv6 customer's whole network as one. Calls of one
 * class share a count.
 */
export async function createRateLimits(app: FastifyInstance, limits: RateLimits): Promise<LimitOf> {
  await app.register(rateLimit, {
    global: false,
    cache: ADDRESSES_MAX,
    timeWindow: WINDOW_MS,
    ipv6Subnet: 64,
    enableDraftSpec: true,
    errorResponseBuilder: (_request, { ttl }) =>
      new ApiError('too_many_requests', { values: { seconds: Math.max(1, Math.ceil(ttl / 1_000)) } }),
  })
  const { general_per_minute, strict_per_minute } = limits
  const general = general_per_minute === 0 ? null : app.rateLimit({ max: general_per_minute })
  const strict = {
    login: app.rateLimit({ max: strict_per_minute.login }),
    signup: app.rateLimit({ max: strict_per_minute.signup }),
    mail: app.rateLimit({ max: strict_per_minute.mail }),
    captcha: app.rateLimit({ max: strict_per_minute.captcha }),
  }
  return operation => {
    const strictClass = STRICT[operation]
    return strictClass ? strict[strictClass] : general
  }
}
