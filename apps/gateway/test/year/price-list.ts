import { parse } from 'yaml'
import { type Fraction, floor, fraction, times, written } from './fractions.ts'

/** How long is paid in advance. */
export type Cycle = 'weekly' | 'monthly'

/** A week is 7 days and a month is 30, to the second (decision 0067). */
export const TERM_DAYS: Record<Cycle, number> = { weekly: 7, monthly: 30 }
/** Of the container disk so much is free (R9.5); of what is beside it, nothing. */
const FREE_GB = 20
const MICRO_PER_CENT = 10_000n
const MICRO = fraction(1_000_000n)

/** What a machine is as far as its price goes. */
export interface Sized {
  region: string
  spec: string
  count: number
  diskGb: number
  podVolumeGb: number
}

/** What a machine costs: in micro-units an hour while it runs and while it is off, for a term, and for a GB that it sends. */
export interface MachinePrice {
  running: bigint
  stopped: bigint
  term: Record<Cycle, bigint>
  sentGb: bigint
}

/** The operator's file, as far as it says prices. */
interface File {
  prices: Record<'disk_gb_hour' | 'volume_gb_day' | 'image_gb_day' | 'public_ip_hour', string> & {
    term_discount_percent: Record<Cycle, number>
  }
  regions: { code: string; traffic_gb?: string }[]
  gpu_specs: { id: string; price_per_hour: string }[]
}

/**
 * Reads a price list as whoever writes it means it: from the text of its file, without the gateway's own reader.
 * @param text YAML, as `config/catalogue.yaml`.
 */
export function readPrices(text: string) {
  const { prices, regions, gpu_specs } = parse(text) as File
  const micro = (amount: string) => floor(times(written(amount), MICRO))
  const gbHour = micro(prices.disk_gb_hour)

  /** What an hour costs for all of a term, less its discount, not rounded yet. */
  function discounted(perHour: bigint, cycle: Cycle): Fraction {
    const percent = fraction(BigInt(100 - prices.term_discount_percent[cycle]), 100n)
    return times(fraction(perHour * 24n * BigInt(TERM_DAYS[cycle])), percent)
  }

  return {
    machine({ region, spec, count, diskGb, podVolumeGb }: Sized): MachinePrice {
      const perHour = micro(gpu_specs.find(({ id }) => id === spec)?.price_per_hour ?? '')
      const paidGb = BigInt(Math.max(0, diskGb - FREE_GB) + podVolumeGb)
      const stopped = paidGb * gbHour
      const term = (cycle: Cycle) => {
        // A GPU is rounded down to the cent, a GB of disk to the micro-unit.
        const exact = floor(discounted(perHour, cycle))
        const machine = (exact - (exact % MICRO_PER_CENT)) * BigInt(count)
        return machine + paidGb * floor(discounted(gbHour, cycle))
      }
      return {
        running: perHour * BigInt(count) + stopped,
        stopped,
        term: { weekly: term('weekly'), monthly: term('monthly') },
        sentGb: micro(regions.find(({ code }) => code === region)?.traffic_gb ?? '0'),
      }
    },
    volumeGbDay: micro(prices.volume_gb_day),
    imageGbDay: micro(prices.image_gb_day),
    addressHour: micro(prices.public_ip_hour),
  }
}
export type PriceList = ReturnType<typeof readPrices>
