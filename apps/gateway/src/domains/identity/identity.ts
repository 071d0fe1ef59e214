import { setTimeout } from 'node:timers/promises'
import { type Mail, mail } from '@berth/contract/account'
import type { Logger } from 'pino'
import type { CaptchaService } from '../../drivers/captcha/port.ts'
import type { IdentitySource } from '../../drivers/identity/port.ts'
import type { Mailbox, MailOutbox } from '../../drivers/mail/port.ts'
import type { IdentityProvider } from '../../drivers/sign-in/port.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database, Queryable, Transaction } from '../../platform/database/database.ts'
import type { OpenDatabase } from '../../platform/database/open-database.ts'
import type { Events } from '../../platform/events/events.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import type { Caller } from '../../platform/http/handler.ts'
import { wireOf } from '../../platform/http/wire.ts'
import type { Ids } from '../../platform/ids.ts'
import type { Secrets } from '../../platform/secrets.ts'
import type { Audit } from '../audit/audit.ts'
import type { Billing } from '../billing/billing.ts'
import { createAccountDeletion } from './accounts/account-deletion.ts'
import type { AccountKeeper } from './accounts/account-keeper.ts'
import { createAccounts } from './accounts/accounts.ts'
import {
  type FindAddressee,
  findById,
  findDisplayName,
  findNamed,
  findRecipient,
} from './accounts/accounts-store.ts'
import { createApplication } from './accounts/application.ts'
import { createCustomerDesk } from './accounts/customer-desk.ts'
import { createCaptcha } from './captcha/captcha.ts'
import { createEmbedded } from './embedded/embedded.ts'
import { createEmbeddedPasswordProof } from './embedded/embedded-password-proof.ts'
import { createEmailVerification } from './links/email-verification.ts'
import { createLinkTokens } from './links/link-tokens.ts'
import { createPasswordReset } from './links/password-reset.ts'
import { createGuardMails } from './mails/guard-mails.ts'
import { createKnownAddress } from './mails/known-address.ts'
import { createPasswordChange } from './passwords/password-change.ts'
import { createPasswords, type PasswordCost } from './passwords/passwords.ts'
import { createAccessTokens } from './sessions/access-token.ts'
import { devicesOf } from './sessions/devices.ts'
import { createSessions } from './sessions/sessions.ts'
import { createLinkedIdentities } from './sign-in/linked-identities.ts'
import { listProviders } from './sign-in/listed-providers.ts'
import { createProviderVisits } from './sign-in/provider-visits.ts'
import { createSignIn } from './sign-in/sign-in.ts'
import { createSignInConfirmation } from './sign-in/sign-in-confirmation.ts'
import { createSignInMethods } from './sign-in/sign-in-methods.ts'
import { createSourced } from './source/sourced.ts'
import { createAttempts } from './throttles/attempts.ts'
import { createLoginThrottle, LOGIN_ATTEMPTS_KEPT_MS } from './throttles/login-throttle.ts'
import { createMailLimits, MAIL_ATTEMPTS_KEPT_MS } from './throttles/mail-limits.ts'
import { isLoopback, isLoopbackOrigin } from './throttles/network.ts'

const mailOf = wireOf(mail)

/**
 * Makes the identity domain (R1.8).
 * @param deps `countInstances`, `countVolumes` and `countImages` come from the domains of those; `mailbox` is null where mails go out by SMTP, and where others than this machine are served; `pause` waits, and it and `passwordCost` are only passed by tests.
 */
export function createIdentity(deps: {
  db: Database
  /** Keeps passwords and profiles where an identity service outside does (R1.8); null: this domain does itself. */
  source?: IdentitySource | null
  listen: OpenDatabase['listen']
  clock: Clock
  ids: Ids
  log: Pick<Logger, 'warn'>
  secrets: Pick<Secrets, 'rootKey' | 'tokenKeys'>
  /** After so many days without a call, a session is over. */
  sessionIdleDays: number
  mail: MailOutbox
  mailbox: Mailbox | null
  billing: Pick<Billing, 'openWallet' | 'balanceCents' | 'grantCredit' | 'lockWallet' | 'hasOpenTopup'>
  /** Services that customers may sign in through, as the settings name them. */
  providers: readonly IdentityProvider[]
  events: Pick<Events, 'emit'>
  audit: Pick<Audit, 'note'>
  countInstances(tx: Transaction, userId: string): Promise<number>
  countVolumes(tx: Transaction, userId: string): Promise<number>
  countImages(tx: Transaction, userId: string): Promise<number>
  /** The kind of captcha: the embedded one, a service, or none. */
  captcha: 'Default' | 'none' | CaptchaService
  publicUrl: () => string
  brandName: () => string
  passwordCost?: PasswordCost | undefined
  pause?: (ms: number) => Promise<void>
}) {
  const { db, clock, mailbox, source = null, providers, pause = setTimeout } = deps
  const tokens = createAccessTokens({ keys: deps.secrets.tokenKeys, clock })
  const sessions = createSessions({ ...deps, tokens })
  const attempts = createAttempts({ clock })
  const limits = createMailLimits({ attempts, clock })
  const links = createLinkTokens(deps)
  const passwords = createPasswords(deps)
  const throttle = createLoginThrottle({ db, clock, attempts })
  const guardMails = createGuardMails(deps)
  const findAddressee: FindAddressee = email => keeper.findAddressee(email)
  const verification = createEmailVerification({ ...deps, limits, links, sessions, findAddressee })
  const knownAddress = createKnownAddress({ ...deps, limits, findAddressee })
  const identities = createLinkedIdentities(deps)
  const methods = createSignInMethods({ ...deps, identities })
  const listed = listProviders(providers)
  const accounts = createAccounts({
    ...{ ...deps, passwords, verification, knownAddress, sessions, tokens, identities, listed },
  })
  const embeddedProof = createEmbeddedPasswordProof({ passwords, throttle, pause })
  const parts = {
    ...deps,
    passwords,
    links,
    sessions,
    accounts,
    verification,
    knownAddress,
    embeddedProof,
    pause,
  }
  const keeper: AccountKeeper = source
    ? createSourced({ ...parts, source, attempts, throttle })
    : createEmbedded({ ...parts, identities, methods, listed })
  // From here on nothing asks who keeps the accounts, but the captcha: a source asks for its own, where it wants some.
  const kind = source ? 'none' : deps.captcha
  const captcha = createCaptcha({ ...deps, kind, rootKey: deps.secrets.rootKey })
  const application = createApplication(keeper.application)
  const { checkPassword, proof } = keeper
  const change = createPasswordChange({
    ...{ db, links, sessions, guardMails },
    prepare: keeper.preparePasswordChange,
  })
  const reset = createPasswordReset({
    ...{ ...deps, limits, links, throttle, sessions, guardMails, findAddressee },
    prepare: keeper.preparePasswordReset,
  })
  const confirmation = createSignInConfirmation({
    ...{ ...deps, proof, sessions, limits },
    rootKey: deps.secrets.rootKey,
  })
  const deletion = createAccountDeletion({ ...deps, proof, sessions, guardMails })
  const signIn = createSignIn({ ...deps, checkPassword, throttle, captcha, links, sessions, tokens, pause })
  const visits = createProviderVisits(deps)
  const kept = keeper.calls({ visits, signIn, captcha, remove: deletion.remove, erase: deletion.erase })
  const desk = createCustomerDesk({ ...deps, sessions, guardMails })

  return {
    ...kept,

    /** Makes ready and begins to hear what other replicas say. @returns The way to stop. */
    async start(): Promise<() => void> {
      await passwords.prepare()
      if (source) void reportProblems(source, deps.log)
      return await sessions.start()
    },

    /** Says who a token belongs to; null when it is no good. Quick: most often from memory. */
    authenticate: sessions.authenticate,

    /** Whether a session is neither over nor ended, for what was opened in its name and stays open. */
    isSessionOpen: sessions.isOpen,
    openAmong: sessions.openAmong,

    /** Calls back when sessions may have ended, here or on another replica. @returns The way to stop. */
    watchSessions: sessions.watch,

    /** @throws ApiError `validation_failed` at a name that is another application's or organization's. */
    checkNames: application.checkNames,

    /** The application with that id, or null. @throws ApiError `validation_failed` for an id that is none. */
    application: application.find,

    /** @returns An access token. @throws ApiError of the account group. */
    signInByPassword: signIn.byPassword,

    /** @returns An access token. @throws ApiError `sign_in_link_invalid`. */
    signInByLink: signIn.byLink,

    /** Ends a session. @returns `organization/name`. */
    async signOut({ userId, sessionId }: Caller): Promise<string> {
      await sessions.end(sessionId)
      await kept.endToken(sessionId)
      return `${keeper.application.organization}/${(await accounts.emailOf(userId)) ?? ''}`
    },

    /** The caller's open sessions, the one used last first. */
    listSessions: sessions.list,

    /** Ends a session of the caller's. @throws ApiError `not_found`. */
    async endSession({ userId }: Caller, sessionId: string): Promise<void> {
      if (!(await sessions.endOwn(userId, sessionId))) throw new ApiError('not_found')
    },

    /** Ends the caller's other sessions. @returns How many. */
    endOtherSessions: sessions.endOthers,

    /** Queues the activation mail again. @throws ApiError `verify_mail_wait`. */
    requestVerifyMail: verification.request,

    /** Queues a mail with a link to choose a new password. @throws ApiError `reset_mail_wait`. */
    requestPasswordReset: reset.request,

    /** Sets a password by such a link, and ends every session. @throws ApiError `reset_link_expired` and others. */
    resetPassword: reset.reset,

    /** Sets the caller's own password, and ends the other sessions. @throws ApiError `validation_failed` and others. */
    setPassword: change.change,

    /** Confirms who has the session, so that it may do what wants a recent sign-in. @throws ApiError `validation_failed` and others. */
    confirmSignIn: confirmation.confirm,

    /** Queues a mail with a code that confirms it too. @throws ApiError `sign_in_code_wait`. */
    requestSignInCode: confirmation.requestCode,

    /** Mails of the local mailbox, newest first, for a caller on this machine. @throws ApiError `not_found`. */
    async mails(place: { address: string; origin: string; forwarded: boolean }): Promise<Mail[]> {
      const isHere = !place.forwarded && isLoopback(place.address) && isLoopbackOrigin(place.origin)
      // Mails hold links that sign in: a proxy on this machine must not show them to the world.
      if (!mailbox || !isHere) throw new ApiError('not_found')
      const stored = await mailbox.list()
      return stored.map(mailOf)
    },

    /** Where mails of a customer go; null where none are to go: the address is not verified, or the account deleted. */
    recipient: (userId: string) => findRecipient(db, userId),

    /** Whose an account is, and whether its address is verified; null where it is gone. */
    async contactOf(
      q: Pick<Queryable, 'select'>,
      userId: string,
    ): Promise<{ email: string; isVerified: boolean } | null> {
      const account = await findById(q, userId)
      if (!account || account.deletedAt) return null
      return { email: account.email, isVerified: account.emailVerifiedAt !== null }
    },

    /** Browsers that an account was signed in from, as hashes of their marks. */
    devicesOf,

    /** The id of the customer whom an operator names by address, account number or id; null for nobody. */
    customerNamed: (named: string): Promise<string | null> => findNamed(db, named),

    /** What operators do with accounts. */
    desk,

    /** Says whether an account could be erased, by throwing what `eraseAccount` would. */
    requireErasable: deletion.requireErasable,

    /** What an account is called on pages; null where it is gone. */
    displayNameOf: (userId: string) => findDisplayName(db, userId),

    /** Makes a verified account without a password. @throws ApiError `email_taken`. */
    createVerifiedUser: accounts.createVerifiedUser,

    /** Makes the demo customer with its credit, once. */
    createDemoCustomer: accounts.createDemoCustomer,

    /** Makes a one-time sign-in link. @returns Its secret. */
    createSignInLink: signIn.createLink,

    /** Removes links, sessions and counts that have no use any more; every hour or so is enough. */
    async purge(): Promise<void> {
      await links.purge(db)
      await visits.purge(db)
      await sessions.purge()
      await deletion.sweep()
      await captcha.purge()
      await attempts.purge(db, Math.max(LOGIN_ATTEMPTS_KEPT_MS, MAIL_ATTEMPTS_KEPT_MS))
    },
  }
}
export type Identity = ReturnType<typeof createIdentity>

/** Tells the operator early what would keep customers out; the source may come up after the gateway. */
async function reportProblems(source: IdentitySource, log: Pick<Logger, 'warn'>): Promise<void> {
  try {
    for (const problem of await source.findProblems()) log.warn(problem)
  } catch (error) {
    log.warn({ err: error }, 'the identity service does not answer; nobody can sign in until it does')
  }
}
