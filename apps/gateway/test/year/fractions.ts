/** A number as a fraction of whole numbers: nothing is rounded until somebody says so. */
export interface Fraction {
  top: bigint
  /** Above zero. */
  bottom: bigint
}

export const ZERO: Fraction = { top: 0n, bottom: 1n }

/** A fraction in its lowest terms. */
export function fraction(top: bigint, bottom = 1n): Fraction {
  const shared = divisor(top < 0n ? -top : top, bottom)
  return { top: top / shared, bottom: bottom / shared }
}

/** A number as it is written: `0.00014`. */
export function written(text: string): Fraction {
  const [whole = '0', parts = ''] = text.split('.')
  return fraction(BigInt(whole + parts), 10n ** BigInt(parts.length))
}

export const plus = (a: Fraction, b: Fraction): Fraction =>
  fraction(a.top * b.bottom + b.top * a.bottom, a.bottom * b.bottom)

export const minus = (a: Fraction, b: Fraction): Fraction => plus(a, { top: -b.top, bottom: b.bottom })

export const times = (a: Fraction, b: Fraction): Fraction => fraction(a.top * b.top, a.bottom * b.bottom)

/** The whole number that is not above it. */
export function floor({ top, bottom }: Fraction): bigint {
  const rest = top % bottom
  return (top - (rest < 0n ? rest + bottom : rest)) / bottom
}

function divisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : divisor(b, a % b)
}
