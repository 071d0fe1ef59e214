import { COUPON_CODE_CHARS_MAX, COUPON_CODE_CHARS_MIN, type Currency } from '@berth/contract/limits'
import { desc, eq, sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Ids } from '../../../platform/ids.ts'
import { forCustomer } from '../../customers/customers.ts'
import { lockWallet } from '../ledger/wallet.ts'
import { type Coupon, codeOf } from './coupons.ts'
import { type Grant, grantCredit } from './grants.ts'
import { coupon, creditGrant } from './tables.ts'

interface DeskDeps {
  db: Database
  clock: Clock
  ids: Ids
}

/** Coupons that one answer lists, the newest. */
const COUPONS_LISTED_MAX = 500
const CODE_PATTERN = /^[A-Z0-9][A-Z0-9_-]*$/

/** A coupon as an operator wants it. */
export interface NewCoupon {
  code: string
  currency: Currency
  amountMicro: bigint
  modelsOnly: boolean
  /** Left out: now. */
  startsAt?: Date | undefined
  endsAt: Date | null
  perCustomerMax: number
  totalMax: number | null
  firstTopupOnly: boolean
  paidMinMicro: bigint
  creditDays: number | null
}

/** Whether a code can be one: letters, digits, `-` and `_`, four to forty of them, in any case (R3.8). */
export function isCouponCode(typed: string): boolean {
  const code = codeOf(typed)
  return (
    code.length >= COUPON_CODE_CHARS_MIN && code.length <= COUPON_CODE_CHARS_MAX && CODE_PATTERN.test(code)
  )
}

/** Those credits cannot be given; the message is for operators, in words. */
export class GrantRefused extends Error {}

/** Refuses an id that stands for other credits than these. @throws GrantRefused. */
async function refuseOther(tx: Transaction, grant: Grant): Promise<void> {
  const [given] = await tx.select().from(creditGrant).where(eq(creditGrant.id, grant.id))
  if (!given) return
  const isSame =
    given.userId === grant.userId &&
    given.amountMicro === grant.amountMicro &&
    given.kind === grant.kind &&
    given.reason === grant.reason &&
    given.endsAt?.getTime() === grant.endsAt?.getTime()
  if (!isSame) throw new GrantRefused('That --id stands for other credits that were given before.')
}

/** What operators do with credits and coupons (R6.5). */
export function createCouponDesk({ db, clock, ids }: DeskDeps) {
  return {
    /**
     * Gives a customer credits. @param grant.id Made where it is left out; the same again gives nothing more.
     * @returns Its id. @throws ApiError `login_expired` where there is no such customer.
     *   GrantRefused where the id stands for other credits.
     */
    async give(grant: Omit<Grant, 'id'> & { id?: string | undefined }): Promise<string> {
      const id = grant.id ?? ids.uuid()
      await db.transaction(async tx => {
        await forCustomer(tx, grant.userId)
        await lockWallet(tx, grant.userId)
        await refuseOther(tx, { ...grant, id })
        await grantCredit(tx, { clock, ids }, { ...grant, id })
      })
      return id
    },

    /** Makes a coupon. @returns It, or null where its code is taken or can be none. */
    async create({ code, startsAt, ...rest }: NewCoupon): Promise<Coupon | null> {
      if (!isCouponCode(code)) return null
      const now = clock.now()
      const values = {
        ...rest,
        id: ids.uuid(),
        code: codeOf(code),
        startsAt: startsAt ?? now,
        createdAt: now,
      }
      const [made] = await db.insert(coupon).values(values).onConflictDoNothing().returning()
      return made ?? null
    },

    /** The newest coupons. */
    list: (): Promise<Coupon[]> =>
      db.select().from(coupon).orderBy(desc(coupon.createdAt), desc(coupon.id)).limit(COUPONS_LISTED_MAX),

    /** One coupon. @throws ApiError `coupon_not_found`. */
    async show(code: string): Promise<Coupon> {
      const [found] = await db
        .select()
        .from(coupon)
        .where(eq(coupon.code, codeOf(code)))
      if (!found) throw new ApiError('coupon_not_found')
      return found
    },

    /**
     * Ends a coupon now: nobody redeems it any more; what was redeemed stays. One that has ended stays as it is.
     * @throws ApiError `coupon_not_found`.
     */
    async end(code: string): Promise<Coupon> {
      const now = clock.now().toISOString()
      const [ended] = await db
        .update(coupon)
        .set({ endsAt: sql`least(${coupon.endsAt}, ${now}::timestamptz)` })
        .where(eq(coupon.code, codeOf(code)))
        .returning()
      if (!ended) throw new ApiError('coupon_not_found')
      return ended
    },
  }
}
