/** Passes pieces on as they come, and ends where nothing comes any more or nobody reads on. */
export async function* untilSilent(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  asking: AbortController,
  silentMs: number,
  onEnd: () => void,
): AsyncGenerator<Uint8Array> {
  const silence = () => asking.abort(new Error('the answer did not go on'))
  let timer = setTimeout(silence, silentMs)
  try {
    for await (const piece of pieces) {
      clearTimeout(timer)
      yield piece
      // Whoever reads slowly does not make the server silent.
      timer = setTimeout(silence, silentMs)
    }
  } finally {
    clearTimeout(timer)
    onEnd()
    asking.abort()
  }
}
