import { ApiError } from '../../../platform/http/api-error.ts'
import type { SourcePasswordAnswer, SourceSignInAnswer } from '../port.ts'
import type { CasdoorEnvelope } from './casdoor-http.ts'

/** What Casdoor says of a request in place of its data, with status `ok`. */
const INSTEAD_OF_A_TOKEN = {
  RequiredUpdatePassword: 'password_expired',
  NextMfa: 'second_factor_unsupported',
  RequiredMfa: 'second_factor_unsupported',
} as const

/** Messages of refused sign-ins, which have no codes; in English, as they are asked for. */
const TRIES_LEFT = /^password or code is incorrect, you have (-?\d+) remaining chances/
const FROZEN = /^You have entered the wrong password or code too many times, please wait for (\d+) minutes/
/** With `enableErrorMask`, and with `enableErrorMask2`; the former also where a captcha takes the place of a count. */
const WRONG = /^(password or code is incorrect|Error)$/
const UNKNOWN = /^The user: .+ doesn't exist/
const EXPIRED = /^Your password has expired/
/** Of somebody who may not sign in at all. */
export const BLOCKED =
  /^(The user is forbidden to sign in|The user has been deleted|Guest users must upgrade)/
const CAPTCHA_MISSING = /^(invalid captcha provider: $|Missing parameter: captchaT)/i
const CAPTCHA_WRONG = /^(Turing test failed|invalid captcha provider)/i
const CREDENTIALS = /^(Please login first|Unauthorized operation)$/
const WEAK = /^(The password must|New password cannot contain blank space|Password cannot be empty)/
const SAME = /^The new password must be different/
/** The last three are what databases say where two sign-ups pass the check at once. */
const TAKEN =
  /^(Email already exists|Username already exists)|UNIQUE constraint failed|Duplicate entry|duplicate key/i

/**
 * What a sign-in came to that gave no token.
 * @param answer Of the login call.
 * @throws ApiError for what is neither a wrong password nor a wrong name.
 */
export function readSignInRefusal(answer: CasdoorEnvelope): SourceSignInAnswer {
  const { msg } = answer
  if (answer.status === 'ok') throw new ApiError(reasonInData(answer.data))
  const tries = TRIES_LEFT.exec(msg)
  if (tries) return { outcome: 'wrong', triesLeft: Math.max(0, Number(tries[1])) }
  const frozen = FROZEN.exec(msg)
  if (frozen) return { outcome: 'frozen', minutes: Math.max(1, Number(frozen[1])) }
  if (WRONG.test(msg)) return { outcome: 'wrong', triesLeft: null }
  if (UNKNOWN.test(msg)) return { outcome: 'unknown' }
  if (EXPIRED.test(msg)) throw new ApiError('password_expired')
  if (BLOCKED.test(msg)) throw new ApiError('account_blocked')
  throwIfCaptcha(msg)
  throw notUnderstood(answer, 'a sign-in')
}

/**
 * Says why a sign-up was refused.
 * @returns When it was because name or address are taken.
 * @throws ApiError `password_too_weak`, `signup_failed`, `captcha_required` or `captcha_wrong`.
 */
export function readSignUpRefusal({ msg }: CasdoorEnvelope): 'taken' {
  if (TAKEN.test(msg)) return 'taken'
  if (WEAK.test(msg)) throw weakPassword()
  throwIfCaptcha(msg)
  throw new ApiError('signup_failed', { cause: new Error(`Casdoor refused a sign-up: ${msg}`) })
}

/** What setting a password came to. @throws ApiError `identity_unavailable`. */
export function readPasswordAnswer(answer: CasdoorEnvelope): SourcePasswordAnswer {
  const { status, msg } = answer
  if (status === 'ok') return 'changed'
  if (WEAK.test(msg)) return 'weak'
  if (SAME.test(msg)) return 'same'
  if (FROZEN.test(msg)) return 'frozen'
  if (TRIES_LEFT.test(msg) || WRONG.test(msg)) return 'wrong'
  throw notUnderstood(answer, 'a new password')
}

/** A password that Casdoor's organization does not take, although the gateway's own rules do. */
function weakPassword(): ApiError {
  return new ApiError('password_too_weak', { fields: [{ path: 'password', rule: 'password' }] })
}

/**
 * An answer that should not have been: most often of a server that is not set up for the gateway.
 * @param what Was asked, for the log.
 */
export function notUnderstood({ status, msg }: CasdoorEnvelope, what: string): ApiError {
  const said = status === 'ok' ? 'an answer of an unknown kind' : `“${msg}”`
  const hint = CREDENTIALS.test(msg) ? ': look at CASDOOR_CLIENT_ID and CASDOOR_CLIENT_SECRET' : ''
  return new ApiError('identity_unavailable', {
    cause: new Error(`Casdoor answered ${what} with ${said}${hint}`),
  })
}

function reasonInData(data: unknown) {
  const known = Object.entries(INSTEAD_OF_A_TOKEN).find(([constant]) => constant === data)
  // What is left are choices of a paid plan, which this product has no page for.
  return known?.[1] ?? 'login_failed'
}

function throwIfCaptcha(msg: string): void {
  if (CAPTCHA_MISSING.test(msg)) throw new ApiError('captcha_required')
  if (CAPTCHA_WRONG.test(msg)) throw new ApiError('captcha_wrong')
}
