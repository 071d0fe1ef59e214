import type { CaptchaKind } from '@berth/contract/account-sign-in'
import type { PageSources } from '../../platform/http/page-security.ts'

/** A captcha that another service shows and judges. The one that the gateway draws itself needs no driver. */
export interface CaptchaService {
  /** Casdoor's name of it. */
  readonly type: Exclude<CaptchaKind, 'none' | 'Default'>
  /** What the page shows it by; public. */
  readonly siteKey: string
  /** Origins that the sign-in page must be allowed to load from. */
  readonly pageSources: PageSources
  /**
   * Asks the service whether somebody solved the captcha; a token is good once.
   * @param token What the service gave to the page.
   * @param address Network address of who sends it.
   * @throws CaptchaServiceFailed when the service did not judge it.
   */
  verify(token: string, address: string): Promise<boolean>
}

/** The service did not answer in time, broke down, or does not know the keys that are set. */
export class CaptchaServiceFailed extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CaptchaServiceFailed'
  }
}
