import type { CaptchaService } from './port.ts'
import { askSiteverify, remoteAddress } from './siteverify.ts'

const ORIGIN = 'https://challenges.cloudflare.com'
const SITEVERIFY_URL = `${ORIGIN}/turnstile/v0/siteverify`

/**
 * Cloudflare's Turnstile.
 * @param keys Of the operator's widget.
 * @param url Where tokens are judged; only tests pass another.
 */
export function createTurnstile(
  { siteKey, secret }: { siteKey: string; secret: string },
  url = SITEVERIFY_URL,
): CaptchaService {
  return {
    type: 'Cloudflare Turnstile',
    siteKey,
    pageSources: { script: [ORIGIN], frame: [ORIGIN], style: [], connect: [] },
    verify: (token, address) =>
      askSiteverify(url, { secret, response: token, remoteip: remoteAddress(address) }),
  }
}
