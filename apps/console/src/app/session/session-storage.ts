import { COOKIE_MAX_AGE_S, CURRENCIES, type Currency, DEVICE_MARK_PATTERN } from '@berth/contract/limits'
import { isCurrency } from '@berth/contract/money'

/** Where the access token is kept; other tabs are told of its changes by this name. */
export const TOKEN_KEY = 'berth.token'
const CURRENCY_KEY = 'berth.currency'
const REFERRAL_KEY = 'berth.referral-code'
const DEVICE_KEY = 'berth.device'
const COOKIES = ['berth_user_id', 'berth_company_id', 'berth_session_id'] as const

/** The access token that is kept on this device, or null (R3.1). */
export function readToken(): string | null {
  try {
    return localStorage.getItem(TOKEN_KEY)
  } catch {
    return null
  }
}

/**
 * Keeps or forgets the access token.
 * @param token The token, or null.
 */
export function writeToken(token: string | null): void {
  try {
    if (token === null) localStorage.removeItem(TOKEN_KEY)
    else localStorage.setItem(TOKEN_KEY, token)
  } catch {
    // Without storage a sign-in lasts until the page is left.
  }
}

/**
 * Sets the three cookies of a session for a year: user id, company id and a session id (R3.1, R9.8).
 * @param user The customer; the seed's user id is the e-mail address and its company id the user's id.
 */
export function writeSessionCookies(user: { id: string; email: string }): void {
  const kept = document.cookie.match(/(?:^|; )berth_session_id=([^;]+)/)?.[1]
  const bytes = crypto.getRandomValues(new Uint8Array(12))
  const fresh = Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
  const values = [encodeURIComponent(user.email), encodeURIComponent(user.id), kept ?? fresh]
  COOKIES.forEach((name, index) => {
    setCookie(name, values[index] ?? '', COOKIE_MAX_AGE_S)
  })
}

/** Removes the cookies of a session. */
export function clearSessionCookies(): void {
  for (const name of COOKIES) setCookie(name, '', 0)
}

/** The referral code that a visit brought along, or null (R2.11). */
export function readReferralCode(): string | null {
  try {
    return localStorage.getItem(REFERRAL_KEY)
  } catch {
    return null
  }
}

/**
 * Keeps a referral code until sign-up (R2.11).
 * @param code Already cut to its length.
 */
export function writeReferralCode(code: string): void {
  try {
    localStorage.setItem(REFERRAL_KEY, code)
  } catch {
    // A code that cannot be kept is lost; nothing else depends on it.
  }
}

/**
 * The mark of this browser: random, made once, and said to nobody but the gateway at a sign-in, which keeps a hash of it. By
 * it nobody refers themselves. Undefined where nothing can be kept.
 */
export function readDeviceMark(): string | undefined {
  try {
    const kept = localStorage.getItem(DEVICE_KEY) ?? ''
    if (DEVICE_MARK_PATTERN.test(kept)) return kept
    const bytes = crypto.getRandomValues(new Uint8Array(16))
    const made = Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
    localStorage.setItem(DEVICE_KEY, made)
    return made
  } catch {
    return undefined
  }
}

/** The currency that this device asks for: the one of a wallet that is opened here, and of prices for guests (R9.3). */
export function readCurrency(): Currency {
  try {
    const kept = localStorage.getItem(CURRENCY_KEY) ?? ''
    return isCurrency(kept) ? kept : CURRENCIES[0]
  } catch {
    return CURRENCIES[0]
  }
}

function setCookie(name: string, value: string, maxAgeS: number): void {
  const secure = location.protocol === 'https:' ? '; Secure' : ''
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing where a page has no TLS.
  document.cookie = `${name}=${value}; Path=/; Max-Age=${maxAgeS}; SameSite=Lax${secure}`
}
