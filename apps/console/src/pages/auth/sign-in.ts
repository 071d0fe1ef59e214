import { APPLICATION, login, logout, ORGANIZATION } from '@berth/contract/account'
import { ApiError } from '../../api/api-error.ts'
import { sendChange } from '../../api/change.ts'
import { currentLanguage } from '../../app/i18n.ts'
import { session } from '../../app/session/session.ts'
import { readDeviceMark } from '../../app/session/session-storage.ts'

/** What somebody made of a captcha, in the login call's names. */
export interface CaptchaAnswer {
  captchaType: string
  captchaToken: string
  /** Which one it was; empty for a service's. */
  clientSecret: string
}

/** How one signs in: with a password, or with the secret of a one-time link. */
export type Credentials =
  | ({ signinMethod: 'Password'; username: string; password: string } & Partial<CaptchaAnswer>)
  | { signinMethod: 'Link'; password: string }

/**
 * Signs in and makes the session. The router then leaves the page by itself.
 * @param credentials See Credentials.
 * @throws ApiError, not toasted: the page shows it.
 */
export async function signIn(credentials: Credentials): Promise<void> {
  const body = {
    application: APPLICATION,
    organization: ORGANIZATION,
    type: 'token',
    language: currentLanguage(),
    device: readDeviceMark(),
    ...credentials,
  } as const
  const send = () => sendChange(login, { body }, { silent: true })
  let token: string
  try {
    token = await send()
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'sign_out_first') throw error
    // The identity service still holds another session: end it, and log in again (R8.1).
    await sendChange(logout, {}, { silent: true })
    token = await send()
  }
  await session().signIn(token)
}
