import { CURRENCIES, type Currency, type Language } from '@berth/contract/limits'
import { and, eq, isNull, ne, or } from 'drizzle-orm'
import type { Logger } from 'pino'
import * as z from 'zod'
import type { IdentitySource, SourceProfile } from '../../../drivers/identity/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import type { Events } from '../../../platform/events/events.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Ids } from '../../../platform/ids.ts'
import type { Billing } from '../../billing/billing.ts'
import { openCustomer } from '../../customers/customers.ts'
import { type Account, findById } from '../accounts/accounts-store.ts'
import { tellReferred } from '../events.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { userAccount } from '../tables.ts'

/** When a row was confirmed is written down no more often than this. */
const SEEN_STEP_MS = 60_000

/** What only the gateway knows of a new account. */
interface NewAccount {
  language?: Language
  referralCode?: string | null
  /** Of the wallet; the product's first where the account was made elsewhere. */
  currency?: Currency
}

interface MirrorDeps {
  db: Database
  clock: Clock
  ids: Ids
  log: Pick<Logger, 'warn'>
  source: Pick<IdentitySource, 'findById'>
  billing: Pick<Billing, 'openWallet'>
  events: Pick<Events, 'emit'>
  sessions: Pick<Sessions, 'announce' | 'forget' | 'endAll'>
}

/**
 * The rows that stand for a source's accounts here, so that wallets, sessions and instances have an owner. They copy
 * what the source says; `externalId` ties a row to its account for good, whatever becomes of name and address.
 */
export function createMirror(deps: MirrorDeps) {
  const { db, clock, ids, log, source, billing, sessions } = deps

  async function findByExternalId(q: Pick<Database, 'select'>, id: string): Promise<Account | null> {
    const [row] = await q.select().from(userAccount).where(eq(userAccount.externalId, id))
    return row ?? null
  }

  /**
   * Makes the address free where the row of another account still holds it, which has moved on or is gone. Runs
   * before the transaction, since the source is asked.
   */
  async function releaseAddress(profile: SourceProfile): Promise<void> {
    if (profile.email === '') return
    const [holder] = await db
      .select()
      .from(userAccount)
      .where(
        and(
          eq(userAccount.email, profile.email),
          or(isNull(userAccount.externalId), ne(userAccount.externalId, profile.id)),
        ),
      )
    if (!holder) return
    if (holder.externalId === null) {
      // Made here before there was a source: it may become a newcomer's, but never a second one's.
      if (await findByExternalId(db, profile.id)) throw new ApiError('email_taken')
      return
    }
    const other = await source.findById(holder.externalId)
    if (other && !other.blocked && other.email === profile.email) {
      log.warn(
        { userId: holder.id, externalId: profile.id },
        'two accounts of the identity service have one address; the second one cannot sign in',
      )
      throw new ApiError('email_taken')
    }
    await db
      .update(userAccount)
      .set({ email: noAddress(holder.id), emailVerifiedAt: null })
      .where(and(eq(userAccount.id, holder.id), eq(userAccount.email, profile.email)))
  }

  /** What the source says, as columns. */
  function columnsOf(profile: SourceProfile, row: { id: string; emailVerifiedAt: Date | null }) {
    return {
      externalId: profile.id,
      email: profile.email === '' ? noAddress(row.id) : profile.email,
      displayName: profile.displayName === '' ? profile.name : profile.displayName,
      avatar: profile.avatar,
      needUpdatePassword: profile.mustChangePassword,
      emailVerifiedAt:
        profile.emailVerified && profile.email !== '' ? (row.emailVerifiedAt ?? clock.now()) : null,
    }
  }

  /** @throws ApiError `user_not_found` where the account was deleted here meanwhile: its row must name nobody. */
  async function refresh(tx: Transaction, row: Account, profile: SourceProfile): Promise<Account> {
    const columns = columnsOf(profile, row)
    const now = clock.now()
    const isNews = (Object.keys(columns) as (keyof typeof columns)[]).some(
      key => columns[key]?.valueOf() !== row[key]?.valueOf(),
    )
    const isOld = !row.externalSeenAt || now.getTime() - row.externalSeenAt.getTime() >= SEEN_STEP_MS
    if (!isNews && !isOld) return row
    const [fresh] = await tx
      .update(userAccount)
      .set({ ...columns, externalSeenAt: now })
      .where(and(eq(userAccount.id, row.id), isNull(userAccount.deletedAt)))
      .returning()
    if (!fresh) throw new ApiError('user_not_found')
    // What calls remember of the customer is whether the address is verified and the password expired.
    if (isNews) await sessions.announce(tx, row.id)
    return fresh
  }

  /** Ties an account that was made here, before there was a source, to the source's account of its owner. */
  async function adopt(tx: Transaction, row: Account, profile: SourceProfile): Promise<Account> {
    // Who merely typed an address into the source must not get what its owner has here.
    if (!profile.emailVerified || row.externalId !== null) throw new ApiError('email_taken')
    await sessions.endAll(tx, row.id, null)
    await tx.update(userAccount).set({ passwordHash: null }).where(eq(userAccount.id, row.id))
    return await refresh(tx, row, profile)
  }

  async function insert(
    tx: Transaction,
    profile: SourceProfile,
    { currency = CURRENCIES[0], ...extra }: NewAccount,
  ): Promise<Account | null> {
    // The same id on both sides, where the source's is one that fits here.
    const fits = z.uuid().safeParse(profile.id).success
    const wanted = fits ? profile.id.toLowerCase() : null
    // A row stays when its account is deleted here; who comes back from the source is somebody new.
    const isFree = wanted !== null && (await findById(tx, wanted)) === null
    const id = isFree ? wanted : ids.uuid()
    const now = clock.now()
    const [row] = await tx
      .insert(userAccount)
      .values({
        ...columnsOf(profile, { id, emailVerifiedAt: null }),
        ...extra,
        id,
        externalSeenAt: now,
        createdAt: now,
      })
      .onConflictDoNothing()
      .returning()
    if (!row) return null
    await openCustomer(tx, { userId: id, at: now })
    await billing.openWallet(tx, { userId: id, currency })
    await tellReferred(tx, deps.events, { userId: id, code: extra.referralCode, at: now })
    return row
  }

  /**
   * Writes down what the source says, under the row's lock where the row changes.
   * @throws ApiError `email_taken` where the address is another account's here.
   */
  async function write(tx: Transaction, profile: SourceProfile, extra: NewAccount): Promise<Account> {
    const known = await findByExternalId(tx, profile.id)
    if (known) return await refresh(tx, known, profile)
    const [sameAddress] = await tx
      .select()
      .from(userAccount)
      .where(eq(userAccount.email, profile.email))
      .for('update')
    // Somebody may have been quicker between the two looks: first sign-ins at once.
    if (sameAddress?.externalId === profile.id) return await refresh(tx, sameAddress, profile)
    if (sameAddress) return await adopt(tx, sameAddress, profile)
    const made = await insert(tx, profile, extra)
    if (made) return made
    const theirs = await findByExternalId(tx, profile.id)
    if (!theirs) throw new ApiError('email_taken')
    return theirs
  }

  return {
    findByExternalId: (id: string) => findByExternalId(db, id),
    releaseAddress,
    write,

    /**
     * Writes down what the source says, in a transaction of its own.
     * @throws ApiError `email_taken`.
     */
    async keep(profile: SourceProfile, extra: NewAccount = {}): Promise<Account> {
      await releaseAddress(profile)
      const row = await db.transaction(tx => write(tx, profile, extra))
      sessions.forget(row.id)
      return row
    },

    /**
     * Writes down what the source says of an account that is here. Makes none: what the source said before the account
     * was deleted must not bring it back.
     * @throws ApiError `user_not_found` where it was deleted meanwhile, `email_taken`.
     */
    async keepKnown(userId: string, profile: SourceProfile): Promise<void> {
      await releaseAddress(profile)
      await db.transaction(async tx => {
        const row = await findById(tx, userId)
        if (row?.externalId !== profile.id) throw new ApiError('user_not_found')
        await refresh(tx, row, profile)
      })
      sessions.forget(userId)
    },
  }
}
export type Mirror = ReturnType<typeof createMirror>

/** Stands in the column of addresses for none; mail to it reaches nobody (RFC 2606). */
function noAddress(userId: string): string {
  return `${userId}@none.invalid`
}
