/** Shorter pieces are copied together: a piece by itself takes a hundred bytes and more, however short it is. */
const SHORT_BYTES = 2 * 1024
const BLOCK_BYTES = 4 * 1024

/** Bytes that came in pieces and are taken in others. Long ones are never copied, and short ones once. */
export interface GatheredBytes {
  readonly length: number
  add(piece: Buffer): void
  /** Takes so many off the front, or all where there are fewer; in as few pieces as they came in. */
  take(bytesMax: number): Buffer[]
}

export function gatherBytes(): GatheredBytes {
  const pieces: Buffer[] = []
  let length = 0
  /** Where short ones are put, as far as it is used; null: nowhere yet. */
  let block: { bytes: Buffer; to: number } | null = null

  function addShort(piece: Buffer): void {
    if (!block || block.to + piece.length > BLOCK_BYTES) {
      block = { bytes: Buffer.allocUnsafe(BLOCK_BYTES), to: 0 }
      pieces.push(block.bytes)
    }
    block.bytes.set(piece, block.to)
    block.to += piece.length
    pieces[pieces.length - 1] = block.bytes.subarray(0, block.to)
  }

  return {
    get length() {
      return length
    },
    add(piece) {
      length += piece.length
      if (piece.length < SHORT_BYTES) return addShort(piece)
      block = null
      pieces.push(piece)
    },
    take(bytesMax) {
      const taken: Buffer[] = []
      let left = bytesMax
      while (left > 0) {
        const piece = pieces.shift()
        if (!piece) break
        const part = piece.subarray(0, left)
        if (part.length < piece.length) pieces.unshift(piece.subarray(part.length))
        taken.push(part)
        left -= part.length
        length -= part.length
      }
      // What is left of it is a piece like others.
      block = null
      return taken
    },
  }
}

/** Pieces as one; a single one is not copied. */
export function joined(pieces: Buffer[]): Buffer {
  const [first] = pieces
  return pieces.length === 1 && first ? first : Buffer.concat(pieces)
}
