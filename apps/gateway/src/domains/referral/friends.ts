import { eq } from 'drizzle-orm'
import type { Transaction } from '../../platform/database/database.ts'
import { isThereNow } from '../customers/customers.ts'
import { referralNews } from './events.ts'
import type { Links } from './links.ts'
import { maskEmail } from './masked-email.ts'
import { lockWallets, type ReferralDeps } from './referral-deps.ts'
import { bookRewards } from './rewards.ts'
import { claimMarks, findSamePerson, forgetMarks } from './same-person.ts'
import { standingOf } from './standing.ts'
import { referral, referralCode } from './tables.ts'

export type Friend = typeof referral.$inferSelect

/** Friends: who came by whose link, where each stands, and what follows from it. */
export function createFriends(deps: ReferralDeps, links: Links) {
  const { db, clock, ids, billing } = deps

  /**
   * Notes that somebody signed up by a code (R2.11), once for an account. A code that nobody has, and one of an account that
   * is gone, is none; nobody is told.
   */
  async function capture(
    tx: Transaction,
    { userId, code, at }: { userId: string; code: string; at: string },
  ): Promise<void> {
    const ownerId = await links.ownerOf(tx, code)
    if (ownerId === null || ownerId === userId) return
    const contact = await deps.contactOf(tx, userId)
    if (!contact) return
    const { currency } = await billing.totals(tx, ownerId)
    const made = await tx
      .insert(referral)
      .values({
        ...{ id: ids.uuid(), friendId: userId, referrerId: ownerId, currency },
        ...{ maskedEmail: maskEmail(contact.email), registeredAt: new Date(at), state: 'not_activated' },
      })
      .onConflictDoNothing()
      .returning({ id: referral.id })
    for (const { id } of made) await lookIn(tx, id)
  }

  /** Looks at where a friend stands, and books what follows; any number of times. */
  async function lookIn(tx: Transaction, id: string): Promise<void> {
    const [found] = await tx.select().from(referral).where(eq(referral.id, id))
    if (!found) return
    await lockWallets(tx, deps, [found.friendId, found.referrerId])
    const [row] = await tx.select().from(referral).where(eq(referral.id, id))
    // Of a referrer who is gone nothing is earned any more; what was is settled as it stands.
    if (!row || !(await isThereNow(tx, row.referrerId))) return
    const now = clock.now()
    const contact = await deps.contactOf(tx, row.friendId)
    const paid = await billing.paidIn(tx, row.friendId)
    const { currency } = await billing.totals(tx, row.friendId)
    const known = row.samePersonBy && { by: row.samePersonBy, as: row.samePersonAs }
    let same = known ?? (await findSamePerson(tx, deps, row))
    const standingAs = (samePerson: boolean) =>
      standingOf(
        {
          ...{ isVerified: contact?.isVerified ?? null, sameCurrency: currency === row.currency, samePerson },
          ...{ paidMicro: paid.stayedMicro, hasReached: row.reachedAt !== null },
        },
        deps.terms.firstTopupMicro,
      )
    if (standingAs(same !== null).state === 'recharged') same = await claimMarks(tx, deps, row)
    const standing = standingAs(same !== null)
    const counts = standing.state === 'recharged'
    const isFirst = counts && row.reachedAt === null
    const booked = await bookRewards(tx, deps, row, {
      ...{ counts, paidMicro: paid.stayedMicro, paidAt: paid.lastAt ?? now, now },
    })
    await tx
      .update(referral)
      .set({
        ...standing,
        ...booked,
        samePersonBy: same?.by ?? null,
        samePersonAs: same?.as ?? null,
        samePersonAt: same === null ? null : (row.samePersonAt ?? now),
        firstPaidAt: paid.first?.at ?? null,
        firstPaidMicro: paid.first?.amountMicro ?? null,
        paidMicro: paid.stayedMicro,
        ...(isFirst && { reachedAt: now }),
        ...(await friendCredit(tx, row, { counts, isFirst, isThere: contact !== null })),
      })
      .where(eq(referral.id, id))
    if (!isFirst || deps.terms.rewardMicro === 0n) return
    await deps.events.emit(tx, referralNews, {
      ...{ userId: row.referrerId, at: now.toISOString(), news: 'earned', quarter: null },
      ...{ currency: row.currency, amountMicro: deps.terms.rewardMicro.toString(), feeMicro: null },
      ...{ until: null, about: row.maskedEmail },
    })
  }

  /** The friend's own credit: given once, and what is left of it ends where what was paid in goes back. */
  async function friendCredit(
    tx: Transaction,
    row: Friend,
    { counts, isFirst, isThere: isHere }: { counts: boolean; isFirst: boolean; isThere: boolean },
  ): Promise<Partial<Friend>> {
    const { friendId: userId, friendGrantId: grantId } = row
    if (isFirst && isHere && deps.terms.friendRewardMicro > 0n) {
      const id = ids.uuid()
      const { friendRewardMicro: amountMicro } = deps.terms
      await billing.grantCredit(tx, { id, userId, amountMicro, kind: 'referral', reason: 'referred' })
      return { friendGrantId: id }
    }
    if (counts || grantId === null || row.friendGrantEndedAt !== null) return {}
    await billing.endGrant(tx, { userId, grantId })
    return { friendGrantEndedAt: clock.now() }
  }

  return {
    capture,
    lookIn,

    /** Looks at a friend in a transaction of its own. */
    look: (id: string): Promise<void> => db.transaction(tx => lookIn(tx, id)),

    /** Looks at somebody who may be anybody's friend; most are nobody's. */
    async lookAtUser(tx: Transaction, userId: string): Promise<void> {
      const [row] = await tx.select({ id: referral.id }).from(referral).where(eq(referral.friendId, userId))
      if (row) await lookIn(tx, row.id)
    },

    /** Forgets what names a person of an account that was deleted; what was earned stays. */
    async forget(tx: Transaction, userId: string): Promise<void> {
      await tx.delete(referralCode).where(eq(referralCode.userId, userId))
      // Who came by their link is shown to nobody any more.
      await tx.update(referral).set({ maskedEmail: null }).where(eq(referral.referrerId, userId))
      const [row] = await tx
        .update(referral)
        .set({ maskedEmail: null })
        .where(eq(referral.friendId, userId))
        .returning({ id: referral.id })
      if (row) await lookIn(tx, row.id)
      await forgetMarks(tx, userId)
    },
  }
}
