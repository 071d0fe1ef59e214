import type { Application, User } from '@berth/contract/account'
import type { Captcha as ShownCaptcha } from '@berth/contract/account-sign-in'
import type { Language } from '@berth/contract/limits'
import type { Caller } from '../../../platform/http/handler.ts'
import type { PasswordReset } from '../links/password-reset.ts'
import type { PasswordChange } from '../passwords/password-change.ts'
import type { ProviderSignIn } from '../sign-in/provider-sign-in.ts'
import type { SignInPlace } from '../sign-in/sign-in.ts'
import type { ProviderChoice } from '../sign-in/sign-in-methods.ts'
import type { Deletion } from './account-deletion.ts'
import type { Rename, SignUp } from './accounts.ts'

/**
 * What depends on who keeps the accounts (R1.8): this domain itself, or an identity source outside. Both answer it
 * alike; everything else of the domain (sessions, links, mails, limits) is the same for both.
 */
export interface AccountKeeper {
  /** What the organization is called that customers belong to. */
  readonly organization: string
  /** Ends what the keeper itself knows of a session; one that is away keeps nobody signed in. */
  endToken(sessionId: string): Promise<void>
  /** @throws ApiError `validation_failed` for an id that is none. */
  application(id: string): Promise<Application | null>
  /** Makes an account. @returns `organization/name`. @throws ApiError `email_taken`. */
  signUp(input: SignUp): Promise<string>
  /** Whether signing in by that name from there asks for a captcha now. */
  wantsCaptcha(username: string, address: string): Promise<boolean>
  /** A new captcha of the kind that is set, its question in that language. */
  makeCaptcha(language: Language, address: string): Promise<ShownCaptcha>
  /** Signing in and linking through other services. */
  providers: ProviderSignIn
  /** Unlinks a service from the caller's account. @throws ApiError `oauth_not_linked`, `oauth_last_way_in`. */
  unlink(caller: Caller, choice: ProviderChoice): Promise<void>
  /** @throws ApiError `user_not_found`. */
  account(caller: Caller): Promise<User>
  /** Changes the caller's own display name. @returns Whether it was another. @throws ApiError `not_found`. */
  rename(input: Rename): Promise<boolean>
  /** Uses an activation link up. @returns The address. @throws ApiError `verify_link_invalid`. */
  verifyEmail(secret: string, place: Pick<SignInPlace, 'address' | 'userAgent'>): Promise<string>
  /** Sets a password by such a link, and ends every session. @throws ApiError `reset_link_expired` and others. */
  resetPassword(input: PasswordReset): Promise<void>
  /** Sets the caller's own password, and ends the other sessions. @throws ApiError `validation_failed` and others. */
  setPassword(input: PasswordChange): Promise<void>
  /** Deletes the caller's account for good. @throws ApiError `account_has_instances` {count} and others. */
  deleteAccount(input: Deletion): Promise<void>
}
