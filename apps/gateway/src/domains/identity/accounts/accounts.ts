import { type Application, ORGANIZATION, type User, user } from '@berth/contract/account'
import { CURRENCIES, type Currency, type Language } from '@berth/contract/limits'
import { MICRO_PER_UNIT } from '@berth/contract/money'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import type { Events } from '../../../platform/events/events.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { wireOf } from '../../../platform/http/wire.ts'
import type { Ids } from '../../../platform/ids.ts'
import type { Audit } from '../../audit/audit.ts'
import type { Billing } from '../../billing/billing.ts'
import { forCustomer, openCustomer } from '../../customers/customers.ts'
import { tellReferred } from '../events.ts'
import type { EmailVerification } from '../links/email-verification.ts'
import type { KnownAddress } from '../mails/known-address.ts'
import type { Passwords } from '../passwords/passwords.ts'
import type { AccessTokens } from '../sessions/access-token.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { LinkedIdentities } from '../sign-in/linked-identities.ts'
import { linkedProperties } from '../sign-in/listed-providers.ts'
import type { userAccount } from '../tables.ts'
import { addAccount, findByEmail, findById, setDisplayName } from './accounts-store.ts'

const DEMO_EMAIL = 'demo@berth.local'
const DEMO_NAME = 'Demo'
const DEMO_CREDIT_MICRO = 25n * MICRO_PER_UNIT

/** The currency of what the product itself opens and gives. */
const OWN_CURRENCY = CURRENCIES[0]

const userOf = wireOf(user)

/** What a sign-up brings, checked by the contract already. */
export interface SignUp {
  /** The login name, in lower case. */
  email: string
  displayName: string
  password: string
  language: Language
  referralCode: string | null
  /** Of the wallet. */
  currency: Currency
  /** Network address and user agent of the caller. */
  address: string
  userAgent: string
}

/** What another service said of somebody who is new here, checked by now. */
export interface ProviderSignUp {
  /** The login name, in lower case. */
  email: string
  displayName: string
  /** Name of the provider. */
  provider: string
  /** Whether the service has proof of the address; else the activation mail asks for it. */
  emailVerified: boolean
  language: Language
  referralCode: string | null
  /** Of the wallet. */
  currency: Currency
}

/** A display name that a customer chose. */
export interface Rename {
  /** Who asks. */
  userId: string
  /** `organization/email` of the account that is meant. */
  id: string
  displayName: string
}

interface AccountsDeps {
  db: Database
  clock: Clock
  ids: Ids
  billing: Pick<Billing, 'openWallet' | 'balanceCents' | 'grantCredit'>
  passwords: Passwords
  verification: Pick<EmailVerification, 'begin'>
  knownAddress: Pick<KnownAddress, 'tell'>
  sessions: Pick<Sessions, 'subject'>
  tokens: Pick<AccessTokens, 'issue'>
  audit: Pick<Audit, 'note'>
  events: Pick<Events, 'emit'>
  identities: Pick<LinkedIdentities, 'of'>
  /** The services that one may sign in through. */
  listed: Application['providers']
}

/** Accounts of customers. */
export function createAccounts(deps: AccountsDeps) {
  const { db, clock, ids, billing } = deps

  /** The account and its wallet come to be together or not at all. */
  async function add(
    tx: Transaction,
    values: Omit<typeof userAccount.$inferInsert, 'id' | 'createdAt'>,
    currency: Currency,
  ): Promise<string | null> {
    const id = ids.uuid()
    if (!(await addAccount(tx, { ...values, id, createdAt: clock.now() }))) return null
    await openCustomer(tx, { userId: id, at: clock.now() })
    await billing.openWallet(tx, { userId: id, currency })
    await tellReferred(tx, deps.events, { userId: id, code: values.referralCode, at: clock.now() })
    return id
  }

  return {
    /**
     * Makes an account and queues its activation mail; a mail server that is down delays the mail alone. An address that
     * has an account costs the same work and has the same answer; its owner is told by mail.
     * @returns `organization/email`.
     */
    async signUp(input: SignUp): Promise<string> {
      const { email, displayName, password, language, referralCode, currency, address, userAgent } = input
      const passwordHash = await deps.passwords.hash(password)
      const userId = await db.transaction(async tx => {
        const id = await add(tx, { email, displayName, passwordHash, language, referralCode }, currency)
        if (id === null) await deps.knownAddress.tell(tx, email)
        else await deps.verification.begin(tx, email)
        return id
      })
      if (userId !== null) {
        deps.audit.note({ userId, actor: 'customer', action: 'account.signup', address, userAgent })
      }
      return `${ORGANIZATION}/${email}`
    },

    /**
     * Makes an account without a password for somebody whom another service knows.
     * @returns Its id, or null when the address has an account; nothing changed then.
     */
    async addFromProvider(
      tx: Transaction,
      { emailVerified, currency, ...values }: ProviderSignUp,
    ): Promise<string | null> {
      const id = await add(tx, { ...values, emailVerifiedAt: emailVerified ? clock.now() : null }, currency)
      if (id !== null && !emailVerified) await deps.verification.begin(tx, values.email)
      return id
    },

    /**
     * The customer of a session (R3.1).
     * @throws ApiError `user_not_found`.
     */
    async account({ userId, sessionId }: { userId: string; sessionId: string }): Promise<User> {
      const row = await findById(db, userId)
      const subject = await deps.sessions.subject(sessionId)
      if (!row || row.deletedAt || !subject) throw new ApiError('user_not_found')
      return userOf({
        ...row,
        owner: ORGANIZATION,
        accountId: row.number.toString(),
        name: row.email,
        emailVerified: row.emailVerifiedAt !== null,
        type: 'normal-user',
        createdTime: row.createdAt.toISOString(),
        password: row.passwordHash === null ? '' : '***',
        balance: await billing.balanceCents(userId),
        // The token of a session is always the same: this is the one that was sent.
        accessToken: await deps.tokens.issue(subject),
        properties: linkedProperties(deps.listed, await deps.identities.of(db, userId)),
      })
    },

    /**
     * Changes the caller's display name.
     * @param id Casdoor's name of the account: only the caller's own is taken.
     * @returns Whether it was another one before.
     * @throws ApiError `not_found` for any other account, whether or not there is one.
     */
    async rename({ userId, id, displayName }: Rename): Promise<boolean> {
      const user = await findById(db, userId)
      if (!user || id.toLowerCase() !== `${ORGANIZATION}/${user.email}`) throw new ApiError('not_found')
      return await db.transaction(async tx => {
        await forCustomer(tx, userId)
        return await setDisplayName(tx, userId, displayName)
      })
    },

    /** The address of an account, or null. */
    async emailOf(userId: string): Promise<string | null> {
      return (await findById(db, userId))?.email ?? null
    },

    /**
     * Makes an account that is verified and has no password: it is entered by a sign-in link.
     * @throws ApiError `email_taken`.
     */
    async createVerifiedUser(input: {
      email: string
      displayName: string
      language: Language
    }): Promise<{ userId: string }> {
      const email = input.email.toLowerCase()
      return await db.transaction(async tx => {
        const userId = await add(tx, { ...input, email, emailVerifiedAt: clock.now() }, OWN_CURRENCY)
        if (userId === null) throw new ApiError('email_taken')
        return { userId }
      })
    },

    /**
     * Makes the demo customer, with credit, where there is none yet.
     * @returns Its id, and whether it is new.
     */
    async createDemoCustomer(): Promise<{ userId: string; created: boolean }> {
      const userId = await db.transaction(async tx => {
        const verified = { emailVerifiedAt: clock.now() }
        const id = await add(tx, { email: DEMO_EMAIL, displayName: DEMO_NAME, ...verified }, OWN_CURRENCY)
        if (id === null) return null
        // In the transaction that makes the account: whoever finds the account finds the credit.
        await billing.grantCredit(tx, {
          id: ids.uuid(),
          userId: id,
          amountMicro: DEMO_CREDIT_MICRO,
          kind: 'demo',
          reason: 'demo',
        })
        return id
      })
      if (userId !== null) return { userId, created: true }
      const user = await findByEmail(db, DEMO_EMAIL)
      if (!user) throw new Error('the demo customer is neither new nor there')
      return { userId: user.id, created: false }
    },
  }
}
export type Accounts = ReturnType<typeof createAccounts>
