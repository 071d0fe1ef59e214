import { applyCoupon, type CreditLot } from '@berth/contract/credits'
import { formatMicro, microFromCents } from '@berth/contract/money'
import { and, count, eq, inArray, sql, sum } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Ids } from '../../../platform/ids.ts'
import { earlierResult, keepResult } from '../../../platform/once.ts'
import { forCustomer } from '../../customers/customers.ts'
import { lockWallet } from '../ledger/wallet.ts'
import { PAID_STATES, STAYED_CENTS } from '../payments/paid-in.ts'
import { paymentIntent } from '../payments/tables.ts'
import { readLot } from './credit-list.ts'
import { grantCredit } from './grants.ts'
import { coupon, couponRedemption } from './tables.ts'

interface CouponDeps {
  db: Database
  clock: Clock
  ids: Ids
}

export type Coupon = typeof coupon.$inferSelect

const DAY_MS = 86_400_000
/** A code as it is kept, however it was typed. */
export function codeOf(typed: string): string {
  return typed.trim().toUpperCase()
}

/**
 * Redeems a coupon: its amount is a lot of credits from then on (R3.8). The same key again gives the same lot. Lock order:
 * customer, wallet, coupon.
 * @throws ApiError, of several that apply the first: `coupon_not_found`, `coupon_currency`, `coupon_not_yet`,
 *   `coupon_used`, `coupon_ended`, `coupon_used_up`, `coupon_first_topup_only`, `coupon_minimum`.
 */
export async function redeemCoupon(
  { db, clock, ids }: CouponDeps,
  input: { userId: string; idempotencyKey: string; code: string },
): Promise<CreditLot> {
  const { userId } = input
  const call = { userId, operation: applyCoupon.operation, key: input.idempotencyKey }
  return await db.transaction(async tx => {
    await forCustomer(tx, userId)
    const { currency } = await lockWallet(tx, userId)
    const at = clock.now()
    const earlier = await earlierResult(tx, call, at)
    const id = earlier ?? ids.uuid()
    if (earlier === null) {
      const [found] = await tx
        .select()
        .from(coupon)
        .where(eq(coupon.code, codeOf(input.code)))
        .for('update')
      if (!found) throw new ApiError('coupon_not_found')
      const nth = (await redeemedBy(tx, found.id, userId)) + 1
      if (found.currency !== currency) {
        throw new ApiError('coupon_currency', { values: { coupon: found.currency, account: currency } })
      }
      refuseByRow(found, nth, at)
      await refuseByTopups(tx, found, userId)
      const endsAt = found.creditDays === null ? null : new Date(at.getTime() + found.creditDays * DAY_MS)
      const { amountMicro, modelsOnly, code: reason } = found
      const grant = { id, userId, amountMicro, kind: 'coupon', reason, modelsOnly, endsAt } as const
      await grantCredit(tx, { clock, ids }, grant)
      await tx
        .insert(couponRedemption)
        .values({ couponId: found.id, userId, nth, grantId: id, createdAt: at })
      await tx
        .update(coupon)
        .set({ redeemed: sql`${coupon.redeemed} + 1` })
        .where(eq(coupon.id, found.id))
      await keepResult(tx, call, id)
    }
    const lot = await readLot(tx, clock, { userId, id })
    if (!lot) throw new Error(`the lot ${id} that a coupon gave is not there`)
    return lot
  })
}

async function redeemedBy(tx: Transaction, couponId: string, userId: string): Promise<number> {
  const [found] = await tx
    .select({ count: count() })
    .from(couponRedemption)
    .where(and(eq(couponRedemption.couponId, couponId), eq(couponRedemption.userId, userId)))
  return found?.count ?? 0
}

/** What the coupon's own row refuses. @param nth Which redemption of the customer it would be. */
function refuseByRow(found: Coupon, nth: number, now: Date): void {
  const { startsAt, endsAt, perCustomerMax, totalMax, redeemed } = found
  if (startsAt > now) {
    throw new ApiError('coupon_not_yet', {
      values: { from: `${startsAt.toISOString().slice(0, 16).replace('T', ' ')} UTC` },
    })
  }
  if (nth > perCustomerMax) throw new ApiError('coupon_used')
  if (endsAt !== null && endsAt <= now) throw new ApiError('coupon_ended')
  if (totalMax !== null && redeemed >= totalMax) throw new ApiError('coupon_used_up')
}

/** What it asks of the customer's top-ups. The wallet's lock holds new ones back. */
async function refuseByTopups(tx: Transaction, found: Coupon, userId: string): Promise<void> {
  const { firstTopupOnly, paidMinMicro, currency } = found
  if (!firstTopupOnly && paidMinMicro === 0n) return
  const [paid] = await tx
    .select({
      topups: count(),
      cents: sum(STAYED_CENTS).mapWith(Number),
    })
    .from(paymentIntent)
    .where(and(eq(paymentIntent.userId, userId), inArray(paymentIntent.state, [...PAID_STATES])))
  // One that went back as a whole stays the first: the next one is not, and this one is none to give anything for.
  const isFirst = paid?.topups === 1 && paid.cents > 0
  if (firstTopupOnly && !isFirst) throw new ApiError('coupon_first_topup_only')
  const paidMicro = microFromCents(paid?.cents ?? 0)
  if (paidMicro >= paidMinMicro) return
  throw new ApiError('coupon_minimum', {
    values: { needed: formatMicro(paidMinMicro, currency), paid: formatMicro(paidMicro, currency) },
  })
}
