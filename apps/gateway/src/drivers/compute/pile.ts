/** Bytes that are gathered, in pieces of any size. */
export type Pile = ReturnType<typeof createPile>

/** So many pieces are kept apart: each takes some hundred bytes beside its own. */
const PIECES_MAX = 1_024

/** Makes an empty pile. How much it may hold is its owner's to say. */
export function createPile() {
  let pieces: Buffer[] = []

  return {
    /** Keeps a copy, so that a small piece does not hold what it was read with. */
    add(piece: Buffer): void {
      if (pieces.push(Buffer.from(piece)) > PIECES_MAX) pieces = [Buffer.concat(pieces)]
    },
    /** All that was gathered. */
    text: (): string => Buffer.concat(pieces).toString(),
  }
}
