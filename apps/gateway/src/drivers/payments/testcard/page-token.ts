import { createHmac, timingSafeEqual } from 'node:crypto'

/** An HMAC-SHA-256 as base64url. */
const MAC_CHARS = 43

/**
 * What opens the page on which an intent is confirmed. Whoever has it may confirm, so it is made anew from the key
 * whenever it is told, and kept nowhere.
 * @param key 32 bytes, the same for every replica.
 */
export function pageToken(key: Uint8Array, intentId: string): string {
  return `${intentId}_${macOf(key, intentId).toString('base64url')}`
}

/** The intent that a page's token names; null where the token was not made with the key. */
export function intentIdOfPage(key: Uint8Array, token: string): string | null {
  const intentId = token.slice(0, -MAC_CHARS - 1)
  const mac = Buffer.from(token.slice(-MAC_CHARS), 'base64url')
  const wanted = macOf(key, intentId)
  const isGood = mac.length === wanted.length && timingSafeEqual(mac, wanted)
  return isGood && token === pageToken(key, intentId) ? intentId : null
}

function macOf(key: Uint8Array, intentId: string): Buffer {
  return createHmac('sha256', key).update(intentId).digest()
}
