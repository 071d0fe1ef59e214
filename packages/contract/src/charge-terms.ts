/** How long an instance may be paid for in advance (R1.4). */
const CHARGE_CYCLES = ['weekly', 'monthly'] as const
export type ChargeCycle = (typeof CHARGE_CYCLES)[number]

/** Days of a term: always as many, so that each month costs the same by the day. */
export const TERM_DAYS: Record<ChargeCycle, number> = { weekly: 7, monthly: 30 }
