import type { CaptchaService } from './port.ts'
import { askSiteverify, remoteAddress } from './siteverify.ts'

const SITEVERIFY_URL = 'https://api.hcaptcha.com/siteverify'
/** As hCaptcha asks for: the host names below its own change. */
const ORIGINS = ['https://hcaptcha.com', 'https://*.hcaptcha.com']

/**
 * hCaptcha.
 * @param keys Of the operator's site. The site key goes along, so that a token for another site is refused.
 * @param url Where tokens are judged; only tests pass another.
 */
export function createHcaptcha(
  { siteKey, secret }: { siteKey: string; secret: string },
  url = SITEVERIFY_URL,
): CaptchaService {
  return {
    type: 'hCaptcha',
    siteKey,
    pageSources: { script: ORIGINS, frame: ORIGINS, style: ORIGINS, connect: ORIGINS },
    verify: (token, address) =>
      askSiteverify(url, {
        secret,
        response: token,
        remoteip: remoteAddress(address),
        sitekey: siteKey,
      }),
  }
}
