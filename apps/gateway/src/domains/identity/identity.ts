import { setTimeout } from 'node:timers/promises'
import {
  type Application,
  type Mail,
  type OpenSession,
  ORGANIZATION,
  type User,
} from '@berth/contract/account'
import type { Captcha as ShownCaptcha } from '@berth/contract/account-sign-in'
import type { Language } from '@berth/contract/limits'
import type { Logger } from 'pino'
import type { CaptchaService } from '../../drivers/captcha/port.ts'
import type { IdentitySource } from '../../drivers/identity/port.ts'
import type { Mailbox, MailOutbox } from '../../drivers/mail/port.ts'
import type { IdentityProvider } from '../../drivers/sign-in/port.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import type { OpenDatabase } from '../../platform/database/open-database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import type { Caller } from '../../platform/http/handler.ts'
import type { Ids } from '../../platform/ids.ts'
import type { Secrets } from '../../platform/secrets.ts'
import type { Audit } from '../audit/audit.ts'
import type { Billing } from '../billing/billing.ts'
import type { Notifications } from '../notifications/notifications.ts'
import { createAccessTokens } from './access-token.ts'
import { createAccountDeletion, type Deletion, type Leaver } from './account-deletion.ts'
import { createAccounts, type Rename, type SignUp } from './accounts.ts'
import { type FindAddressee, findByEmail, findRecipient, requireOpen } from './accounts-store.ts'
import { acceptedNames, checkNames, findApplication } from './application.ts'
import { createAttempts } from './attempts.ts'
import { type CaptchaAnswer, createCaptcha } from './captcha.ts'
import { createEmailVerification } from './email-verification.ts'
import { createGuardMails } from './guard-mails.ts'
import { createLinkTokens } from './link-tokens.ts'
import { createLinkedIdentities } from './linked-identities.ts'
import { listProviders } from './listed-providers.ts'
import { createLoginThrottle, LOGIN_ATTEMPTS_KEPT_MS } from './login-throttle.ts'
import { createMailLimits, MAIL_ATTEMPTS_KEPT_MS } from './mail-limits.ts'
import { isLoopback, isLoopbackOrigin } from './network.ts'
import { createPasswordChange, type PasswordChange } from './password-change.ts'
import { createEmbeddedPasswordCheck } from './password-check.ts'
import { createPasswordProof } from './password-proof.ts'
import { createPasswordReset, type PasswordReset } from './password-reset.ts'
import { createPasswords } from './passwords.ts'
import { createProviderSignIn, type ProviderSignIn } from './provider-sign-in.ts'
import { createProviderVisits } from './provider-visits.ts'
import { createSessions } from './sessions.ts'
import { createSignIn, type SignInPlace } from './sign-in.ts'
import { createSignInMethods, type ProviderChoice } from './sign-in-methods.ts'
import { createSourced } from './source/sourced.ts'

export interface Identity {
  /** Makes ready and begins to hear what other replicas say. @returns The way to stop. */
  start(): Promise<() => void>
  /** Says who a token belongs to; null when it is no good. Quick: most often from memory. */
  authenticate(token: string): Promise<Caller | null>

  /** Whether a session is neither over nor ended, for what was opened in its name and stays open. */
  isSessionOpen(sessionId: string): Promise<boolean>
  /** Calls back when sessions may have ended, here or on another replica. @returns The way to stop. */
  watchSessions(onChange: () => void): Promise<() => void>

  /** @throws ApiError `validation_failed` for an id that is none. */
  application(id: string): Promise<Application | null>
  /** @throws ApiError `validation_failed` at a name that is another application's or organization's. */
  checkNames(names: { application: string; organization?: string }): void
  /** Makes an account. @returns `organization/name`. @throws ApiError `email_taken`. */
  signUp(input: SignUp): Promise<string>
  /** @returns An access token. @throws ApiError of the account group. */
  signInByPassword(
    username: string,
    password: string,
    place: SignInPlace,
    answer: CaptchaAnswer,
  ): Promise<string>
  /** Whether signing in by that name from there asks for a captcha now. */
  wantsCaptcha(username: string, address: string): Promise<boolean>
  /** A new captcha of the kind that is set, its question in that language. */
  makeCaptcha(language: Language, address: string): Promise<ShownCaptcha>
  /** @returns An access token. @throws ApiError `sign_in_link_invalid`. */
  signInByLink(secret: string, place: SignInPlace): Promise<string>
  /** Signing in and linking through other services. */
  providers: ProviderSignIn
  /** Unlinks a service from the caller's account. @throws ApiError `oauth_not_linked`, `oauth_last_way_in`. */
  unlink(caller: Caller, choice: ProviderChoice): Promise<void>
  /** Ends a session. @returns `organization/name`. */
  signOut(caller: Caller): Promise<string>
  /** @throws ApiError `user_not_found`. */
  account(caller: Caller): Promise<User>
  /** Changes the caller's own display name. @returns Whether it was another. @throws ApiError `not_found`. */
  rename(input: Rename): Promise<boolean>
  /** The caller's open sessions, the one used last first. */
  listSessions(caller: Caller): Promise<OpenSession[]>
  /** Ends a session of the caller's. @throws ApiError `not_found`. */
  endSession(caller: Caller, sessionId: string): Promise<void>
  /** Ends the caller's other sessions. @returns How many. */
  endOtherSessions(caller: Caller): Promise<number>
  /** Queues the activation mail again. @throws ApiError `verify_mail_wait`. */
  requestVerifyMail(email: string): Promise<void>
  /** Uses an activation link up. @returns The address. @throws ApiError `verify_link_invalid`. */
  verifyEmail(secret: string, place: Pick<SignInPlace, 'address' | 'userAgent'>): Promise<string>
  /** Queues a mail with a link to choose a new password. @throws ApiError `reset_mail_wait`. */
  requestPasswordReset(email: string): Promise<void>
  /** Sets a password by such a link, and ends every session. @throws ApiError `reset_link_expired` and others. */
  resetPassword(input: PasswordReset): Promise<void>
  /** Sets the caller's own password, and ends the other sessions. @throws ApiError `validation_failed` and others. */
  setPassword(input: PasswordChange): Promise<void>
  /** Deletes the caller's account for good. @throws ApiError `account_has_instances` {count} and others. */
  deleteAccount(input: Deletion): Promise<void>
  /** Mails of the local mailbox, newest first, for a caller on this machine. @throws ApiError `not_found`. */
  mails(place: { address: string; origin: string; forwarded: boolean }): Promise<Mail[]>

  /** Where mails of a customer go; null where none are to go: the address is not verified, or the account deleted. */
  recipient(userId: string): Promise<{ email: string; language: Language } | null>
  /**
   * Holds back the deletion of an account until the transaction ends. What is added to an account begins with it;
   * where the wallet is locked too, that comes first.
   * @throws ApiError `login_expired` when it is deleted.
   */
  requireOpen(tx: Transaction, userId: string): Promise<void>

  /** Makes a verified account without a password. @throws ApiError `email_taken`. */
  createVerifiedUser(input: {
    email: string
    displayName: string
    language: Language
  }): Promise<{ userId: string }>
  /** Makes the demo customer with its credit, once. */
  createDemoCustomer(): Promise<{ userId: string; created: boolean }>
  /** Makes a one-time sign-in link. @returns Its secret. */
  createSignInLink(userId: string): Promise<string>
  /** Removes links, sessions and counts that have no use any more; every hour or so is enough. */
  purge(): Promise<void>
}

/**
 * Makes the identity domain (R1.8).
 * @param deps `countInstances` comes from the instances domain; `leavers` are the domains that keep something of
 * customers which goes with their accounts; `mailbox` is null where mails go out by SMTP, and where others than this machine are served; `pause` waits, and is only passed by tests.
 */
export function createIdentity(deps: {
  db: Database
  /** Keeps passwords and profiles where an identity service outside does (R1.8); null: this domain does itself. */
  source?: IdentitySource | null
  listen: OpenDatabase['listen']
  clock: Clock
  ids: Ids
  log: Pick<Logger, 'warn'>
  secrets: Pick<Secrets, 'signingKey'>
  mail: MailOutbox
  mailbox: Mailbox | null
  billing: Pick<Billing, 'openWallet' | 'balanceCents' | 'grantCredit' | 'lockWallet' | 'hasOpenTopup'>
  /** Services that customers may sign in through, as the settings name them. */
  providers: readonly IdentityProvider[]
  notices: Pick<Notifications, 'newSignIn'>
  audit: Pick<Audit, 'note'>
  countInstances(tx: Transaction, userId: string): Promise<number>
  leavers: () => readonly Leaver[]
  /** The kind of captcha: the embedded one, a service, or none. */
  captcha: 'Default' | 'none' | CaptchaService
  publicUrl: () => string
  brandName: () => string
  pause?: (ms: number) => Promise<void>
}): Identity {
  const { db, clock, mailbox, brandName, source = null, providers, pause = setTimeout } = deps
  const tokens = createAccessTokens({ signingKey: deps.secrets.signingKey, clock })
  const sessions = createSessions({ ...deps, tokens })
  const attempts = createAttempts({ clock })
  const limits = createMailLimits({ attempts, clock })
  const links = createLinkTokens(deps)
  const passwords = createPasswords(deps)
  const throttle = createLoginThrottle({ db, clock, attempts })
  const guardMails = createGuardMails(deps)
  const findAddressee: FindAddressee = email => sourced?.findAddressee(email) ?? findByEmail(db, email)
  const verification = createEmailVerification({ ...deps, limits, links, sessions, findAddressee })
  const identities = createLinkedIdentities(deps)
  const methods = createSignInMethods({ ...deps, identities })
  const reset = createPasswordReset({
    ...deps,
    limits,
    links,
    passwords,
    throttle,
    sessions,
    guardMails,
    methods,
    findAddressee,
  })
  const embeddedProof = createPasswordProof({ passwords, throttle, pause })
  const listed = listProviders(providers)
  const accounts = createAccounts({ ...deps, passwords, verification, sessions, tokens, identities, listed })
  const parts = { attempts, throttle, links, sessions, accounts, verification, guardMails, pause }
  const sourced = source ? createSourced({ ...deps, ...parts, source, embeddedProof }) : null
  const proof = sourced?.proof ?? embeddedProof
  const change = createPasswordChange({ db, clock, proof, links, passwords, sessions, guardMails })
  const deletion = createAccountDeletion({ ...deps, proof, sessions, guardMails })
  const checkPassword = sourced?.checkPassword ?? createEmbeddedPasswordCheck({ db, passwords })
  // A source asks for captchas of its own, where it wants some.
  const kind = source ? 'none' : deps.captcha
  const captcha = createCaptcha({ ...deps, kind, signingKey: deps.secrets.signingKey })
  const signIn = createSignIn({ ...deps, checkPassword, throttle, captcha, links, sessions, tokens, pause })
  const names = acceptedNames(source)
  const visits = createProviderVisits(deps)
  const providerSignIn = createProviderSignIn({
    ...deps,
    visits,
    identities,
    methods,
    accounts,
    signIn,
  })
  const sourceProviders = sourced?.providers({ visits, signIn }) ?? null

  return {
    async start() {
      await passwords.prepare()
      if (source) void reportProblems(source, deps.log)
      return await sessions.start()
    },
    authenticate: sessions.authenticate,
    isSessionOpen: sessions.isOpen,
    watchSessions: sessions.watch,
    application: async id =>
      sourced ? await sourced.application(id) : findApplication(id, brandName(), listed),
    checkNames: input => checkNames(input, names),
    signUp: sourced?.signUp ?? accounts.signUp,
    signInByPassword: signIn.byPassword,
    wantsCaptcha: sourced?.wantsCaptcha ?? signIn.wantsCaptcha,
    makeCaptcha: sourced?.makeCaptcha ?? captcha.make,
    signInByLink: signIn.byLink,
    providers: sourceProviders ?? providerSignIn,
    unlink: (caller, choice) =>
      sourceProviders ? sourceProviders.unlink(caller, choice) : methods.unlink(caller.userId, choice),
    async signOut({ userId, sessionId }) {
      await sessions.end(sessionId)
      await sourced?.endToken(sessionId)
      return `${source?.organization ?? ORGANIZATION}/${(await accounts.emailOf(userId)) ?? ''}`
    },
    account: sourced?.account ?? accounts.account,
    rename: sourced?.rename ?? accounts.rename,
    listSessions: sessions.list,
    async endSession({ userId }, sessionId) {
      if (!(await sessions.endOwn(userId, sessionId))) throw new ApiError('not_found')
    },
    endOtherSessions: sessions.endOthers,
    requestVerifyMail: verification.request,
    verifyEmail: sourced?.verifyEmail ?? verification.verify,
    requestPasswordReset: reset.request,
    resetPassword: sourced?.resetPassword ?? reset.reset,
    setPassword: sourced?.changePassword ?? change.change,
    deleteAccount: input => (sourced ? sourced.leave(input, deletion.remove) : deletion.remove(input)),
    async mails({ address, origin, forwarded }) {
      const isHere = !forwarded && isLoopback(address) && isLoopbackOrigin(origin)
      // Mails hold links that sign in: a proxy on this machine must not show them to the world.
      if (!mailbox || !isHere) throw new ApiError('not_found')
      const stored = await mailbox.list()
      return stored.map(({ sentAt, ...mail }) => ({ ...mail, sent_at: sentAt.toISOString() }))
    },
    recipient: userId => findRecipient(db, userId),
    requireOpen,
    createVerifiedUser: accounts.createVerifiedUser,
    createDemoCustomer: accounts.createDemoCustomer,
    createSignInLink: signIn.createLink,
    async purge() {
      await links.purge(db)
      await visits.purge(db)
      await sessions.purge()
      await deletion.sweep()
      await captcha.purge()
      await attempts.purge(db, Math.max(LOGIN_ATTEMPTS_KEPT_MS, MAIL_ATTEMPTS_KEPT_MS))
    },
  }
}

/** Tells the operator early what would keep customers out; the source may come up after the gateway. */
async function reportProblems(source: IdentitySource, log: Pick<Logger, 'warn'>): Promise<void> {
  try {
    for (const problem of await source.findProblems()) log.warn(problem)
  } catch (error) {
    log.warn({ err: error }, 'the identity service does not answer; nobody can sign in until it does')
  }
}
