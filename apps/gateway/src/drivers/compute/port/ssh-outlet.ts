import type { Duplex } from 'node:stream'
import type { Client, Connection } from 'ssh2'
import type { GuestLimits } from './guest-limits.ts'
import { heldPackets } from './ssh-library.ts'

/** Where all of a connection's channels write to in the end. */
export interface Outlet {
  /** Calls back when there is room for more; at once where there is. */
  whenRoom(go: () => void): void
}

/**
 * Makes the outlet of a connection, whichever end of it is ours. The library writes whatever its peer's windows allow, and a peer may say that they
 * are without an end: so what machines send waits for the connection itself, and while keys are exchanged for the end of
 * that.
 */
export function createOutlet(
  client: Connection | Client,
  socket: Duplex,
  limits: Pick<GuestLimits, 'waitingBytesMax' | 'unreadBytesMax' | 'heldPacketsMax'>,
): Outlet {
  let waiting: (() => void)[] = []
  let isHeld = false
  const isExchanging = () => heldPackets(client) !== null
  const letGo = () => {
    if (isHeld) {
      isHeld = false
      socket.resume()
    }
    // What would go now would wait in the library.
    if (isExchanging() && !socket.destroyed) return
    const all = waiting
    waiting = []
    for (const go of all) go()
  }
  socket.on('drain', letGo)
  client.on('handshake', letGo)
  socket.once('close', letGo)
  // Each packet may have an answer: whoever takes none of them is not read.
  socket.on('data', () => {
    if ((heldPackets(client) ?? 0) > limits.heldPacketsMax) return void socket.destroy()
    if (socket.writableLength <= limits.unreadBytesMax || isHeld || !socket.writableNeedDrain) return
    isHeld = true
    socket.pause()
  })
  return {
    whenRoom: go => {
      const isFull = socket.writableNeedDrain && socket.writableLength > limits.waitingBytesMax
      if (!socket.destroyed && (isFull || isExchanging())) waiting.push(go)
      else go()
    },
  }
}
