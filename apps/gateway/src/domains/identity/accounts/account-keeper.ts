import type { User } from '@berth/contract/account'
import type { Captcha as ShownCaptcha } from '@berth/contract/account-sign-in'
import type { Language } from '@berth/contract/limits'
import type { Caller } from '../../../platform/http/handler.ts'
import type { Captcha } from '../captcha/captcha.ts'
import type { PreparePasswordReset } from '../links/password-reset.ts'
import type { PreparePasswordChange } from '../passwords/password-change.ts'
import type { CheckPassword } from '../passwords/password-check.ts'
import type { PasswordProof } from '../passwords/password-proof.ts'
import type { ProviderSignIn } from '../sign-in/provider-sign-in.ts'
import type { ProviderVisits } from '../sign-in/provider-visits.ts'
import type { SignIn, SignInPlace } from '../sign-in/sign-in.ts'
import type { ProviderChoice } from '../sign-in/sign-in-methods.ts'
import type { Deletion } from './account-deletion.ts'
import type { Rename, SignUp } from './accounts.ts'
import type { FindAddressee } from './accounts-store.ts'
import type { KeptApplication } from './application.ts'

/**
 * Who keeps the accounts (R1.8): this domain itself (`embedded/`), or an identity source outside (`source/`). What
 * depends on it stands here, and both answer it alike; everything else of the domain is the same for both. A password is
 * checked and set in two steps: first the keeper looks at it, and an outside one sets it; then it writes in the
 * transaction of the domain. Decision 0029 says why.
 */
export interface AccountKeeper {
  readonly application: KeptApplication
  /** Looks at a password that somebody signs in with. */
  readonly checkPassword: CheckPassword
  /** Looks at a password that somebody was asked for who is signed in. */
  readonly proof: PasswordProof
  readonly preparePasswordChange: PreparePasswordChange
  readonly preparePasswordReset: PreparePasswordReset
  /** Whose address it is, when a mail goes out. */
  readonly findAddressee: FindAddressee
  /** Makes the calls that need those parts of the domain which need a keeper themselves. */
  calls(parts: KeeperParts): KeptCalls
}

interface KeeperParts {
  visits: ProviderVisits
  signIn: SignIn
  captcha: Pick<Captcha, 'make'>
  /** Deletes an account here. */
  remove(input: Deletion): Promise<void>
  /** The same for the operator. */
  erase(userId: string): Promise<void>
}

/** Calls that each keeper answers in its own way. */
interface KeptCalls {
  /** Ends what the keeper itself knows of a session; one that is away keeps nobody signed in. */
  endToken(sessionId: string): Promise<void>
  /** Makes an account, or tells the owner of the address that there is one. @returns `organization/email` either way. */
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
  /** Deletes the caller's account for good. @throws ApiError `account_has_instances` {count} and others. */
  deleteAccount(input: Deletion): Promise<void>
  /** Deletes an account because the operator wants it. @throws ApiError as `deleteAccount` for what is in the way. */
  eraseAccount(userId: string): Promise<void>
}
