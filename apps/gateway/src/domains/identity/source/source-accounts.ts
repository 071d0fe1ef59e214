import type { User } from '@berth/contract/account'
import type { Language } from '@berth/contract/limits'
import type { Logger } from 'pino'
import type { IdentitySource, SourceProfile } from '../../../drivers/identity/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Caller } from '../../../platform/http/handler.ts'
import type { Audit } from '../../audit/audit.ts'
import type { Accounts, Rename, SignUp } from '../accounts/accounts.ts'
import { type Account, findByEmail, findById } from '../accounts/accounts-store.ts'
import type { EmailVerification } from '../links/email-verification.ts'
import type { LinkTokens } from '../links/link-tokens.ts'
import type { KnownAddress } from '../mails/known-address.ts'
import type { Passwords } from '../passwords/passwords.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { SignInPlace } from '../sign-in/sign-in.ts'
import type { Mirror } from './mirror.ts'
import type { SourceTokens } from './source-tokens.ts'

/** So long the gateway goes by what the source last said of an account, while it does not answer. */
const STALE_MAX_MS = 24 * 3_600_000

interface SourceAccountsDeps {
  db: Database
  clock: Clock
  log: Pick<Logger, 'warn'>
  source: IdentitySource
  mirror: Mirror
  tokens: Pick<SourceTokens, 'find' | 'forget'>
  accounts: Pick<Accounts, 'account'>
  audit: Pick<Audit, 'note'>
  links: Pick<LinkTokens, 'find'>
  verification: Pick<EmailVerification, 'begin' | 'verify'>
  knownAddress: Pick<KnownAddress, 'tell'>
  passwords: Pick<Passwords, 'check'>
  sessions: Pick<Sessions, 'endAll' | 'forget'>
}

/** Accounts whose authority is an identity source. */
export function createSourceAccounts(deps: SourceAccountsDeps) {
  const { db, clock, log, source, mirror, accounts, sessions } = deps

  async function endSessions(userId: string): Promise<void> {
    await db.transaction(tx => sessions.endAll(tx, userId, null))
    sessions.forget(userId)
  }

  /**
   * What the source says now of an account here.
   * @returns Null where it does not answer, but did not long ago.
   * @throws ApiError `user_not_found`, after which the account has no sessions; `identity_unavailable`.
   */
  async function currentProfile(row: Account): Promise<SourceProfile | null> {
    try {
      const profile = await source.findById(row.externalId ?? '')
      if (profile && !profile.blocked) return profile
    } catch (error) {
      const seenAtMs = row.externalSeenAt?.getTime() ?? 0
      const isStale = clock.now().getTime() - seenAtMs > STALE_MAX_MS
      if (!isUnavailable(error) || isStale) throw error
      log.warn({ err: error, userId: row.id }, 'the identity service did not answer; an account is as it was')
      return null
    }
    await endSessions(row.id)
    throw new ApiError('user_not_found')
  }

  /** @returns Null where the address has an account, there or here. */
  async function addToSource(input: SignUp): Promise<SourceProfile | null> {
    const { email, displayName, password, language, address } = input
    const here = await findByEmail(db, email)
    if (here && here.externalId === null) return null
    return await source.signUp({ email, displayName, password, language, captcha: null, address })
  }

  /** @returns The id of the new account here; null where another one holds the address. */
  async function mirrorNew(profile: SourceProfile, input: SignUp): Promise<string | null> {
    const { email, language, referralCode, currency } = input
    try {
      await mirror.releaseAddress(profile)
      return await db.transaction(async tx => {
        const row = await mirror.write(tx, profile, { language, referralCode, currency })
        await deps.verification.begin(tx, email)
        return row.id
      })
    } catch (error) {
      if (error instanceof ApiError && error.code === 'email_taken') return null
      throw error
    }
  }

  async function rowOf(userId: string): Promise<Account> {
    const row = await findById(db, userId)
    if (!row || row.deletedAt) throw new ApiError('user_not_found')
    return row
  }

  return {
    /**
     * Makes an account at the source, its row and wallet here, and queues the activation mail. An address that has an
     * account has the same answer; its owner is told by mail.
     * @returns `organization/email`.
     * @throws ApiError as the source refuses.
     */
    async signUp(input: SignUp): Promise<string> {
      const { email, password, address, userAgent } = input
      const profile = await addToSource(input)
      const userId = profile && (await mirrorNew(profile, input))
      if (userId === null) {
        // The source has hashed nothing for an address that it knows.
        await deps.passwords.check(null, password)
        await db.transaction(tx => deps.knownAddress.tell(tx, email))
      } else {
        deps.audit.note({ userId, actor: 'customer', action: 'account.signup', address, userAgent })
      }
      return `${source.organization}/${email}`
    },

    /** Whether the source asks for a captcha, which it may do for some names only. */
    wantsCaptcha: (username: string, address: string) =>
      source.needsCaptcha({ username: username.trim().toLowerCase(), address }),

    /** A captcha of the source's; its pictures need no language. */
    makeCaptcha: (_: Language, address: string) => source.makeCaptcha(address),

    /** Whose address it is when a mail goes out; the row is made where its owner was never here. */
    async findAddressee(email: string): Promise<Account | null> {
      const profile = await source.findByEmail(email)
      if (!profile || profile.blocked) return null
      try {
        return await mirror.keep(profile)
      } catch (error) {
        if (error instanceof ApiError && error.code === 'email_taken') return null
        throw error
      }
    },

    /**
     * The customer of a session (R3.1), as the source has them now.
     * @throws ApiError `user_not_found` when they are deleted or forbidden there, which ends their sessions;
     * `identity_unavailable` when it has not answered for a day.
     */
    async account(caller: Pick<Caller, 'userId' | 'sessionId'>): Promise<User> {
      const row = await rowOf(caller.userId)
      if (row.externalId === null) return await accounts.account(caller)
      const profile = await currentProfile(row)
      if (!profile) {
        // The row holds no password of such an account, which says nothing of the source's.
        const { password: _, ...known } = await accounts.account(caller)
        return { ...known, owner: source.organization }
      }
      await mirror.keepKnown(row.id, profile)
      const { owner, name, type, properties } = profile
      const createdTime = Number.isNaN(Date.parse(profile.createdTime))
        ? row.createdAt.toISOString()
        : profile.createdTime
      return {
        ...(await accounts.account(caller)),
        ...{ owner, name, type, properties, createdTime, email: profile.email },
        password: profile.hasPassword ? '***' : '',
      }
    },

    /**
     * Changes the caller's display name at the source.
     * @param input.id The caller's own: `organization/name`, by name or address.
     * @returns Whether it was another one before.
     * @throws ApiError `not_found` for any other account.
     */
    async rename({ userId, id, displayName }: Rename): Promise<boolean> {
      const row = await rowOf(userId)
      const profile = await source.findById(row.externalId ?? '')
      if (!profile || profile.blocked) throw new ApiError('not_found')
      const own = [`${profile.owner}/${profile.name}`, `${profile.owner}/${profile.email}`]
      if (!own.some(name => name.toLowerCase() === id.toLowerCase())) throw new ApiError('not_found')
      if (profile.displayName === displayName) return false
      await source.rename(profile, displayName)
      await mirror.keepKnown(userId, { ...profile, displayName })
      return true
    },

    /**
     * Tells the source that an address is its owner's, then uses the activation link up.
     * @returns The address. @throws ApiError `verify_link_invalid`.
     */
    async verifyEmail(secret: string, place: Pick<SignInPlace, 'address' | 'userAgent'>): Promise<string> {
      const link = await deps.links.find(db, 'verify_email', secret)
      const row = link && (await findById(db, link.userId))
      if (link && row?.externalId) {
        const profile = await source.findById(row.externalId)
        // A link to an address that is no longer the account's verifies nothing.
        if (!profile || profile.blocked || profile.email !== link.email)
          throw new ApiError('verify_link_invalid')
        if (!profile.emailVerified) await source.confirmEmail(profile)
      }
      return await deps.verification.verify(secret, place)
    },

    /**
     * Deletes the caller's account here, then at the source: what refuses it is here.
     * @param remove Deletes it here.
     * @throws ApiError of `remove`, and `identity_unavailable` before anything was deleted.
     */
    async leave(userId: string, remove: () => Promise<void>): Promise<void> {
      const row = await rowOf(userId)
      const profile = row.externalId === null ? null : await source.findById(row.externalId)
      await remove()
      if (!profile) return
      await source.remove(profile).catch((error: unknown) => {
        const { id: externalId } = profile
        log.warn(
          { err: error, externalId },
          'an account was deleted here and is still at the identity service',
        )
      })
    },

    /** Makes the token worthless that the source gave for a session; a source that is away keeps nobody signed in. */
    async endToken(sessionId: string): Promise<void> {
      const token = await deps.tokens.find(sessionId)
      if (token === null) return
      await deps.tokens.forget(sessionId)
      await source.endToken(token).catch((error: unknown) => {
        log.warn({ err: error }, 'the identity service did not end a token; it ends by itself')
      })
    },
  }
}

/** Whether an error says that the source does not answer. */
function isUnavailable(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'identity_unavailable'
}
