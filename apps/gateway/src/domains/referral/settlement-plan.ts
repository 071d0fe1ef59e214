import type { QuarterState, RewardType } from '@berth/contract/referral'
import { splitCash, type Terms } from './terms.ts'

export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS
/** So long before the choice is made for them, customers are reminded of it. */
const REMINDED_MS = 7 * DAY_MS

/** A quarter that has ended and is not settled. */
export interface Settling {
  state: QuarterState
  rewardType: RewardType | null
  chosenAt: Date | null
  closedAt: Date | null
  amountMicro: bigint
  chooseUntil: Date | null
  remindedAt: Date | null
  payoutAt: Date | null
}

export type SettlementStep =
  | { act: 'wait' }
  | { act: 'remind' }
  /** As credits. */
  | { act: 'credit' }
  /** Money is to be paid from that moment on. */
  | { act: 'schedule'; payoutAt: Date }
  /** What it needs is gone: it waits for it anew. */
  | { act: 'unschedule' }
  /** Money is handed to whoever pays. */
  | { act: 'pay' }

const WAIT: SettlementStep = { act: 'wait' }

/**
 * The next step of a quarter that has ended (R9.7): what was chosen is carried out; money waits for a confirmed account, which
 * stays as it is for some hours before it is paid to; without a choice, or without such an account, it is a bonus when the
 * time to choose is over. Nothing is read, and no clock.
 * @param confirmedAt Since when the customer's PayPal account is confirmed; null where it is not, or there is none.
 */
export function nextStep(
  row: Settling,
  { confirmedAt, terms, now }: { confirmedAt: Date | null; terms: Terms; now: Date },
): SettlementStep {
  if (row.state === 'to_be_paid') {
    if (confirmedAt === null || row.payoutAt === null) return { act: 'unschedule' }
    return now >= row.payoutAt ? { act: 'pay' } : WAIT
  }
  if (row.state !== 'choosing' && row.state !== 'failed') return WAIT
  if (row.rewardType === 'bonus') return { act: 'credit' }
  const isPayable = splitCash(row.amountMicro, terms).netMicro > 0n
  if (row.rewardType === 'cash' && confirmedAt !== null && isPayable) {
    const from = [row.closedAt, row.chosenAt, confirmedAt].map(at => at?.getTime() ?? 0)
    return { act: 'schedule', payoutAt: new Date(Math.max(...from) + terms.paypalFrozenHours * HOUR_MS) }
  }
  const untilMs = row.chooseUntil?.getTime() ?? 0
  if (now.getTime() >= untilMs) return { act: 'credit' }
  return row.remindedAt === null && now.getTime() >= untilMs - REMINDED_MS ? { act: 'remind' } : WAIT
}
