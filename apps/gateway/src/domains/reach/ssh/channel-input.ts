import type { Duplex } from 'node:stream'
import type { Connection, ServerChannel } from 'ssh2'
import type { CustomerRoom } from './customer-room.ts'
import { gatherBytes } from './gathered-bytes.ts'
import { firstWindow, ownWindow } from './library-gaps.ts'
import { WINDOW_BYTES_MAX, WINDOW_BYTES_MIN } from './ssh-limits.ts'

/** What is read of a channel at once; that much of it may be on its way into the machine besides. */
const HANDED_BYTES_MAX = 64 * 1024
/** A window is as long as what is read in about such a time, so that a client far away need not wait for another one. */
const QUICK_MS = 1_000
const SLOW_MS = 4_000

/**
 * Bounds what one connection's channels hold of what their client sends. The library holds four megabytes of each channel
 * that nobody reads, an object for each of its bytes if the client wants it so, and whatever is sent past a window. Here a
 * channel holds no more than its window, which begins short, grows with what is read of it as long as its customer has room,
 * and is opened no sooner than what came before was read.
 * @param room Of the customer.
 * @returns To be called with each channel before anything is read of it.
 */
export function boundInputs(
  client: Connection,
  socket: Duplex,
  room: CustomerRoom,
): (channel: ServerChannel) => void {
  firstWindow(client, WINDOW_BYTES_MIN)
  const drops = new Set<() => void>()
  // What is unread of a client that is gone is for nobody, and a channel does not close before it is read.
  socket.once('close', () => {
    for (const drop of drops) drop()
  })

  return channel => {
    const { give, adjust } = ownWindow(channel)
    const came = gatherBytes()
    let lengthBytes = WINDOW_BYTES_MIN
    /** What the client may still send. */
    let openBytes = lengthBytes
    let openedAt = performance.now()
    let isWanted = false
    let isEnded = false

    function hand(): void {
      if (isWanted && came.length > 0) {
        isWanted = false
        for (const piece of came.take(Math.min(HANDED_BYTES_MAX, lengthBytes))) give(piece)
      }
      if (!isEnded) openAgain()
      else if (came.length === 0) give(null)
    }
    /** @returns Whether the client may go on. */
    function take(piece: Buffer): boolean {
      openBytes -= piece.length
      // Nobody that we want sends more than it may.
      if (openBytes < 0) socket.destroy()
      else if (isWanted && came.length === 0 && !isEnded) {
        isWanted = piece.length === 0
        give(piece)
      } else if (piece.length > 0 && !isEnded) came.add(piece)
      return openBytes >= 0
    }
    function openAgain(): void {
      const held = came.length + channel.readableLength
      if (openBytes + held > lengthBytes / 2) return
      fitLength()
      const more = lengthBytes - openBytes - held
      openBytes += more
      if (more > 0) adjust(more)
    }
    function fitLength(): void {
      const now = performance.now()
      const tookMs = now - openedAt
      openedAt = now
      if (tookMs < QUICK_MS && lengthBytes < WINDOW_BYTES_MAX && room.takeSpare(lengthBytes)) lengthBytes *= 2
      else if (tookMs > SLOW_MS && lengthBytes > WINDOW_BYTES_MIN) {
        lengthBytes /= 2
        room.give(lengthBytes)
      }
    }
    function drop(): void {
      came.take(came.length)
      channel.removeAllListeners('data')
      give(null)
      while (channel.read() !== null);
    }

    channel.push = (piece: Buffer | null) => {
      if (piece === null) isEnded = true
      else if (!take(piece)) return false
      hand()
      return true
    }
    // Not at once: what is read in one turn is carried on as one, and would be all that there is.
    channel._read = () =>
      process.nextTick(() => {
        isWanted = true
        hand()
      })
    drops.add(drop)
    channel.once('close', () => {
      drops.delete(drop)
      room.give(lengthBytes - WINDOW_BYTES_MIN)
      lengthBytes = WINDOW_BYTES_MIN
    })
  }
}
