import type { Database, Transaction } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Audit } from '../../audit/audit.ts'
import { type Account, findById } from '../accounts/accounts-store.ts'
import type { Captcha, CaptchaAnswer } from '../captcha/captcha.ts'
import type { LinkTokens } from '../links/link-tokens.ts'
import type { CheckPassword } from '../passwords/password-check.ts'
import type { AccessTokens, TokenSubject } from '../sessions/access-token.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { type LoginThrottle, SLOWED_LOGIN_WAIT_MS } from '../throttles/login-throttle.ts'

/** How long a printed sign-in link works: somebody may start the product today and look at it tomorrow. */
const SIGN_IN_LINK_MS = 24 * 3_600_000

/** From where somebody signs in, and whether to stay signed in. */
export interface SignInPlace {
  address: string
  userAgent: string
  stay: boolean
  /** The mark that the browser keeps of itself; null or left out where it says none. */
  device?: string | null
}

interface SignInDeps {
  db: Database
  checkPassword: CheckPassword
  throttle: LoginThrottle
  captcha: Pick<Captcha, 'isAsked' | 'check'>
  links: LinkTokens
  sessions: Pick<Sessions, 'open'>
  tokens: Pick<AccessTokens, 'issue'>
  audit: Pick<Audit, 'note'>
  /** Waits; tests pass one that only notes how long. */
  pause: (ms: number) => Promise<void>
}

/** Ways to sign in; each answers an access token. */
export function createSignIn(deps: SignInDeps) {
  const { db, throttle, captcha, links, sessions, tokens, audit } = deps

  /**
   * Opens a session for somebody who is known to be that customer; sign its token after the transaction.
   * @throws ApiError `password_expired`.
   */
  async function open(tx: Transaction, user: Account, place: SignInPlace): Promise<TokenSubject> {
    if (user.needUpdatePassword) throw new ApiError('password_expired')
    return await sessions.open(tx, { userId: user.id, ...place })
  }

  /** What comes after the transaction that opened the session: the audit log's entry. @returns The access token. */
  async function welcome(subject: TokenSubject, { address, userAgent }: SignInPlace): Promise<string> {
    const { userId, sessionId } = subject
    audit.note({ userId, sessionId, actor: 'customer', action: 'account.login', address, userAgent })
    return await tokens.issue(subject)
  }

  /** Notes a wrong password for an account that there is; the throttle bounds how many there are. */
  function noteFailed(user: Account | null, { code }: ApiError, { address, userAgent }: SignInPlace): void {
    if (!user) return
    const action = 'account.login-failed'
    audit.note({ userId: user.id, actor: 'customer', action, refused: code, address, userAgent })
  }

  return {
    open,
    welcome,

    /**
     * By e-mail address and password. A name that nobody has takes the same steps, the same time and the same
     * answers as a wrong password.
     * @throws ApiError `login_tries_left`, `login_frozen`, `too_many_requests`, `password_expired`, those of the
     * captcha, or `login_failed` when the password was changed meanwhile.
     */
    async byPassword(
      username: string,
      password: string,
      place: SignInPlace,
      answer: CaptchaAnswer,
    ): Promise<string> {
      const email = username.trim().toLowerCase()
      const admitted = await throttle.admit(email, place.address)
      // Before anything is known of the password, so that no answer to a captcha tells of it.
      if (captcha.isAsked && admitted.captcha) await captcha.check(answer, place.address)
      if (admitted.slowed) await deps.pause(SLOWED_LOGIN_WAIT_MS)
      const check = await deps.checkPassword({ email, password, place, answer })
      if (!check.isRight) {
        const refusal = check.refusal(await throttle.refuse(email, place.address, admitted))
        noteFailed(check.user, refusal, place)
        throw refusal
      }
      const subject = await db.transaction(async tx => {
        await throttle.accept(tx, email, place.address)
        const opened = await open(tx, await check.confirm(tx), place)
        await check.keep?.(tx, opened.sessionId)
        return opened
      })
      check.done?.(subject.userId)
      return await welcome(subject, place)
    },

    /** Whether signing in by that name from there asks for a captcha now; the same for names that nobody has. */
    async wantsCaptcha(username: string, address: string): Promise<boolean> {
      return captcha.isAsked && (await throttle.wantsCaptcha(username.trim().toLowerCase(), address))
    },

    /**
     * By a one-time sign-in link.
     * @throws ApiError `sign_in_link_invalid`.
     */
    async byLink(secret: string, place: SignInPlace): Promise<string> {
      const subject = await db.transaction(async tx => {
        const link = await links.use(tx, 'sign_in', secret)
        const user = link && (await findById(tx, link.userId))
        if (!user || user.email !== link.email) throw new ApiError('sign_in_link_invalid')
        return await sessions.open(tx, { userId: user.id, ...place })
      })
      return await welcome(subject, place)
    },

    /**
     * Makes a one-time sign-in link for somebody who is known to be that customer.
     * @returns The secret; the login call takes it as the password with the method `Link`.
     */
    async createLink(userId: string): Promise<string> {
      const user = await findById(db, userId)
      if (!user || user.deletedAt) throw new ApiError('user_not_found')
      const { id, email } = user
      const secret = await links.make(db, { purpose: 'sign_in', userId: id, email, lifeMs: SIGN_IN_LINK_MS })
      audit.note({ userId: id, actor: 'operator', action: 'account.create-sign-in-link' })
      return secret
    },
  }
}
export type SignIn = ReturnType<typeof createSignIn>
