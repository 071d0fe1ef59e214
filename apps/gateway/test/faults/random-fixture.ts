/** A stream of numbers that a seed repeats exactly. */
export interface Random {
  /** From 0, below 1. */
  next(): number
  /** A whole number from 0, below `end`. */
  below(end: number): number
}

/** Mulberry32: small, and even enough to choose moments by. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return { next, below: end => Math.floor(next() * end) }
}
