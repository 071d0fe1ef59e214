/**
 * Passes pieces on as they come, and ends where nothing comes any more or nobody reads on, also where nobody has begun to.
 * @param onEnd Told once.
 */
export function untilSilent(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  asking: AbortController,
  silentMs: number,
  onEnd: () => void,
): AsyncIterableIterator<Uint8Array> {
  const passing = pass(pieces, asking, silentMs, onEnd)
  let hasBegun = false
  return {
    next() {
      hasBegun = true
      return passing.next()
    },
    return() {
      // A generator that was not begun runs nothing of it at its end.
      if (!hasBegun) {
        onEnd()
        asking.abort()
      }
      return passing.return(undefined)
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

async function* pass(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  asking: AbortController,
  silentMs: number,
  onEnd: () => void,
): AsyncGenerator<Uint8Array> {
  const silence = () => asking.abort(new Error('the answer did not go on'))
  let timer = setTimeout(silence, silentMs)
  let isWhole = false
  try {
    for await (const piece of pieces) {
      clearTimeout(timer)
      yield piece
      // Whoever reads slowly does not make the server silent.
      timer = setTimeout(silence, silentMs)
    }
    isWhole = true
  } finally {
    clearTimeout(timer)
    onEnd()
    if (!isWhole) asking.abort()
  }
}
