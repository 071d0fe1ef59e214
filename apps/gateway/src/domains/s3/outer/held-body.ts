/**
 * Memory for a body whose length was said, taken once: what comes is written into it, and it is sent from there.
 * @param length In bytes.
 */
export function createHeldBody(length: number) {
  const held = Buffer.allocUnsafeSlow(length)
  let bytes = 0
  return {
    /** Takes as much of a piece as there is room for. @returns What is left of it. */
    add(piece: Uint8Array): Uint8Array {
      const some = piece.subarray(0, length - bytes)
      held.set(some, bytes)
      bytes += some.length
      return piece.subarray(some.length)
    },
    isFull: () => bytes === length,
    /** What has come, until it is emptied. */
    content: () => held.subarray(0, bytes),
    /** Makes room: what was held has been sent. */
    empty(): void {
      bytes = 0
    },
  }
}
