import { consoleLink } from '@berth/contract/console-links'
import { eq } from 'drizzle-orm'
import type { MailContent, MailOutbox } from '../../../drivers/mail/port.ts'
import type { IdentityProvider, ProviderIdentity } from '../../../drivers/sign-in/port.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { forCustomer } from '../../customers/customers.ts'
import { type Account, findRecipient } from '../accounts/accounts-store.ts'
import { signInMethodMail } from '../mails/sign-in-method-mail.ts'
import { userAccount } from '../tables.ts'
import type { LinkedIdentities } from './linked-identities.ts'
import { listProviders } from './listed-providers.ts'

interface SignInMethodsDeps {
  db: Database
  providers: readonly IdentityProvider[]
  identities: LinkedIdentities
  mail: MailOutbox
  publicUrl: () => string
  brandName: () => string
}

/** What the mail is about. */
interface Change {
  userId: string
  provider: string
  change: 'linked' | 'unlinked'
}

/** Which of the services is meant, as Casdoor's unlink says it. */
export interface ProviderChoice {
  /** Casdoor's type, such as `GitHub`. */
  type: string
  /** Which one of that type; left out for the one that is linked. */
  name: string | null
}

/** The other services that sign in to an account: one more, one less, and the mail that tells its owner. */
export function createSignInMethods(deps: SignInMethodsDeps) {
  const { db, providers, identities } = deps
  const queue = deps.mail.define('sign-in-method', compose)

  async function compose({ userId, provider, change }: Change): Promise<MailContent | null> {
    // Only where the address is proven: linking again and again must not fill a stranger's mailbox.
    const to = await findRecipient(db, userId)
    if (!to) return null
    const link = consoleLink(deps.publicUrl(), 'ways_to_sign_in')
    const service = providers.find(({ name }) => name === provider)?.displayName ?? provider
    const values = { brand: deps.brandName(), service, link }
    return signInMethodMail(to.email, to.language, change, values)
  }

  /** Whether anything opens the account besides one provider's identity. */
  function isOpenWithout(user: Account, provider: string, linked: string[]): boolean {
    // A service that is no longer in the settings lets nobody in.
    const others = linked.filter(name => name !== provider && providers.some(one => one.name === name))
    return user.passwordHash !== null || others.length > 0
  }

  return {
    /**
     * Links an identity to an account. Linking what is linked to it already changes nothing.
     * @throws ApiError `oauth_linked_elsewhere`, or `oauth_already_linked` where the account has another identity of
     * that service.
     */
    async link(userId: string, provider: string, identity: ProviderIdentity): Promise<void> {
      await db.transaction(async tx => {
        await forCustomer(tx, userId)
        const user = await lockAccount(tx, userId)
        if (!user) throw new ApiError('user_not_found')
        if (await identities.add(tx, userId, provider, identity)) {
          await queue(tx, { userId, provider, change: 'linked' })
          return
        }
        const owner = await identities.ownerOf(tx, provider, identity.subject)
        if (owner === userId) return
        throw new ApiError(owner === null ? 'oauth_already_linked' : 'oauth_linked_elsewhere')
      })
    },

    /**
     * Unlinks a service.
     * @throws ApiError `oauth_not_linked`, or `oauth_last_way_in` where nothing else opens the account.
     */
    async unlink(userId: string, { type, name }: ProviderChoice): Promise<void> {
      const candidates = listProviders(providers)
        .filter(listed => listed.provider?.type === type && (name === null || listed.name === name))
        .map(listed => listed.name)
      await db.transaction(async tx => {
        await forCustomer(tx, userId)
        // Two that are unlinked at once would each be the other's way in.
        const user = await lockAccount(tx, userId)
        const linked = (await identities.of(tx, userId)).map(({ provider }) => provider)
        const provider = linked.find(one => candidates.includes(one))
        if (!user || provider === undefined) throw new ApiError('oauth_not_linked')
        if (!isOpenWithout(user, provider, linked)) throw new ApiError('oauth_last_way_in')
        await identities.remove(tx, userId, provider)
        await queue(tx, { userId, provider, change: 'unlinked' })
      })
    },

    /**
     * Unlinks what was linked before the address was proven to be its owner's, when they prove it anew by setting a
     * password from a mail.
     */
    async unlinkUnproven(tx: Transaction, userId: string): Promise<void> {
      const user = await lockAccount(tx, userId)
      const removed = await identities.removeUnproven(tx, userId, user?.emailVerifiedAt ?? null)
      for (const provider of removed) await queue(tx, { userId, provider, change: 'unlinked' })
    },
  }
}
export type SignInMethods = ReturnType<typeof createSignInMethods>

async function lockAccount(tx: Transaction, userId: string): Promise<Account | null> {
  const [row] = await tx.select().from(userAccount).where(eq(userAccount.id, userId)).for('update')
  return row && row.deletedAt === null ? row : null
}
