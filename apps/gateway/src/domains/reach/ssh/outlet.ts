import type { Duplex } from 'node:stream'

/** Where all of a connection's channels write to in the end. */
export interface Outlet {
  /** Calls back when there is room for more; at once where there is. */
  whenRoom(go: () => void): void
}

/**
 * Makes the outlet of a connection. The library writes whatever its peer's windows allow, and a peer may say that they
 * are without an end: so what machines send waits for the connection itself.
 */
export function createOutlet(
  socket: Duplex,
  limits: { waitingBytesMax: number; unreadBytesMax: number },
): Outlet {
  let waiting: (() => void)[] = []
  let isHeld = false
  const letGo = () => {
    const all = waiting
    waiting = []
    if (isHeld) {
      isHeld = false
      socket.resume()
    }
    for (const go of all) go()
  }
  socket.on('drain', letGo)
  socket.once('close', letGo)
  // Each packet may have an answer: whoever takes none of them is not read.
  socket.on('data', () => {
    if (socket.writableLength <= limits.unreadBytesMax || isHeld || !socket.writableNeedDrain) return
    isHeld = true
    socket.pause()
  })
  return {
    whenRoom: go => {
      if (!socket.destroyed && socket.writableNeedDrain && socket.writableLength > limits.waitingBytesMax) {
        waiting.push(go)
      } else go()
    },
  }
}
