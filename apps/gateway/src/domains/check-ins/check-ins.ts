import { type CheckInState, checkInState } from '@berth/contract/check-in'
import { desc, eq } from 'drizzle-orm'
import type { Clock } from '../../platform/clock.ts'
import type { Catalogue } from '../../platform/config/catalogue.ts'
import type { Database, Queryable, Transaction } from '../../platform/database/database.ts'
import type { Events } from '../../platform/events/events.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import type { RateCounts } from '../../platform/http/rate-counts.ts'
import { wireOf } from '../../platform/http/wire.ts'
import type { Ids } from '../../platform/ids.ts'
import type { Billing } from '../billing/billing.ts'
import { forCustomer } from '../customers/customers.ts'
import { accountDeleted } from '../identity/events.ts'
import { dayBefore, dayIn, nextDayIn } from './local-day.ts'
import { checkIn } from './tables.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** In another zone it is another day at once: who says that theirs has changed waits at least so long. */
const OTHER_ZONE_MS = 20 * HOUR_MS
/** And who has deleted an account and made another one with its address. */
const SAME_ADDRESS_MS = OTHER_ZONE_MS

const stateOf = wireOf(checkInState)
type CheckInRow = typeof checkIn.$inferSelect

interface CheckInsDeps {
  db: Database
  clock: Clock
  ids: Ids
  events: Pick<Events, 'on'>
  billing: Pick<Billing, 'lockWallet' | 'grantCredit' | 'totals'>
  catalogue: Pick<Catalogue, 'check_in'>
  /** The address of an account; null where it is not verified. */
  recipient(userId: string): Promise<{ email: string } | null>
  counts: Pick<RateCounts, 'within'>
}

/** The daily check-in: free credit for models, once for each account and day (R1.5). */
export function createCheckIns(deps: CheckInsDeps) {
  const { db, clock, ids, events, billing } = deps
  const offer = deps.catalogue.check_in
  const countAddress = deps.counts.within('check-in address')
  events.on(accountDeleted, 'check-ins', async (tx, { userId }) => {
    await tx.delete(checkIn).where(eq(checkIn.userId, userId))
  })

  async function lastOf(q: Pick<Queryable, 'select'>, userId: string): Promise<CheckInRow | null> {
    const [last] = await q
      .select()
      .from(checkIn)
      .where(eq(checkIn.userId, userId))
      .orderBy(desc(checkIn.day))
      .limit(1)
    return last ?? null
  }

  async function shown(
    userId: string,
    timeZone: string,
    last: CheckInRow | null,
    now: Date,
  ): Promise<CheckInState> {
    const nextAt = nextAfter(last, timeZone, now)
    const today = dayIn(timeZone, now)
    const isUnbroken = last !== null && last.day >= dayBefore(today)
    return stateOf({
      offered: offer !== undefined,
      amountMicro: offer?.amount_micro ?? 0n,
      creditDays: offer?.credit_days ?? 0,
      currency: (await billing.totals(db, userId)).currency,
      done: nextAt !== null,
      streak: isUnbroken ? last.streak : 0,
      nextAt,
    })
  }

  /**
   * Counts a check-in by the account's address, of which a hash outlives the account for some hours. The first one of an
   * account waits where another account had one by that address.
   * @throws ApiError `check_in_done`
   */
  async function countByAddress(
    tx: Transaction,
    { email, isFirst, now }: { email: string; isFirst: boolean; now: Date },
  ): Promise<void> {
    const { current, ttlMs } = await countAddress(tx, email, { windowMs: SAME_ADDRESS_MS })
    if (isFirst && current > 1) throw doneUntil(new Date(now.getTime() + ttlMs))
  }

  return {
    /**
     * What a customer has taken, and when there is more.
     * @param timeZone Of the device that asks.
     */
    async get(userId: string, timeZone: string): Promise<CheckInState> {
      return await shown(userId, timeZone, await lastOf(db, userId), clock.now())
    },

    /**
     * Gives the credit of today. Calls at once wait for each other by the wallet's lock, and the second one finds the first.
     * @throws ApiError `check_in_done` with when it can be done again, `check_in_not_offered`, `login_expired` where the
     *   account was deleted.
     */
    async take(userId: string, timeZone: string): Promise<CheckInState> {
      if (!offer) throw new ApiError('check_in_not_offered')
      const now = clock.now()
      const email = (await deps.recipient(userId))?.email
      if (email === undefined) throw new ApiError('login_expired')
      const row = await db.transaction(async tx => {
        await forCustomer(tx, userId)
        await billing.lockWallet(tx, userId)
        const last = await lastOf(tx, userId)
        const nextAt = nextAfter(last, timeZone, now)
        if (nextAt) throw doneUntil(nextAt)
        await countByAddress(tx, { email, isFirst: last === null, now })
        const day = dayIn(timeZone, now)
        const streak = last?.day === dayBefore(day) ? last.streak + 1 : 1
        const made = { userId, day, timeZone, at: now, streak, grantId: ids.uuid() }
        await tx.insert(checkIn).values(made)
        await billing.grantCredit(tx, {
          ...{ id: made.grantId, userId, amountMicro: offer.amount_micro },
          ...{ kind: 'check_in', reason: 'check_in', modelsOnly: true },
          endsAt: new Date(now.getTime() + offer.credit_days * DAY_MS),
        })
        return made
      })
      return await shown(userId, timeZone, row, now)
    },
  }
}
export type CheckIns = ReturnType<typeof createCheckIns>

function doneUntil(at: Date): ApiError {
  const next = at.toISOString().slice(0, 16).replace('T', ' ')
  return new ApiError('check_in_done', { values: { next } })
}

/**
 * From when on a customer can check in; null now. The day must be a later one than that of the last time, so that going
 * west wins nothing; and who says that their zone is another one waits besides, so that going east wins no second one.
 */
function nextAfter(last: CheckInRow | null, timeZone: string, now: Date): Date | null {
  if (!last) return null
  const isLaterDay = dayIn(timeZone, now) > last.day
  const waitsUntil = last.timeZone === timeZone ? now : new Date(last.at.getTime() + OTHER_ZONE_MS)
  if (isLaterDay) return waitsUntil > now ? waitsUntil : null
  let next = nextDayIn(timeZone, now)
  // The last one may have been on a day that is still to come here.
  while (dayIn(timeZone, next) <= last.day) next = nextDayIn(timeZone, next)
  return waitsUntil > next ? waitsUntil : next
}
