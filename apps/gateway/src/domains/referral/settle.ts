import { and, asc, eq, gt, inArray, isNull, lt, lte, ne, notExists, or, sql, sum } from 'drizzle-orm'
import type { Transaction } from '../../platform/database/database.ts'
import { referralNews } from './events.ts'
import { isSettled } from './homes.ts'
import { quarterAt, quarterNamed } from './quarters.ts'
import type { ReferralDeps } from './referral-deps.ts'
import { DAY_MS, HOUR_MS, nextStep } from './settlement-plan.ts'
import { carryOut } from './settlement-steps.ts'
import { paypalAccount, referral, referralReward, referralSettlement } from './tables.ts'

/**
 * A quarter is closed so long after its end: by then its last hour is posted. What is known later counts in the next one.
 */
const CLOSE_AFTER_MS = 6 * HOUR_MS
/** One that is closed much later than that, because no gateway was there, leaves as much time to choose. */
const CLOSED_LATE_MS = DAY_MS
/** Friends, and quarters, that are read at once. */
const PAGE = 500

type Settlement = typeof referralSettlement.$inferSelect

/** Reckons rebates, closes quarters that have ended, and carries out what was chosen. */
export function createSettling(deps: ReferralDeps, look: (referralId: string) => Promise<void>) {
  const { db, clock, billing, log } = deps

  /** Looks at all friends who count and have spent since the last time. @returns How many. */
  async function reckonAll(signal?: AbortSignal): Promise<number> {
    let count = 0
    for (let after: string | null = null; !signal?.aborted; ) {
      const page: { id: string; friendId: string; cashSeenMicro: bigint }[] = await db
        .select({ id: referral.id, friendId: referral.friendId, cashSeenMicro: referral.cashSeenMicro })
        .from(referral)
        .where(and(eq(referral.state, 'recharged'), after === null ? undefined : gt(referral.id, after)))
        .orderBy(asc(referral.id))
        .limit(PAGE)
      const spent = await billing.cashSpent(
        db,
        page.map(({ friendId }) => friendId),
      )
      for (const { id, friendId, cashSeenMicro } of page) {
        if (signal?.aborted) return count
        if ((spent.get(friendId) ?? 0n) === cashSeenMicro) continue
        await each(() => look(id), { referralId: id })
        count += 1
      }
      after = page.at(-1)?.id ?? null
      if (page.length < PAGE) break
    }
    return count
  }

  /** One that fails never keeps the others. */
  async function each(run: () => Promise<void>, about: object): Promise<void> {
    try {
      await run()
    } catch (error) {
      log.error(
        { err: error, ...about },
        'what was earned by referring could not be looked at; the next round tries again',
      )
    }
  }

  /** Accounts that have earned, or chosen, something in quarters that are to be closed; the earliest first. */
  async function dueToClose(): Promise<{ userId: string; quarter: string }[]> {
    const current = quarterAt(new Date(clock.now().getTime() - CLOSE_AFTER_MS)).name
    const closed = db
      .select({ one: sql`1` })
      .from(referralSettlement)
      .where(
        and(
          eq(referralSettlement.userId, referralReward.userId),
          eq(referralSettlement.quarter, referralReward.quarter),
          ne(referralSettlement.state, 'open'),
        ),
      )
    return await db
      .selectDistinct({ userId: referralReward.userId, quarter: referralReward.quarter })
      .from(referralReward)
      .where(and(lt(referralReward.quarter, current), notExists(closed)))
      .orderBy(asc(referralReward.quarter), asc(referralReward.userId))
  }

  /** Looks at an account's friends once more, each by itself, so that what is closed is whole. */
  async function lookAtFriendsOf(userId: string): Promise<void> {
    const rows = await db
      .select({ id: referral.id })
      .from(referral)
      .where(and(eq(referral.referrerId, userId), ne(referral.state, 'not_activated')))
      .orderBy(asc(referral.id))
    for (const { id } of rows) await look(id)
  }

  /** Closes a quarter of an account: what it comes to, and whether that is settled. Once, whoever comes. */
  async function close(userId: string, quarter: string): Promise<void> {
    await lookAtFriendsOf(userId)
    await db.transaction(async tx => {
      const { currency } = await billing.lockWallet(tx, userId)
      const isIt = and(eq(referralSettlement.userId, userId), eq(referralSettlement.quarter, quarter))
      const [known] = await tx.select().from(referralSettlement).where(isIt)
      if (known && known.state !== 'open') return
      const now = clock.now()
      const [earned] = await tx
        .select({ micro: sum(referralReward.amountMicro).mapWith(BigInt) })
        .from(referralReward)
        .where(and(eq(referralReward.userId, userId), eq(referralReward.quarter, quarter)))
      const carriedInMicro = await carryIn(tx, userId, quarter)
      const amountMicro = (earned?.micro ?? 0n) + carriedInMicro
      const settles = isSettled(amountMicro, deps.terms)
      const { until } = quarterNamed(quarter)
      const isLate = now.getTime() - until.getTime() > CLOSED_LATE_MS
      const from = isLate ? now : until
      const chooseUntil = new Date(from.getTime() + deps.terms.choiceDays * DAY_MS)
      const closed = {
        state: settles ? 'choosing' : 'carried_over',
        closedAt: now,
        carriedInMicro,
        amountMicro,
        ...(settles ? { chooseUntil } : { restMicro: amountMicro, rewardType: null }),
      } as const
      if (known) await tx.update(referralSettlement).set(closed).where(isIt)
      else await tx.insert(referralSettlement).values({ userId, quarter, currency, ...closed })
      if (settles && !known?.rewardType) {
        await deps.events.emit(tx, referralNews, {
          ...{
            userId,
            at: now.toISOString(),
            news: 'choose',
            quarter,
            currency,
            feeMicro: null,
            about: null,
          },
          ...{ amountMicro: amountMicro.toString(), until: chooseUntil.toISOString() },
        })
      }
    })
  }

  /** Takes what quarters before left, each once. */
  async function carryIn(tx: Transaction, userId: string, quarter: string): Promise<bigint> {
    const rows = await tx
      .update(referralSettlement)
      .set({ carriedTo: quarter })
      .where(
        and(
          eq(referralSettlement.userId, userId),
          lt(referralSettlement.quarter, quarter),
          isNull(referralSettlement.carriedTo),
          ne(referralSettlement.restMicro, 0n),
        ),
      )
      .returning({ micro: referralSettlement.restMicro })
    return rows.reduce((all, { micro }) => all + micro, 0n)
  }

  /** One look at a quarter that has ended, under the wallet's lock. */
  async function step(userId: string, quarter: string): Promise<void> {
    await db.transaction(async tx => {
      await billing.lockWallet(tx, userId)
      await stepIn(tx, userId, quarter)
    })
  }

  async function stepIn(tx: Transaction, userId: string, quarter: string): Promise<Settlement | null> {
    const isIt = and(eq(referralSettlement.userId, userId), eq(referralSettlement.quarter, quarter))
    // A step may be followed by another at once, such as money that is no longer to be paid.
    for (let count = 0; count < STEPS_MAX; count += 1) {
      const [row] = await tx.select().from(referralSettlement).where(isIt)
      if (!row) return null
      const [account] = await tx
        .select({ confirmedAt: paypalAccount.confirmedAt, email: paypalAccount.email })
        .from(paypalAccount)
        .where(eq(paypalAccount.userId, userId))
      const confirmedAt = account?.confirmedAt ?? null
      const plan = nextStep(row, { confirmedAt, terms: deps.terms, now: clock.now() })
      if (plan.act === 'wait') return row
      await carryOut(tx, deps, { row, plan, email: account?.email ?? '' })
    }
    const [row] = await tx.select().from(referralSettlement).where(isIt)
    return row ?? null
  }

  /** Carries out what is due of all quarters that have ended. */
  async function stepAll(signal?: AbortSignal): Promise<void> {
    const now = clock.now()
    const remindBy = new Date(now.getTime() + 8 * DAY_MS)
    const rows = await db
      .select({
        userId: referralSettlement.userId,
        quarter: referralSettlement.quarter,
        state: referralSettlement.state,
      })
      .from(referralSettlement)
      .where(
        or(
          and(eq(referralSettlement.state, 'to_be_paid'), lte(referralSettlement.payoutAt, now)),
          and(
            inArray(referralSettlement.state, ['choosing', 'failed']),
            or(
              sql`${referralSettlement.rewardType} is not null`,
              lte(referralSettlement.chooseUntil, remindBy),
            ),
          ),
        ),
      )
      .orderBy(asc(referralSettlement.chooseUntil))
    for (const { userId, quarter, state } of rows) {
      if (signal?.aborted) return
      const run = async () => {
        // Before money leaves: the account that it goes to may be a friend's by now.
        if (state === 'to_be_paid') await lookAtFriendsOf(userId)
        await step(userId, quarter)
      }
      await each(run, { userId, quarter })
    }
  }

  return {
    stepIn,

    /** One round: rebates, quarters that have ended, what was chosen. */
    async run(signal?: AbortSignal): Promise<void> {
      await reckonAll(signal)
      for (const { userId, quarter } of await dueToClose()) {
        if (signal?.aborted) return
        await each(() => close(userId, quarter), { userId, quarter })
      }
      await stepAll(signal)
    },
  }
}
export type Settling = ReturnType<typeof createSettling>

/** More than follow each other at once. */
const STEPS_MAX = 4
