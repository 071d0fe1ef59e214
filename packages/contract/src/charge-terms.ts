import * as z from 'zod'
import { micro } from './fields.ts'

/** How long an instance may be paid for in advance (R1.4). */
export const CHARGE_CYCLES = ['weekly', 'monthly'] as const
export type ChargeCycle = (typeof CHARGE_CYCLES)[number]

/** Days of a term: always as many, so that each month costs the same by the day. */
export const TERM_DAYS: Record<ChargeCycle, number> = { weekly: 7, monthly: 30 }

/** How far ahead an instance may be paid for. */
export const TERM_AHEAD_DAYS_MAX = 366

/** Before a term ends, its customer is told on these days what will become of the instance. */
export const TERM_NOTICE_DAYS = [3, 1] as const

/** What a term costs, all of it paid in advance. */
export const termPrice = z.object({
  charge_cycle: z.enum(CHARGE_CYCLES),
  days: z.number().int(),
  /** The machine, the disk that is over the free part, and the one beside that; for the whole term, running or stopped. */
  machine_micro: micro,
  disk_micro: micro,
  own_disk_micro: micro,
  /** All of them: what is taken when the instance is ready. */
  price_micro: micro,
})
z.globalRegistry.add(termPrice, { id: 'TermPrice' })
export type TermPrice = z.infer<typeof termPrice>
