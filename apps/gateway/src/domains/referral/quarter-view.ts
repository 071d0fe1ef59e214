import type { Currency } from '@berth/contract/limits'
import { type ReferralQuarter, referralQuarter } from '@berth/contract/referral'
import { wireOf } from '../../platform/http/wire.ts'
import { quarterNamed } from './quarters.ts'
import { DAY_MS, HOUR_MS } from './settlement-plan.ts'
import type { referralSettlement } from './tables.ts'
import { splitCash, type Terms } from './terms.ts'

const quarterOf = wireOf(referralQuarter)
type Settlement = typeof referralSettlement.$inferSelect

/** What was earned in a quarter, as its rewards say. */
export interface Earned {
  rebateMicro: bigint
  firstTopupMicro: bigint
  firstTopups: number
  spentMicro: bigint
}

export const NOTHING_EARNED: Earned = { rebateMicro: 0n, firstTopupMicro: 0n, firstTopups: 0, spentMicro: 0n }

interface Shown {
  name: string
  currency: Currency
  earned: Earned
  /** Null where nothing was chosen and it is not closed. */
  row: Settlement | null
  /** What the quarters before leave for one that is not closed. */
  waitingMicro: bigint
  terms: Terms
}

/** A quarter's summary (R3.13), of one that runs as of one that has ended. */
export function showQuarter({ name, currency, earned, row, waitingMicro, terms }: Shown): ReferralQuarter {
  const { since, until } = quarterNamed(name)
  const earnedMicro = earned.rebateMicro + earned.firstTopupMicro
  const isClosed = row !== null && row.state !== 'open'
  const carriedInMicro = isClosed ? row.carriedInMicro : waitingMicro
  const amountMicro = isClosed ? row.amountMicro : earnedMicro + carriedInMicro
  const split = splitCash(amountMicro, terms)
  const state = row?.state ?? 'open'
  const rewardType = row?.rewardType ?? null
  const isSettled = state === 'credited' || state === 'paid'
  const isCash = rewardType === 'cash'
  return quarterOf({
    ...{ quarter: name, since, until, state, currency },
    totalEarningsMicro: earnedMicro,
    rebateMicro: earned.rebateMicro,
    firstTopupMicro: earned.firstTopupMicro,
    firstTopups: earned.firstTopups,
    spentMicro: earned.spentMicro,
    carriedInMicro,
    amountMicro,
    bonusMicro: amountMicro > 0n ? amountMicro : 0n,
    cashMicro: split.netMicro,
    cashFeeMicro: split.feeMicro,
    rewardType,
    settledPayoutMicro: isSettled ? (row?.netMicro ?? 0n) : 0n,
    pendingPayoutMicro:
      isSettled || state === 'carried_over' ? 0n : pendingOf(amountMicro, isCash, split.netMicro),
    payoutMethod: rewardType === null ? null : isCash ? 'paypal' : 'credits',
    feeMicro: isCash ? (isClosed && row.feeMicro > 0n ? row.feeMicro : split.feeMicro) : 0n,
    paypalAccount: row?.paypalEmail ?? null,
    chooseUntil: chooseUntilOf(row, until, terms),
    payoutAt: row?.payoutAt ?? null,
    paidAt: row?.paidAt ?? null,
    carriedTo: row?.carriedTo ?? null,
    failure: row?.failure ?? null,
  })
}

function pendingOf(amountMicro: bigint, isCash: boolean, netMicro: bigint): bigint {
  if (isCash) return netMicro
  return amountMicro > 0n ? amountMicro : 0n
}

/**
 * Until when the choice can be made or changed. Of a quarter that runs what is chosen is carried out once it has ended: credits
 * at once, money some hours later; without a choice there is time after it.
 */
function chooseUntilOf(row: Settlement | null, until: Date, terms: Terms): Date | null {
  switch (row?.state ?? 'open') {
    case 'open': {
      const afterMs = {
        none: terms.choiceDays * DAY_MS,
        cash: terms.paypalFrozenHours * HOUR_MS,
        bonus: 0,
      }[row?.rewardType ?? 'none']
      return new Date(until.getTime() + afterMs)
    }
    case 'choosing':
    case 'failed':
      return row?.chooseUntil ?? null
    case 'to_be_paid':
      return row?.payoutAt ?? null
    default:
      return null
  }
}
