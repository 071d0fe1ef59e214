import { MICRO_PER_CENT } from '@berth/contract/money'
import type { Catalogue } from '../../platform/config/catalogue.ts'

/** What referring earns and how it is settled, as the catalogue says (R9.7). */
export type Terms = Catalogue['referral']

/** Rates are hundredths of a percent, so that a rate of cash is a whole number of these parts of a micro-unit. */
export const RATE_PARTS = 10_000n

const HUNDREDTHS = 100

/** The terms as the contract says them: amounts in cents, rates in percent. */
export function termsOnWire(terms: Terms) {
  const cents = (micro: bigint) => Number(micro / MICRO_PER_CENT)
  return {
    reward: cents(terms.rewardMicro),
    friendReward: cents(terms.friendRewardMicro),
    firstTopup: cents(terms.firstTopupMicro),
    rebateRate: percentOf(terms.rebateHundredths),
    threshold: cents(terms.thresholdMicro),
    cashFeeRate: percentOf(terms.cashFeeHundredths),
    choiceDays: terms.choiceDays,
    paypalFrozenHours: terms.paypalFrozenHours,
  }
}

/** Hundredths of a percent as percent. */
export function percentOf(hundredths: number): number {
  return hundredths / HUNDREDTHS
}

/** The greatest whole number that is no more than a fraction; the divisor is positive. */
export function floorDiv(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor
  return dividend % divisor < 0n ? quotient - 1n : quotient
}

/** A quarter's amount as money: whole cents less the fee, and what is less than a cent and stays. */
export interface CashSplit {
  netMicro: bigint
  feeMicro: bigint
  restMicro: bigint
}

/**
 * What paying an amount as money comes to (R9.7). The amount is taken in whole cents; the fee's part of a cent is the
 * customer's, and what the amount has beyond a cent waits for the next quarter, so that nothing is lost.
 */
export function splitCash(
  amountMicro: bigint,
  { cashFeeHundredths }: Pick<Terms, 'cashFeeHundredths'>,
): CashSplit {
  if (amountMicro <= 0n) return { netMicro: 0n, feeMicro: 0n, restMicro: amountMicro }
  const grossCents = amountMicro / MICRO_PER_CENT
  const feeCents = (grossCents * BigInt(cashFeeHundredths)) / RATE_PARTS
  return {
    netMicro: (grossCents - feeCents) * MICRO_PER_CENT,
    feeMicro: feeCents * MICRO_PER_CENT,
    restMicro: amountMicro - grossCents * MICRO_PER_CENT,
  }
}
