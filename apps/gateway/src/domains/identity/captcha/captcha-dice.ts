import { createHash } from 'node:crypto'

/** Chance that follows from a secret: the same secret gives the same throws, and throws tell nothing of others. */
export interface Dice {
  /** A whole number from 0 to `count - 1`, each as likely; `count` is at most 65,536. */
  below(count: number): number
  /** A fraction from `low` up to `high`. */
  between(low: number, high: number): number
  /** One of the items, each as likely. */
  pick<Item>(items: readonly [Item, ...Item[]]): Item
}

const WORD_BITS = 32
/** A picture takes some hundred thousand bytes of chance: from few long blocks, that is a sixth of the time. */
const BLOCK_BYTES = 16_384
const WORDS = 2 ** WORD_BITS

/**
 * Makes dice.
 * @param secret Random and of no other use: who knows it knows all throws.
 */
export function createDice(secret: string): Dice {
  let block = Buffer.alloc(0)
  let blocks = 0
  let at = 0

  function word(): number {
    if (at >= block.length) {
      block = createHash('shake256', { outputLength: BLOCK_BYTES }).update(`${secret} ${blocks}`).digest()
      blocks += 1
      at = 0
    }
    const value = block.readUInt32BE(at)
    at += WORD_BITS / 8
    return value
  }

  // The likelihoods differ by less than 1 in 65,536, which nobody can use.
  const below = (count: number) => Math.floor((word() / WORDS) * count)
  return {
    below,
    between: (low, high) => low + (word() / WORDS) * (high - low),
    pick: items => items[below(items.length)] ?? items[0],
  }
}
