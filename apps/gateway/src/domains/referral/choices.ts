import type { RewardType } from '@berth/contract/referral'
import { and, eq } from 'drizzle-orm'
import type { Transaction } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { forCustomer } from '../customers/customers.ts'
import type { PaypalAccounts } from './paypal.ts'
import { quarterAt } from './quarters.ts'
import type { ReferralDeps } from './referral-deps.ts'
import type { Settling } from './settle.ts'
import { referralReward, referralSettlement } from './tables.ts'

/** States in which a choice can still be made, or changed. */
const CHOOSABLE = ['choosing', 'failed', 'to_be_paid'] as const

/**
 * Makes what chooses how a quarter is settled (R2.25). Of one that runs the choice is kept until it ends; of one that has ended
 * it is carried out at once: credits are there, money is to be paid some hours later, if the account is confirmed.
 */
export function createChoices(
  { db, clock, billing }: ReferralDeps,
  { settling, paypal }: { settling: Pick<Settling, 'stepIn'>; paypal: Pick<PaypalAccounts, 'read'> },
) {
  /** Whether a quarter that has no row can be chosen: it runs, or it has ended, is not closed yet and has earned something. */
  async function isChoosable(tx: Transaction, userId: string, quarter: string): Promise<boolean> {
    const current = quarterAt(clock.now()).name
    if (quarter >= current) return quarter === current
    const earned = and(eq(referralReward.userId, userId), eq(referralReward.quarter, quarter))
    return (await tx.$count(referralReward, earned)) > 0
  }

  return {
    /**
     * Chooses.
     * @throws ApiError `not_found` for a quarter of which nothing is known, `settlement_closed` for one that is settled or carried
     *   over, `paypal_required` for money without an account.
     */
    choose: (userId: string, quarter: string, rewardType: RewardType): Promise<void> =>
      db.transaction(async tx => {
        await forCustomer(tx, userId)
        const { currency } = await billing.lockWallet(tx, userId)
        const isIt = and(eq(referralSettlement.userId, userId), eq(referralSettlement.quarter, quarter))
        const [row] = await tx.select().from(referralSettlement).where(isIt)
        if (!row && !(await isChoosable(tx, userId, quarter))) throw new ApiError('not_found')
        const isClosed = row !== undefined && row.state !== 'open'
        if (isClosed && !CHOOSABLE.some(state => state === row.state)) throw new ApiError('settlement_closed')
        if (rewardType === 'cash' && !(await paypal.read(tx, userId))) throw new ApiError('paypal_required')
        if (row?.rewardType === rewardType && row.state !== 'failed') return
        const chosen = { rewardType, chosenAt: clock.now() }
        if (!isClosed) {
          const values = { userId, quarter, currency, state: 'open' as const, ...chosen }
          await tx
            .insert(referralSettlement)
            .values(values)
            .onConflictDoUpdate({
              target: [referralSettlement.userId, referralSettlement.quarter],
              set: chosen,
            })
          return
        }
        await tx
          .update(referralSettlement)
          .set({ ...chosen, state: 'choosing', payoutAt: null, paypalEmail: null })
          .where(isIt)
        await settling.stepIn(tx, userId, quarter)
      }),
  }
}
