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

/** An amount as it is typed: a comma is a decimal one as well, where what follows cannot be thousands. */
const TYPED_AMOUNT = /^(\d{1,9})(?:[.,](\d{1,6}))?$/
/** In one country a thousand times of what it is in another. */
const EITHER_WAY = /^[1-9]\d{0,2},\d{3}$/

/**
 * Reads an amount that a person typed and gives cents, rounded up to the next cent (R9.3).
 * Works on the digits, never on floating point: `19.999` is 2000, `19.99` is 1999.
 * @param text Such as `25`, `25.5`, `25,5` or ` 25.50 `.
 * @returns Cents, or null when it is not an amount (R5.8), or may be meant in two ways, such as `1,000`.
 */
export function centsFromText(text: string): number | null {
  const typed = text.trim()
  const match = EITHER_WAY.test(typed) ? null : TYPED_AMOUNT.exec(typed)
  if (!match) return null
  const micro = BigInt(match[1] ?? '0') * MICRO_PER_UNIT + BigInt((match[2] ?? '').padEnd(6, '0'))
  return centsCeil(micro)
}

/**
 * Whether a text that is no amount is one with its thousands set apart, as `1,000`, `1.234,50`, `1 000` or `1'000`: whoever
 * typed it is told to leave that out.
 */
export function hasThousandsApart(text: string): boolean {
  if (centsFromText(text) !== null) return false
  return /^\d{1,3}(?:[.,'’ \u00a0\u202f]\d{3})+(?:[.,]\d+)?$/.test(text.trim())
}

/** Whether a text is an amount with parts of a cent, such as `0,0003`; `1.500` has none. */
export function hasPartsOfCent(text: string): boolean {
  return centsFromText(text) !== null && /[.,]\d{2}\d*[1-9]/.test(text)
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

/** How many decimals an amount can be written with; the ledger holds six. */
export type Decimals = 2 | 4 | 6

/**
 * Writes an amount with so many decimals, with a real minus sign and grouped thousands (R3.6). This is the one rounding
 * of what is shown: to the nearest, halves away from zero, so that −x reads as x does.
 * @param micro Amount in micro-units.
 * @param currency The wallet's currency.
 * @param decimals 2 for amounts, 4 where a rate is quoted.
 * @returns Such as `$1,204.50` or `−$0.45`; what rounds to nothing has no sign.
 */
export function formatMicro(micro: bigint, currency: Currency, decimals: Decimals = 2): string {
  const steps = roundedSteps(micro, decimals)
  const scale = 10n ** BigInt(decimals)
  const size = steps < 0n ? -steps : steps
  const whole = (size / scale).toString().replace(/\B(?=(\d{3})+$)/g, ',')
  const fraction = (size % scale).toString().padStart(decimals, '0')
  return `${steps < 0n ? '−' : ''}${SYMBOLS[currency]}${whole}.${fraction}`
}

/**
 * Writes an amount so that it never reads as nothing when there is something: in cents, below one cent with four
 * decimals, and below those as `<$0.0001`.
 * @param micro Amount in micro-units.
 * @param currency The wallet's currency.
 * @returns Such as `$12.40`, `−$0.0005` or `<$0.0001`.
 */
export function formatAmount(micro: bigint, currency: Currency): string {
  return micro !== 0n && isBelowCent(micro)
    ? formatPart(micro, roundedSteps(micro, 4), currency, 4)
    : formatMicro(micro, currency)
}

/**
 * Writes all that the ledger holds of an amount, without zeros that say nothing, for receipts.
 * @param micro Amount in micro-units.
 * @param currency The wallet's currency.
 * @returns Such as `$25.00`, `$0.0005` or `−$1.234567`.
 */
export function formatExact(micro: bigint, currency: Currency): string {
  return formatMicro(micro, currency, 6).replace(/0{1,4}$/, '')
}

/**
 * Writes an amount as a plain decimal with all that the ledger holds, for programs and spreadsheets.
 * @param micro Amount in micro-units.
 * @returns Such as `1204.500000` or `-0.002917`.
 */
export function microDecimal(micro: bigint): string {
  const size = micro < 0n ? -micro : micro
  const fraction = (size % MICRO_PER_UNIT).toString().padStart(6, '0')
  return `${micro < 0n ? '-' : ''}${size / MICRO_PER_UNIT}.${fraction}`
}

/**
 * Writes a rate: in cents where it is whole cents, else with four decimals. One that is quoted has four in any case, but
 * for nothing, which is `$0.00` wherever it stands.
 * @param micro Micro-units for one of its unit.
 * @param currency The wallet's currency.
 * @returns Such as `$0.84` or `$1.4020`.
 */
export function formatRate(micro: bigint, currency: Currency, quoted = false): string {
  const isShort = micro === 0n || (!quoted && micro % MICRO_PER_CENT === 0n)
  return formatMicro(micro, currency, isShort ? 2 : 4)
}

/**
 * Writes amounts that stand beside their sum, so that what is read adds up: each part is what the rounded sum grows by
 * with it, which is within one step of its own rounding.
 * @param parts Amounts in micro-units, in the order in which they are read.
 * @param currency The wallet's currency.
 * @param decimals Of all of them; by itself 2, and 4 where the sum is below a cent.
 * @returns Their texts and that of their sum. A part that rounds to nothing reads as `<$0.01`, and
 *   one that is nothing as `$0.00`.
 */
export function formatParts(
  parts: readonly bigint[],
  currency: Currency,
  decimals?: Decimals,
): { parts: string[]; total: string } {
  const total = parts.reduce((sum, part) => sum + part, 0n)
  const places = decimals ?? (total !== 0n && isBelowCent(total) ? 4 : 2)
  let sum = 0n
  const texts = parts.map(part => {
    const before = roundedSteps(sum, places)
    sum += part
    return formatPart(part, roundedSteps(sum, places) - before, currency, places)
  })
  return { parts: texts, total: formatPart(total, roundedSteps(total, places), currency, places) }
}

function isBelowCent(micro: bigint): boolean {
  return micro < MICRO_PER_CENT && micro > -MICRO_PER_CENT
}

/** How many steps of the last decimal an amount rounds to: the nearest, halves away from zero. */
function roundedSteps(micro: bigint, decimals: Decimals): bigint {
  const step = 10n ** BigInt(6 - decimals)
  const half = step / 2n
  return (micro + (micro < 0n ? -half : half)) / step
}

/** A number of steps, or that there is less than one of them where there is something. */
function formatPart(micro: bigint, steps: bigint, currency: Currency, decimals: Decimals): string {
  const step = 10n ** BigInt(6 - decimals)
  if (micro === 0n && steps === 0n) return formatMicro(0n, currency)
  if (steps !== 0n) return formatMicro(steps * step, currency, decimals)
  return `${micro < 0n ? '−' : ''}<${formatMicro(step, currency, decimals)}`
}
