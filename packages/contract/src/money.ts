import { CURRENCIES, type Currency } from './limits.ts'

/** Micro-units in one cent, and in one unit of currency. */
export const MICRO_PER_CENT = 10_000n
export const MICRO_PER_UNIT = 1_000_000n

/**
 * Turns micro-units into cents, towards minus infinity, so that a balance never shows more than is there.
 * @param micro Amount in micro-units.
 * @returns Whole cents.
 */
export function centsFloor(micro: bigint): number {
  const cents = micro / MICRO_PER_CENT
  return Number(micro < 0n && micro % MICRO_PER_CENT !== 0n ? cents - 1n : cents)
}

/**
 * Turns micro-units into cents, towards plus infinity: what must be had so that `micro` is covered.
 * @param micro Amount in micro-units.
 * @returns Whole cents.
 */
export function centsCeil(micro: bigint): number {
  // Taken from zero rather than negated: a plain minus would make nothing into -0.
  return 0 - centsFloor(-micro)
}

/**
 * Turns whole cents into micro-units.
 * @param cents A safe integer.
 * @returns Amount in micro-units.
 * @throws RangeError when `cents` is not a whole number.
 */
export function microFromCents(cents: number): bigint {
  return BigInt(cents) * MICRO_PER_CENT
}

/**
 * Reads an amount that a person typed and gives cents, rounded up to the next cent (R9.3).
 * Works on the digits, never on floating point: `19.999` is 2000, `19.99` is 1999.
 * @param text Such as `25`, `25.5` or ` 25.50 `.
 * @returns Cents, or null when it is not an amount (R5.8).
 */
export function centsFromText(text: string): number | null {
  const match = /^(\d{1,9})(?:\.(\d{1,6}))?$/.exec(text.trim())
  if (!match) return null
  const micro = BigInt(match[1] ?? '0') * MICRO_PER_UNIT + BigInt((match[2] ?? '').padEnd(6, '0'))
  return centsCeil(micro)
}

/**
 * What an interval has cost from its start: floor(seconds × rate ÷ 3600), the one formula of metering.
 * @param elapsedMs Milliseconds since the interval began; negative counts as zero.
 * @param rateMicroPerHour Rate in micro-units an hour.
 * @returns Micro-units due since the start.
 */
export function usageDueMicro(elapsedMs: number, rateMicroPerHour: bigint): bigint {
  const seconds = BigInt(Math.max(0, Math.floor(elapsedMs / 1_000)))
  return (seconds * rateMicroPerHour) / 3_600n
}

/**
 * How long an amount lasts at a rate.
 * @param micro What there is, in micro-units.
 * @param rateMicroPerHour What is spent, in micro-units an hour.
 * @returns Whole seconds, or null when nothing is spent.
 */
export function runwaySeconds(micro: bigint, rateMicroPerHour: bigint): number | null {
  if (rateMicroPerHour <= 0n) return null
  return micro <= 0n ? 0 : Number((micro * 3_600n) / rateMicroPerHour)
}

/**
 * Whether a string names a wallet currency.
 * @param value Any string.
 * @returns True for `USD` and `EUR`.
 */
export function isCurrency(value: string): value is Currency {
  return (CURRENCIES as readonly string[]).includes(value)
}

const SYMBOLS: Record<Currency, string> = { USD: '$', EUR: '€' }

/**
 * Formats an amount for people, with a real minus sign and grouped thousands (R3.6).
 * @param micro Amount in micro-units.
 * @param currency The wallet's currency.
 * @param decimals 2 for amounts (rounded towards minus infinity), 4 where a rate is quoted, 6 on a receipt: all that
 *   the ledger holds.
 * @returns Such as `$1,204.50` or `−$0.45`.
 */
export function formatMicro(micro: bigint, currency: Currency, decimals: 2 | 4 | 6 = 2): string {
  const step = 10n ** BigInt(6 - decimals)
  const negative = micro < 0n
  let units = (negative ? -micro : micro) / step
  // Rounding away from zero on a debit, so that what is shown is never less than what was taken.
  if (negative && -micro % step !== 0n) units += 1n
  const scale = 10n ** BigInt(decimals)
  const whole = (units / scale).toString().replace(/\B(?=(\d{3})+$)/g, ',')
  const fraction = (units % scale).toString().padStart(decimals, '0')
  return `${negative ? '−' : ''}${SYMBOLS[currency]}${whole}.${fraction}`
}
