import { and, eq } from 'drizzle-orm'
import type { Transaction } from '../../platform/database/database.ts'
import { changeClosed, readHomes } from './homes.ts'
import { type RewardChange, reckonFirstTopup, reckonRebates } from './reckoning.ts'
import type { ReferralDeps } from './referral-deps.ts'
import { type referral, referralReward } from './tables.ts'

type Friend = typeof referral.$inferSelect
type Deps = Pick<ReferralDeps, 'billing' | 'ids' | 'clock' | 'terms'>

/**
 * Books what a friend has earned for their referrer since the last time, and takes back what is not settled where the friend
 * does not count. Call it under the locks of both wallets.
 * @returns What is to be kept of it in the friend's row.
 */
export async function bookRewards(
  tx: Transaction,
  deps: Deps,
  friend: Friend,
  { counts, paidMicro, paidAt, now }: { counts: boolean; paidMicro: bigint; paidAt: Date; now: Date },
): Promise<Pick<Friend, 'rebateParts' | 'cashSeenMicro'>> {
  const { billing, terms } = deps
  const { friendId, referrerId } = friend
  const booked = await tx.select().from(referralReward).where(eq(referralReward.referralId, friend.id))
  const cashSeenMicro = (await billing.cashSpent(tx, [friendId])).get(friendId) ?? 0n
  if (!counts && booked.length === 0) return { rebateParts: friend.rebateParts, cashSeenMicro }
  const homes = await readHomes(tx, referrerId, now)
  const rebates = reckonRebates({
    ...{ counts, booked, days: counts ? await billing.spentDays(tx, friendId) : [] },
    ...{ rebateHundredths: terms.rebateHundredths, rebateParts: friend.rebateParts },
    ...homes,
  })
  const first = reckonFirstTopup({
    counts,
    booked,
    rewardMicro: terms.rewardMicro,
    paidMicro,
    paidAt,
    ...homes,
  })
  const sums = new Map<string, bigint>()
  for (const change of [...first, ...rebates.changes]) {
    await bookChange(tx, deps, friend, change)
    sums.set(change.quarter, (sums.get(change.quarter) ?? 0n) + change.amountMicro)
  }
  // Each quarter once, by all that changes it: what is carried over by a part of that could not be changed by the rest.
  for (const [quarter, amountMicro] of sums) {
    await changeClosed(tx, deps, { userId: referrerId, quarter, amountMicro })
  }
  return { rebateParts: rebates.rebateParts, cashSeenMicro }
}

/** Books a change: its row, and its entry of the ledger. */
async function bookChange(
  tx: Transaction,
  deps: Deps,
  { id: referralId, referrerId: userId }: Friend,
  change: RewardChange,
): Promise<void> {
  const { kind, day, quarter, orderAt, orderMicro, cashMicro, amountMicro } = change
  const isIt = and(
    eq(referralReward.referralId, referralId),
    eq(referralReward.kind, kind),
    eq(referralReward.day, day),
    eq(referralReward.quarter, quarter),
  )
  const [known] = await tx.select().from(referralReward).where(isIt)
  const row = known ?? {
    ...{ id: deps.ids.uuid(), referralId, userId, kind, day, quarter, orderAt },
    ...{ orderMicro: 0n, cashMicro: 0n, amountMicro: 0n, entries: 0 },
  }
  const entries = row.entries + (amountMicro === 0n ? 0 : 1)
  const next = {
    ...row,
    rateHundredths: kind === 'rebate' ? deps.terms.rebateHundredths : null,
    orderMicro: row.orderMicro + orderMicro,
    cashMicro: row.cashMicro + cashMicro,
    amountMicro: row.amountMicro + amountMicro,
    entries,
  }
  if (known) await tx.update(referralReward).set(next).where(isIt)
  else await tx.insert(referralReward).values(next)
  if (amountMicro === 0n) return
  await deps.billing.earnings.book(tx, { key: `${row.id}:${entries}`, userId, rewardId: row.id, amountMicro })
}
