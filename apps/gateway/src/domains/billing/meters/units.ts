/**
 * What a quantity is counted in. `seconds` long ones run with the time: their quantity costs the rate once in that
 * time. Those `of` a number are counted: that many of them cost the rate once.
 */
export const UNITS = {
  hour: { seconds: 3_600 },
  gb_hour: { seconds: 3_600 },
  gb_day: { seconds: 86_400 },
  /** Of a whole term paid in advance: its price is for all of it. */
  week: { of: 1 },
  month: { of: 1 },
  gb_week: { of: 1 },
  gb_month: { of: 1 },
  /** Of what was sent, counted in bytes. */
  traffic_gb: { of: 1_000_000_000 },
  million_tokens: { of: 1_000_000 },
  image: { of: 1 },
  video_second: { of: 1 },
} as const satisfies Record<string, { seconds: number } | { of: number }>

export type Unit = keyof typeof UNITS
export const UNIT_NAMES = Object.keys(UNITS) as [Unit, ...Unit[]]

/** One thing that is measured of a subject, with its price as it was when it ran. */
export interface Meter {
  /** Of the catalogue, such as `compute.rtx-4090`. */
  sku: string
  /** For people, as it was then: `RTX 4090`. */
  label: string
  unit: Unit
  /** How many at once (GPUs, GB), or how many in all (tokens, bytes). A whole number. */
  quantity: number
  /** For one of the unit, in micro-units of the wallet's currency. */
  rateMicro: bigint
}

/** What runs: `rateMicro` in each `rateSeconds`. Kept as a fraction, because not every rate is whole by the hour. */
export interface Rate {
  rateMicro: bigint
  rateSeconds: number
}

/**
 * How many of its unit a quantity is, so that it times the price of one is what it costs: 8 tokens are 0.000008 million.
 * @param quantity As it was measured, in digits.
 * @param unit By its name; one that is not known counts as its own.
 * @returns A plain decimal, exact and without zeros that say nothing.
 */
export function inItsUnit(quantity: string, unit: string): string {
  const { of = 1 } = (UNITS as Partial<Record<string, { of?: number }>>)[unit] ?? {}
  const places = String(of).length - 1
  if (places === 0) return quantity
  const digits = quantity.padStart(places + 1, '0')
  return `${digits.slice(0, -places)}.${digits.slice(-places)}`.replace(/\.?0+$/, '')
}

/** A day holds a whole number of every unit that runs with the time. */
const DAY_S = 86_400n
/** What was counted is reckoned to a millionth of a micro-unit before all of it is rounded down. */
const COUNTED_AT_ONCE = 1_000_000n

/**
 * What meters cost together while they run, without a remainder: by the hour where that is whole, else by the day.
 * @throws Error for a meter that counts instead of running.
 */
export function rateOf(meters: readonly Meter[]): Rate {
  const perDay = meters.reduce((sum, meter) => sum + microPerDay(meter), 0n)
  return perDay % 24n === 0n
    ? { rateMicro: perDay / 24n, rateSeconds: 3_600 }
    : { rateMicro: perDay, rateSeconds: 86_400 }
}

/**
 * What meters cost in all: those that run for a whole term, those that count by their number. Rounded down once.
 * @param termSeconds How long those run; 0 where all of them count.
 */
export function priceOf(meters: readonly Meter[], termSeconds: number): bigint {
  const parts = meters.reduce((sum, meter) => {
    const unit = UNITS[meter.unit]
    return 'seconds' in unit
      ? sum + microPerDay(meter) * BigInt(termSeconds) * COUNTED_AT_ONCE
      : sum + (BigInt(meter.quantity) * meter.rateMicro * COUNTED_AT_ONCE * DAY_S) / BigInt(unit.of)
  }, 0n)
  return parts / (DAY_S * COUNTED_AT_ONCE)
}

/**
 * What a part is: a micro-unit has so many of them. A millisecond of every rate by the hour or by the day is a whole
 * number of parts, so that what is carried from one stretch to the next is exact.
 */
export const PARTS_PER_MICRO = DAY_S * 1_000n

/**
 * What a rate has cost: floor(carried + seconds × rate ÷ its seconds), from the start and for whole seconds, the one
 * formula of everything that runs and of everything that is given back.
 * @param elapsedMs Since it began; negative counts as zero.
 * @param carriedParts What earlier stretches left over, in parts of a micro-unit.
 */
export function costOf({ rateMicro, rateSeconds }: Rate, elapsedMs: number, carriedParts = 0n): bigint {
  const seconds = BigInt(Math.max(0, Math.floor(elapsedMs / 1_000)))
  const perPart = BigInt(rateSeconds)
  return (carriedParts * perPart + seconds * rateMicro * PARTS_PER_MICRO) / (PARTS_PER_MICRO * perPart)
}

/**
 * What a stretch that has ended leaves over for the next one: the part of a second at its end, and the part of a
 * micro-unit that its cost was rounded down by.
 * @param elapsedMs How long it was, in whole milliseconds; negative counts as zero.
 * @returns Parts of a micro-unit, never negative.
 */
export function restOf({ rateMicro, rateSeconds }: Rate, elapsedMs: number, carriedParts: bigint): bigint {
  const ms = BigInt(Math.max(0, Math.floor(elapsedMs)))
  const exactParts = carriedParts + (ms * rateMicro * PARTS_PER_MICRO) / (BigInt(rateSeconds) * 1_000n)
  return exactParts - costOf({ rateMicro, rateSeconds }, elapsedMs, carriedParts) * PARTS_PER_MICRO
}

/**
 * Shares what was due among the meters that ran, so that the shares are the whole: each gets what all up to it have
 * cost, less what all before it have.
 * @param elapsedMs Since they began.
 */
export function sharesOf(meters: readonly Meter[], elapsedMs: number): bigint[] {
  let before = 0n
  let perDay = 0n
  return meters.map(meter => {
    perDay += microPerDay(meter)
    const upToIt = costOf({ rateMicro: perDay, rateSeconds: Number(DAY_S) }, elapsedMs)
    const share = upToIt - before
    before = upToIt
    return share
  })
}

function microPerDay({ unit, quantity, rateMicro, sku }: Meter): bigint {
  const { seconds } = UNITS[unit] as { seconds?: number }
  if (seconds === undefined) throw new Error(`${sku} is counted in ${unit} and does not run with the time`)
  return (BigInt(quantity) * rateMicro * DAY_S) / BigInt(seconds)
}
