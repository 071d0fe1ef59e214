import type { Readable, Writable } from 'node:stream'

/**
 * Carries what one stream gives to another until it ends, which ends the other. One write is under way at a time, and
 * what comes in one turn of the event loop is one write: a flood of tiny pieces waits where it comes from, where it takes
 * no more than its bytes. Errors and closing are the caller's.
 * @returns Stops at once; what was not written is dropped, and `from` is left as it is.
 */
export function carry(from: Readable, to: Writable): () => void {
  let pieces: Buffer[] = []

  function flush(): void {
    if (pieces.length === 0) return
    const [first] = pieces
    const piece = pieces.length === 1 && first ? first : Buffer.concat(pieces)
    pieces = []
    from.pause()
    to.write(piece, error => {
      if (!error && listening) from.resume()
    })
  }
  function onData(piece: Buffer): void {
    if (pieces.push(piece) === 1) process.nextTick(flush)
  }
  function onEnd(): void {
    flush()
    to.end()
  }

  let listening = true
  from.on('data', onData).once('end', onEnd)
  return () => {
    listening = false
    pieces = []
    from.off('data', onData).off('end', onEnd)
  }
}
