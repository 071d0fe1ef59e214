import type { Application } from '@berth/contract/account'
import type { Captcha } from '@berth/contract/account-sign-in'
import type { Language } from '@berth/contract/limits'

/**
 * The identity port: a server outside that is the authority of passwords and profiles (R1.8). Sessions, tokens,
 * mails and their links stay the gateway's own. Where no source is set, the identity domain is its own authority.
 *
 * Every method throws ApiError `identity_unavailable` when the server does not answer, or answers what cannot be
 * understood; whether a change was carried out is not known then.
 */
export interface IdentitySource {
  /** Such as `casdoor`; for logs. */
  readonly name: string
  /** What the server calls the organization that customers belong to, and the application that they sign in to. */
  readonly organization: string
  readonly application: string

  /** Looks whether the server is set up as the gateway needs it. @returns What is wrong, for the operator. */
  findProblems(): Promise<string[]>
  /** The application as anybody may see it, without secrets; null where the server has none by that name. */
  describeApplication(): Promise<Application | null>

  /**
   * Looks at a password.
   * @throws ApiError `password_expired`, `account_blocked`, `second_factor_unsupported`, `captcha_required` or
   * `captcha_wrong`.
   */
  signIn(request: SourceSignIn): Promise<SourceSignInAnswer>
  /**
   * Makes an account.
   * @returns Null when the address has one already.
   * @throws ApiError `password_too_weak`, `signup_failed`, `captcha_required` or `captcha_wrong`.
   */
  signUp(request: SourceSignUp): Promise<SourceProfile | null>
  /** Makes a token that `signIn` gave worthless. */
  endToken(token: string): Promise<void>

  /** The account with that lasting id, or null. One that may not sign in (any more) is given, as `blocked`. */
  findById(id: string): Promise<SourceProfile | null>
  /** The account with that address, which is in lower case; or null. */
  findByEmail(email: string): Promise<SourceProfile | null>
  /** Gives an account another display name. */
  rename(profile: SourceProfile, displayName: string): Promise<void>
  /** Writes down that an account's address is its owner's, and forgets wrong passwords if that is asked too. */
  confirmEmail(profile: SourceProfile, options?: { forgiveWrongPasswords?: boolean }): Promise<void>
  /** Sets a password, whatever it was before. */
  setPassword(profile: SourceProfile, change: SourcePasswordChange): Promise<SourcePasswordAnswer>

  /**
   * Where the browser goes to sign in through a service that the source knows.
   * @returns Null for a service that is not there, or of a kind whose address is not known.
   */
  providerUrl(visit: SourceVisit): Promise<string | null>
  /**
   * Signs in by what such a service gave; the first time the source makes an account.
   * @throws ApiError `oauth_failed`, `account_blocked`, `password_expired`, `second_factor_unsupported`.
   */
  signInByProvider(back: SourceVisitReturn): Promise<{ profile: SourceProfile; token: string }>
  /**
   * Links what such a service gave to the account that a token of `signIn` is of.
   * @throws ApiError `oauth_failed`, `oauth_linked_elsewhere`, `login_expired` where the token is over.
   */
  linkProvider(token: string, back: SourceVisitReturn): Promise<void>
  /**
   * Unlinks a service.
   * @throws ApiError `oauth_not_linked`, `oauth_failed` where the source does not allow it, `login_expired`.
   */
  unlinkProvider(
    token: string,
    profile: SourceProfile,
    choice: { type: string; name: string | null },
  ): Promise<void>

  /** Deletes an account. */
  remove(profile: SourceProfile): Promise<void>

  /** Whether signing in by a name from an address asks for a captcha now. */
  needsCaptcha(request: { username: string; address: string }): Promise<boolean>
  /** A new captcha, in the contract's shape. */
  makeCaptcha(address: string): Promise<Captcha>
}

/** An account, as the source has it. */
export interface SourceProfile {
  /** Lasting, where name and address may change. */
  id: string
  /** The organization, and the account's name in it. */
  owner: string
  name: string
  /** In lower case; empty for none. */
  email: string
  emailVerified: boolean
  displayName: string
  avatar: string
  /** Such as `normal-user`. */
  type: string
  createdTime: string
  /** A new password must be chosen before anything else. */
  mustChangePassword: boolean
  hasPassword: boolean
  /** Deleted there, or forbidden to sign in. */
  blocked: boolean
  /** What the source keeps of linked services and the like; nothing secret. */
  properties: Record<string, string>
}

/** The answer to a captcha, as the page sends it. */
export interface CaptchaAnswer {
  type: string
  token: string
  /** Of a captcha that the server drew: its id. */
  secret: string
}

export interface SourceSignIn {
  /** As it was typed. */
  username: string
  password: string
  captcha: CaptchaAnswer | null
  /** Network address of the caller, which the server counts tries by. */
  address: string
  stay: boolean
}

export type SourceSignInAnswer =
  | { outcome: 'right'; profile: SourceProfile; token: string }
  /** `triesLeft` is null where the server does not say; at 0 the account is frozen from now on. */
  | { outcome: 'wrong'; triesLeft: number | null }
  | { outcome: 'frozen'; minutes: number }
  /** Nobody has that name. */
  | { outcome: 'unknown' }

export interface SourceSignUp {
  email: string
  displayName: string
  password: string
  language: Language
  captcha: CaptchaAnswer | null
  address: string
}

/** A visit to another service, as the gateway remembers it. */
export interface SourceVisit {
  /** Name of the service at the source. */
  provider: string
  state: string
  codeVerifier: string
  redirectUri: string
}

/** What the browser brought back from it. */
export interface SourceVisitReturn extends SourceVisit {
  code: string
  address: string
  stay: boolean
}

export interface SourcePasswordChange {
  password: string
  /** What it is until now, for the server to check; null where the account's owner was known another way. */
  oldPassword: string | null
  address: string
}

export type SourcePasswordAnswer =
  | 'changed'
  /** The server's own rules of passwords refuse it. */
  | 'weak'
  /** It is the one until now. */
  | 'same'
  /** The old one is not right. */
  | 'wrong'
  /** There were too many wrong ones. */
  | 'frozen'
