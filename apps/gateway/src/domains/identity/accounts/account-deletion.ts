import { eq, gt } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import type { Events } from '../../../platform/events/events.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Caller } from '../../../platform/http/handler.ts'
import { requireRecentSignIn } from '../../../platform/http/recent-sign-in.ts'
import type { Audit } from '../../audit/audit.ts'
import type { Billing } from '../../billing/billing.ts'
import { closeCustomer } from '../../customers/customers.ts'
import { accountDeleted } from '../events.ts'
import type { GuardMails } from '../mails/guard-mails.ts'
import type { PasswordProof } from '../passwords/password-proof.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { accountDevice, linkedIdentity, linkToken, providerVisit, session, userAccount } from '../tables.ts'
import { type Account, findById, findByIdForUpdate, languageOf } from './accounts-store.ts'

/** Some rounds of the purge: no call is under way for longer. */
const SWEPT_FOR_MS = 6 * 3_600_000

/** What the settings ask before they delete an account. */
export interface Deletion {
  caller: Pick<Caller, 'userId' | 'provenAt'>
  /** The account's address, typed by the customer. */
  email: string
  /** Looked at where the account has one. */
  password: string
  /** Network address of the caller. */
  address: string
}

interface AccountDeletionDeps {
  db: Database
  clock: Clock
  proof: PasswordProof
  sessions: Pick<Sessions, 'endAll' | 'forget'>
  guardMails: Pick<GuardMails, 'farewell'>
  billing: Pick<Billing, 'lockWallet' | 'hasOpenTopup'>
  /** Instances of a customer that are not gone yet; it comes from the instances domain. */
  countInstances(tx: Transaction, userId: string): Promise<number>
  /** The same of network volumes. */
  countVolumes(tx: Transaction, userId: string): Promise<number>
  /** How many images of the customer's own are not gone. */
  countImages(tx: Transaction, userId: string): Promise<number>
  events: Pick<Events, 'emit'>
  audit: Pick<Audit, 'note'>
}

/**
 * Deleting an account. Its row stays for the books and the audit log, without anything that names a person; what
 * is left of the balance stays in its wallet.
 */
export function createAccountDeletion(deps: AccountDeletionDeps) {
  const { db, clock, proof } = deps

  /** Removes what names a person or lets somebody in, and tells the domains that keep something too. Safe to do again. */
  async function forget(tx: Transaction, userId: string): Promise<void> {
    await tx.delete(linkToken).where(eq(linkToken.userId, userId))
    await tx.delete(providerVisit).where(eq(providerVisit.userId, userId))
    await tx.delete(linkedIdentity).where(eq(linkedIdentity.userId, userId))
    await tx.delete(accountDevice).where(eq(accountDevice.userId, userId))
    await deps.sessions.endAll(tx, userId, null)
    await tx.update(session).set({ address: '', userAgent: '' }).where(eq(session.userId, userId))
    await deps.events.emit(tx, accountDeleted, { userId })
  }

  /** What must be gone before an account is. @throws ApiError as `remove` says. */
  async function requireLeft(tx: Transaction, userId: string): Promise<void> {
    const count = await deps.countInstances(tx, userId)
    if (count > 0) throw new ApiError('account_has_instances', { values: { count } })
    const volumes = await deps.countVolumes(tx, userId)
    if (volumes > 0) throw new ApiError('account_has_volumes', { values: { count: volumes } })
    const images = await deps.countImages(tx, userId)
    if (images > 0) throw new ApiError('account_has_images', { values: { count: images } })
    if (await deps.billing.hasOpenTopup(tx, userId)) throw new ApiError('payment_pending')
  }

  /** @param accept Takes the account's lock, once whoever asks has shown that they may. */
  async function removeIn(tx: Transaction, userId: string, accept: () => Promise<Account>): Promise<void> {
    await closeCustomer(tx, { userId, at: clock.now() })
    await deps.billing.lockWallet(tx, userId)
    // Links before the account: using one locks them in that order.
    await tx.delete(linkToken).where(eq(linkToken.userId, userId))
    const { email, language, emailVerifiedAt } = await accept()
    await requireLeft(tx, userId)
    await tx
      .update(userAccount)
      .set({ ...nobody(userId), deletedAt: clock.now() })
      .where(eq(userAccount.id, userId))
    await forget(tx, userId)
    if (emailVerifiedAt) await deps.guardMails.farewell(tx, { email, language: languageOf(language) })
  }

  return {
    /**
     * Deletes the caller's account for good. The customer is closed first: a deploy or a top-up that began before is
     * seen, and one that comes later is refused.
     * @throws ApiError `validation_failed` {confirmation, password_wrong}, `login_frozen`, `recent_sign_in_required`, `account_has_instances`
     * {count}, `account_has_volumes` {count}, `account_has_images` {count}, `payment_pending` while it is not known whether a card was charged.
     */
    async remove({ caller, email, password, address }: Deletion): Promise<void> {
      const { userId } = caller
      const user = await findById(db, userId)
      if (!user || user.deletedAt) throw new ApiError('login_expired')
      if (email !== user.email) {
        throw new ApiError('validation_failed', { fields: [{ path: 'email', rule: 'confirmation' }] })
      }
      const asked = { user, typed: password, address, field: 'password' }
      // Where there is no password, something else has shown not long ago who it is.
      if (!(await proof.check(asked))) requireRecentSignIn(caller, clock)
      await db.transaction(tx => removeIn(tx, userId, () => proof.accept(tx, asked)))
      deps.sessions.forget(userId)
    },

    /**
     * Deletes an account for good because the operator wants it, as its owner would; one that is suspended, too.
     * @throws ApiError `login_expired` where it is gone, and as `remove` for what is in the way.
     */
    async erase(userId: string): Promise<void> {
      await db.transaction(tx =>
        removeIn(tx, userId, async () => {
          const account = await findByIdForUpdate(tx, userId)
          if (!account || account.deletedAt) throw new ApiError('login_expired')
          return account
        }),
      )
      deps.sessions.forget(userId)
      deps.audit.note({ userId, actor: 'operator', action: 'account.delete' })
    },

    /** Says whether {@link erase} would be refused, by throwing the same. Nothing is changed. */
    requireErasable: (userId: string): Promise<void> => db.transaction(tx => requireLeft(tx, userId)),

    /**
     * Removes once more what the accounts deleted of late had: a call that was under way with a session of before may
     * have added something.
     */
    async sweep(): Promise<void> {
      const since = new Date(clock.now().getTime() - SWEPT_FOR_MS)
      const rows = await db
        .select({ id: userAccount.id })
        .from(userAccount)
        .where(gt(userAccount.deletedAt, since))
      for (const { id } of rows) await db.transaction(tx => forget(tx, id))
    },
  }
}

/** What takes the place of what names a person. */
function nobody(userId: string) {
  return {
    // No address at all, so that nobody can sign up with it or ask for mails to it.
    email: `deleted-${userId}`,
    displayName: '',
    avatar: '',
    provider: '',
    passwordHash: null,
    needUpdatePassword: false,
    emailVerifiedAt: null,
    referralCode: null,
    externalId: null,
  }
}
