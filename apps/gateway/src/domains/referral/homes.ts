import { and, eq, ne } from 'drizzle-orm'
import type { Transaction } from '../../platform/database/database.ts'
import { quarterAfter, quarterAt, quarterOfDay } from './quarters.ts'
import type { ReferralDeps } from './referral-deps.ts'
import { referralSettlement } from './tables.ts'
import type { Terms } from './terms.ts'

type Settlement = typeof referralSettlement.$inferSelect

/** Quarters that have ended and whose amount can still change. */
const UNSETTLED = ['choosing', 'failed', 'to_be_paid'] as const

/** Whether a quarter of that amount is settled, and not carried over. */
export function isSettled(amountMicro: bigint, { thresholdMicro }: Pick<Terms, 'thresholdMicro'>): boolean {
  return amountMicro > 0n && amountMicro >= thresholdMicro
}

/** Where what a customer earns, or loses again, is booked. */
export interface Homes {
  /** The quarter of a UTC day, or the first one after it that is not closed. */
  quarterFor(day: string): string
  /** Where what a quarter has can still be changed; null once it is settled. */
  homeOf(quarter: string): string | null
}

/** Reads a customer's quarters that are closed. Call it under the wallet's lock. */
export async function readHomes(tx: Transaction, userId: string, now: Date): Promise<Homes> {
  const closed = await tx
    .select()
    .from(referralSettlement)
    .where(and(eq(referralSettlement.userId, userId), ne(referralSettlement.state, 'open')))
  return homesAmong(closed, now)
}

/** The same, of quarters that are closed. */
export function homesAmong(
  closed: readonly Pick<Settlement, 'quarter' | 'state' | 'carriedTo'>[],
  now: Date,
): Homes {
  const rows = new Map(closed.map(row => [row.quarter, row]))
  const last = [...rows.keys()].sort().at(-1)
  const current = quarterAt(now).name
  const next = last === undefined ? null : quarterAfter(last)
  const firstOpen = (quarter: string) => (next !== null && quarter < next ? next : quarter)
  return {
    quarterFor: day => firstOpen(quarterOfDay(day)),
    homeOf(quarter) {
      let name: string | null = quarter
      // Each step is a later quarter.
      while (name !== null) {
        const row = rows.get(name)
        if (!row) return name
        if (UNSETTLED.some(state => state === row.state)) return name
        if (row.state !== 'carried_over') return null
        if (row.carriedTo === null) return firstOpen(current)
        name = row.carriedTo
      }
      return null
    },
  }
}

/**
 * Changes what a quarter that has ended comes to: where it is less than what is settled now, it is carried over. Quarters that
 * are not closed have no sum yet.
 */
export async function changeClosed(
  tx: Transaction,
  { terms }: Pick<ReferralDeps, 'terms'>,
  { userId, quarter, amountMicro }: { userId: string; quarter: string; amountMicro: bigint },
): Promise<void> {
  if (amountMicro === 0n) return
  const isIt = and(eq(referralSettlement.userId, userId), eq(referralSettlement.quarter, quarter))
  const [row] = await tx.select().from(referralSettlement).where(isIt)
  if (!row || row.state === 'open') return
  if (!UNSETTLED.some(state => state === row.state)) throw new Error(`quarter ${quarter} is settled`)
  const next = row.amountMicro + amountMicro
  const isLess = !isSettled(next, terms)
  await tx
    .update(referralSettlement)
    .set({
      amountMicro: next,
      ...(isLess && { state: 'carried_over', restMicro: next, rewardType: null, payoutAt: null }),
    })
    .where(isIt)
}
