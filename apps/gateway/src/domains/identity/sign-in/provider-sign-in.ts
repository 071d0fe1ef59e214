import type { ProviderMethod } from '@berth/contract/account-sign-in'
import { email as emailField, username as usernameField } from '@berth/contract/fields'
import { type Currency, type Language, USERNAME_CHARS_MAX } from '@berth/contract/limits'
import type { IdentityProvider, ProviderIdentity } from '../../../drivers/sign-in/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Caller } from '../../../platform/http/handler.ts'
import { requireRecentSignIn } from '../../../platform/http/recent-sign-in.ts'
import type { Accounts } from '../accounts/accounts.ts'
import { findByIdShared } from '../accounts/accounts-store.ts'
import type { TokenSubject } from '../sessions/access-token.ts'
import { isLoopbackOrigin } from '../throttles/network.ts'
import type { LinkedIdentities } from './linked-identities.ts'
import type { ProviderVisits, VisitPurpose } from './provider-visits.ts'
import type { SignIn, SignInPlace } from './sign-in.ts'
import type { SignInMethods } from './sign-in-methods.ts'

/** Where the other service sends the browser: a page of the console. */
const CALLBACK_PATH = '/callback'

export interface BeginVisit {
  provider: string
  method: ProviderMethod
  /** Needed for linking. */
  caller: Caller | null
  /** Scheme, host and port that the browser used. */
  origin: string
}

/** What the browser brought back from another service. */
export interface ProviderReturn {
  provider: string
  code: string
  state: string
  browserKey: string
  /** As the browser remembers it; empty where it does not say. */
  redirectUri: string
  /** Who the service says that it is; null where it does not say. */
  issuer: string | null
}

/** What an account is made with that the other service does not know. */
interface Newcomer {
  language: Language
  referralCode: string | null
  /** Of the wallet. */
  currency: Currency
}

interface ProviderSignInDeps {
  db: Database
  providers: readonly IdentityProvider[]
  visits: ProviderVisits
  identities: LinkedIdentities
  methods: Pick<SignInMethods, 'link'>
  accounts: Pick<Accounts, 'addFromProvider'>
  signIn: Pick<SignIn, 'open' | 'welcome'>
  clock: Clock
  publicUrl: () => string
}

/** Signing in and linking through other services. What a visit must hold to is said in README.md. */
export function createProviderSignIn(deps: ProviderSignInDeps) {
  const { db, visits, identities } = deps

  /** Ends the visit and asks the service who came. Nothing of this holds a transaction open. */
  async function whoCame(
    back: ProviderReturn,
    isMeant: (visit: VisitPurpose) => boolean,
  ): Promise<ProviderIdentity> {
    const visit = await visits.end(db, back)
    if (!visit) throw failed('the visit is unknown, over, used, or of another browser')
    const sameUri = back.redirectUri === '' || back.redirectUri === visit.redirectUri
    if (visit.provider !== back.provider || !sameUri || !isMeant(visit)) {
      throw failed('the visit was for something else')
    }
    const provider = deps.providers.find(({ name }) => name === visit.provider)
    if (!provider) throw failed('the provider is no longer in the settings')
    try {
      return await provider.identify({ ...visit, code: back.code, issuer: back.issuer })
    } catch (error) {
      throw new ApiError('oauth_failed', { cause: error })
    }
  }

  /** The account that the identity opens; the first time, one that is made for it. */
  async function enter(
    provider: string,
    identity: ProviderIdentity,
    place: SignInPlace,
    newcomer: Newcomer,
  ): Promise<TokenSubject> {
    return await db.transaction(async tx => {
      const owner = await identities.ownerOf(tx, provider, identity.subject)
      const userId = owner ?? (await join(tx, provider, identity, newcomer))
      const user = await findByIdShared(tx, userId)
      if (!user || user.deletedAt !== null) throw failed('the account is no longer there')
      // Looked at again under the account's lock: a reset that unlinks it would not see the session opened here.
      if ((await identities.ownerOf(tx, provider, identity.subject)) !== userId) {
        throw failed('the identity was unlinked meanwhile')
      }
      return await deps.signIn.open(tx, user, place)
    })
  }

  /** An address that has an account is never taken for a proof, whatever the service says of it. */
  async function join(
    tx: Transaction,
    provider: string,
    identity: ProviderIdentity,
    newcomer: Newcomer,
  ): Promise<string> {
    const address = emailField.safeParse(identity.email)
    if (!address.success) throw new ApiError('oauth_email_missing')
    const email = address.data
    const displayName = displayNameOf(identity, email)
    const { emailVerified } = identity
    const userId = await deps.accounts.addFromProvider(tx, {
      ...newcomer,
      email,
      displayName,
      provider,
      emailVerified,
    })
    if (userId === null) throw new ApiError('oauth_email_taken')
    if (!(await identities.add(tx, userId, provider, identity)))
      throw failed('the identity was linked meanwhile')
    return userId
  }

  return {
    /**
     * Begins a visit.
     * @returns Where the browser goes, what it alone is told, and where it comes back to.
     * @throws ApiError `unknown_sign_in_method`, those of `linkerOf` for linking, or
     * `oauth_failed` when the service cannot be reached.
     */
    async begin({ provider: name, method, caller, origin }: BeginVisit) {
      const provider = deps.providers.find(one => one.name === name)
      if (!provider) throw new ApiError('unknown_sign_in_method')
      const userId = method === 'link' ? linkerOf(caller, deps.clock) : null
      const redirectUri = redirectUriFor(deps.publicUrl(), origin)
      const { browserKey, ...visit } = await visits.begin(db, { provider: name, method, userId, redirectUri })
      try {
        return { url: await provider.authorizationUrl(visit), browserKey, redirectUri }
      } catch (error) {
        throw new ApiError('oauth_failed', { cause: error })
      }
    },

    /**
     * Signs in by what another service said; the first time it makes an account.
     * @param method What the browser says that it went there for; null where it does not say.
     * @returns An access token.
     * @throws ApiError `oauth_failed`, `oauth_email_missing`, `oauth_email_taken`, `password_expired`.
     */
    async signIn(
      back: ProviderReturn & { method: ProviderMethod | null },
      place: SignInPlace,
      newcomer: Newcomer,
    ): Promise<string> {
      const identity = await whoCame(
        back,
        visit => visit.method !== 'link' && (back.method === null || back.method === visit.method),
      )
      const attempt = () => enter(back.provider, identity, place, newcomer)
      try {
        return await deps.signIn.welcome(await attempt(), place)
      } catch (error) {
        // Two first sign-ins at once: the other one has made the account by now.
        const isTaken = error instanceof ApiError && error.code === 'oauth_email_taken'
        if (!isTaken || !(await identities.ownerOf(db, back.provider, identity.subject))) throw error
        return await deps.signIn.welcome(await attempt(), place)
      }
    },

    /**
     * Links what another service said to the account that began the visit.
     * @returns Name of the provider.
     * @throws ApiError `oauth_failed`, `oauth_linked_elsewhere`, `oauth_already_linked`.
     */
    async link(back: ProviderReturn, { userId }: Caller): Promise<string> {
      const identity = await whoCame(back, visit => visit.method === 'link' && visit.userId === userId)
      await deps.methods.link(userId, back.provider, identity)
      return back.provider
    },
  }
}
export type ProviderSignIn = ReturnType<typeof createProviderSignIn>

/**
 * Where the browser comes back to: the address that customers use. Somebody at this computer may use another name
 * of it, and only there will what their browser remembers be found again.
 */
export function redirectUriFor(publicUrl: string, origin: string): string {
  const own = publicUrl.replace(/\/$/, '')
  const isHere = isLoopbackOrigin(own) && isLoopbackOrigin(origin)
  return `${isHere ? origin : own}${CALLBACK_PATH}`
}

/**
 * Who begins to link a service: what comes back opens their account for good, so a session alone is not enough.
 * @returns The id of the customer.
 * @throws ApiError `login_required`, `password_expired`, `recent_sign_in_required`.
 */
export function linkerOf(caller: Caller | null, clock: Clock): string {
  if (!caller) throw new ApiError('login_required')
  if (caller.passwordExpired) throw new ApiError('password_expired')
  requireRecentSignIn(caller, clock)
  return caller.userId
}

function failed(why: string): ApiError {
  return new ApiError('oauth_failed', { cause: new Error(why) })
}

/** The first of the service's names that may be a display name (R5.1), or what stands before the @. */
function displayNameOf({ displayName, username }: ProviderIdentity, email: string): string {
  for (const candidate of [displayName, username]) {
    const { success, data } = usernameField.safeParse(candidate)
    if (success) return data
  }
  return email.slice(0, email.indexOf('@')).slice(0, USERNAME_CHARS_MAX)
}
