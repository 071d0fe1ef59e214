import type { RateClass } from '@berth/contract/call'
import rateLimit, { type FastifyRateLimitStore, type RateLimitOptions } from '@fastify/rate-limit'
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify'
import { ApiError } from './api-error.ts'
import type { CountCall, RateCounts } from './rate-counts.ts'

/** Calls that one network address may make in a minute; 0 means no limit. */
export interface RateLimits {
  general_per_minute: number
  strict_per_minute: Record<StrictClass, number>
}

type StrictClass = Exclude<RateClass, 'general'>

/**
 * General: a console makes some 30 calls a minute, and an office shares an address. Strict: far more than people
 * need, far less than guessing does; single accounts are guarded by the throttle of wrong passwords besides.
 * Captchas are asked for by each e-mail address that is typed and shown by each wrong answer: twice as many.
 */
export const RATE_LIMITS: RateLimits = {
  general_per_minute: 6_000,
  strict_per_minute: { login: 60, signup: 60, mail: 60, captcha: 120, coupon: 20, card: 20 },
}

const WINDOW_MS = 60_000

/** The hook that limits calls of that class; null where nothing does. */
export type LimitOf = (rateClass: RateClass) => onRequestAsyncHookHandler | null

/**
 * Makes the limits of one server: counted by network address, an IPv6 customer's whole network as one. Calls of one
 * class share a count over all gateways: exactly for the strict ones, nearly for the general one.
 */
export async function createRateLimits(
  app: FastifyInstance,
  limits: RateLimits,
  counts: RateCounts,
): Promise<LimitOf> {
  await app.register(rateLimit, {
    global: false,
    store: storeOn(counts),
    timeWindow: WINDOW_MS,
    ipv6Subnet: 64,
    enableDraftSpec: true,
    errorResponseBuilder: (_request, { ttl }) =>
      new ApiError('too_many_requests', { values: { seconds: Math.max(1, Math.ceil(ttl / 1_000)) } }),
  })
  const { general_per_minute, strict_per_minute } = limits
  const limit = (groupId: RateClass, max: number) => app.rateLimit({ groupId, max })
  const hooks: Record<RateClass, onRequestAsyncHookHandler | null> = {
    general: general_per_minute === 0 ? null : limit('general', general_per_minute),
    login: limit('login', strict_per_minute.login),
    signup: limit('signup', strict_per_minute.signup),
    mail: limit('mail', strict_per_minute.mail),
    captcha: limit('captcha', strict_per_minute.captcha),
    coupon: limit('coupon', strict_per_minute.coupon),
    card: limit('card', strict_per_minute.card),
  }
  return rateClass => hooks[rateClass]
}

/** The plugin's kind of store: it is made without a class, and asked for one of each class. */
function storeOn(counts: RateCounts) {
  return class Store implements FastifyRateLimitStore {
    readonly #count: CountCall

    constructor({ groupId = 'general' }: Pick<RateLimitOptions, 'groupId'>) {
      this.#count = groupId === 'general' ? counts.shared(groupId) : counts.exact(groupId)
    }

    incr: FastifyRateLimitStore['incr'] = (key, callback, windowMs, max) => {
      const counted = this.#count(key, { max, windowMs })
      if ('current' in counted) callback(null, { current: counted.current, ttl: counted.ttlMs })
      else counted.then(({ current, ttlMs }) => callback(null, { current, ttl: ttlMs }), callback)
    }

    // The plugin's types speak of a route here; what it passes is the options of the limit.
    child(options: object): Store {
      return new Store(options)
    }
  }
}
