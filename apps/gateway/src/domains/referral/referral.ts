import type { Invitation } from '@berth/contract/invitation'
import type { Language } from '@berth/contract/limits'
import type { RewardType } from '@berth/contract/referral'
import { createLoop } from '../../platform/loop.ts'
import { disputeWon, paymentDisputed, paymentRefunded, refundFailed, topUpPaid } from '../billing/events.ts'
import { accountDeleted, accountReferred, accountVerified } from '../identity/events.ts'
import { createChoices } from './choices.ts'
import { openOrderFile, openRecordFile } from './files.ts'
import { createFriends } from './friends.ts'
import { createLinks } from './links.ts'
import { listOrders, listRecords, type OrderFilter, type RecordFilter } from './lists.ts'
import { createPayoutDesk } from './payout-desk.ts'
import { createPayouts } from './payouts.ts'
import { createPaypalAccounts } from './paypal.ts'
import { quarterAt } from './quarters.ts'
import type { ReferralDeps } from './referral-deps.ts'
import { createSettling } from './settle.ts'
import { createSummaries } from './summary.ts'
import { termsOnWire } from './terms.ts'

const LISTENER = 'referral'
/** Pause between two rounds: rebates and quarters are reckoned by days, and a payout is due to the hour. */
const SETTLING_MS = 600_000
const PAYOUTS_MS = 60_000

type OfQuarter<Filter extends { quarter: string }> = Omit<Filter, 'quarter'> & {
  quarter?: string | undefined
}

/**
 * Makes the referral domain (R1.6): who came by whose link, what that earns, and how it is paid. It hears what happens to
 * friends by events and looks at each of them as a whole then, so that events may come in any order, twice and late.
 */
export function createReferral(deps: ReferralDeps) {
  const { db, clock, events } = deps
  const links = createLinks(deps)
  const friends = createFriends(deps, links)
  const settling = createSettling(deps, friends.look)
  const payouts = createPayouts(deps)

  const paypal = createPaypalAccounts(deps)
  const summaries = createSummaries(deps, { links, paypal })
  const { choose } = createChoices(deps, { settling, paypal })

  events.on(accountReferred, LISTENER, friends.capture)
  events.on(accountVerified, LISTENER, (tx, { userId }) => friends.lookAtUser(tx, userId))
  for (const moved of [topUpPaid, paymentRefunded, paymentDisputed, disputeWon, refundFailed]) {
    events.on<{ userId: string }>(moved, LISTENER, (tx, { userId }) => friends.lookAtUser(tx, userId))
  }
  events.on(accountDeleted, LISTENER, async (tx, { userId }) => {
    await paypal.forget(tx, userId)
    await friends.forget(tx, userId)
  })

  const lease = { db, clock, owner: deps.owner }
  const loops = [
    createLoop({ name: 'referral.settling', pauseMs: SETTLING_MS, lease, log: deps.log, run: settling.run }),
    createLoop({ name: 'referral.payouts', pauseMs: PAYOUTS_MS, lease, log: deps.log, run: payouts.run }),
  ]
  const withQuarter = <Filter extends { quarter: string }>(filter: OfQuarter<Filter>) => ({
    ...filter,
    quarter: filter.quarter ?? quarterAt(clock.now()).name,
  })

  return {
    start(): void {
      for (const loop of loops) loop.start()
    },
    async stop(): Promise<void> {
      await Promise.all(loops.map(loop => loop.stop()))
    },

    /** One round of rebates, quarters and choices, as the loop makes it. */
    settle: settling.run,
    /** Looks at somebody who may be a friend, as every event of theirs does. */
    lookAtUser: friends.lookAtUser,
    /** One round of payouts. */
    payOut: payouts.run,

    /** What the page begins with (R2.28). */
    summary: summaries.summary,
    /** What whoever follows a link with that code is told. */
    async invitation(code: string): Promise<Invitation> {
      const { friendReward, firstTopup } = termsOnWire(deps.terms)
      const known = (await links.ownerOf(db, code)) !== null
      return { known, friend_reward: friendReward, first_topup: firstTopup }
    },

    /** A page of an account's quarters (R3.13). */
    quarters: summaries.quarters,

    /** A page of invited users; figures are those of the quarter that runs, where none is said. */
    records: (userId: string, query: OfQuarter<RecordFilter> & { page: number; page_size: number }) =>
      listRecords(deps, userId, {
        ...withQuarter<RecordFilter>(query),
        page: query.page,
        page_size: query.page_size,
      }),
    /** The same rows as CSV; whoever has no use for it any more destroys it. */
    recordFile: (userId: string, filter: OfQuarter<RecordFilter>, language: Language) =>
      openRecordFile(deps, userId, withQuarter<RecordFilter>(filter), language),

    /** A page of order rewards. */
    orders: (userId: string, query: OrderFilter & { page: number; page_size: number }) =>
      listOrders(deps, userId, query),
    /** The same rows as CSV. */
    orderFile: (userId: string, filter: OrderFilter, language: Language) =>
      openOrderFile(deps, userId, filter, language),

    /**
     * Chooses how a quarter is settled (R2.25). @returns It as it is now.
     * @throws ApiError `not_found`, `settlement_closed`, `paypal_required`.
     */
    async choose(userId: string, quarter: string, rewardType: RewardType) {
      await choose(userId, quarter, rewardType)
      return await summaries.quarter(userId, quarter)
    },

    /** The PayPal account: as it is, saying it, confirming it, another mail, removing it (R5.11). */
    paypal: {
      get: paypal.get,
      set: paypal.set,
      confirm: paypal.confirm,
      resend: paypal.resend,
      remove: paypal.remove,
    },

    /** What operators do with payouts: list, export, say that one was paid or was not; and whom they see refused. */
    payouts: createPayoutDesk(deps, payouts),
  }
}
export type Referral = ReturnType<typeof createReferral>
