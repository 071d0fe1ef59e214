import { type ChargeCycle, TERM_DAYS } from '@berth/contract/charge-terms'
import { MICRO_PER_CENT } from '@berth/contract/money'
import * as z from 'zod'

/** Percent that a term costs less than its hours on demand, where the catalogue does not say another discount. */
const DISCOUNT_PERCENT = { weekly: 10, monthly: 20 }
const DISCOUNT_PERCENT_MAX = 99

const percent = z.number().int().min(0).max(DISCOUNT_PERCENT_MAX)

/** What terms paid in advance cost less, in percent, where no price of their own is written. */
export const termDiscounts = z.strictObject({ weekly: percent, monthly: percent }).default(DISCOUNT_PERCENT)
export type TermDiscounts = z.output<typeof termDiscounts>

/** What a spec says of its price: on demand, and for terms where it has prices of its own. */
export interface SpecPrices {
  price_micro_per_hour: bigint
  term_prices_micro: Partial<Record<ChargeCycle, bigint>>
}

/**
 * What a GPU (a machine of a CPU spec) costs for a term: the price that is written for it, else its hours less the
 * discount, rounded down to the whole cent.
 * @returns Micro-units.
 */
export function termPriceMicro(spec: SpecPrices, discounts: TermDiscounts, cycle: ChargeCycle): bigint {
  const written = spec.term_prices_micro[cycle]
  if (written !== undefined) return written
  const exact = discountedMicro(spec.price_micro_per_hour, discounts, cycle)
  return exact - (exact % MICRO_PER_CENT)
}

/**
 * What something that costs so much by the hour costs for a term, rounded down to the micro-unit.
 * @param microPerHour Of one GB of disk, say.
 */
export function discountedMicro(microPerHour: bigint, discounts: TermDiscounts, cycle: ChargeCycle): bigint {
  return (onDemandMicro(microPerHour, cycle) * BigInt(100 - discounts[cycle])) / 100n
}

/**
 * What is wrong with a spec's own price of a term; null where nothing is, or none is written.
 * @returns The end of a sentence, for operators.
 */
export function termPriceTrouble(spec: SpecPrices, cycle: ChargeCycle): string | null {
  const written = spec.term_prices_micro[cycle]
  if (written === undefined) return null
  if (written === 0n && spec.price_micro_per_hour > 0n) return 'is nothing, though an hour costs something'
  if (written > onDemandMicro(spec.price_micro_per_hour, cycle)) {
    return `is more than its ${TERM_DAYS[cycle]} days cost by the hour`
  }
  return null
}

function onDemandMicro(microPerHour: bigint, cycle: ChargeCycle): bigint {
  return microPerHour * 24n * BigInt(TERM_DAYS[cycle])
}
