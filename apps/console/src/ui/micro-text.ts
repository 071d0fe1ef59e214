/** Micro-units in one unit of currency have this many digits. */
const MICRO_DIGITS = 6

/**
 * Reads a price of the address.
 * @param text Digits with at most six decimals, as its schema lets through.
 * @returns Micro-units.
 */
export function microFromText(text: string): bigint {
  const [units = '0', decimals = ''] = text.split('.')
  return BigInt(units + decimals.padEnd(MICRO_DIGITS, '0'))
}

/**
 * Writes a price for the address, without zeros that say nothing.
 * @param micro Micro-units, not negative.
 * @returns Such as `0.8`, which `microFromText` reads.
 */
export function textFromMicro(micro: bigint): string {
  const digits = micro.toString().padStart(MICRO_DIGITS + 1, '0')
  const decimals = digits.slice(-MICRO_DIGITS).replace(/0+$/, '')
  return digits.slice(0, -MICRO_DIGITS) + (decimals === '' ? '' : `.${decimals}`)
}
