import type { Duplex } from 'node:stream'
import { OutputHistory } from '../../sessions/output-history.ts'
import type { PtyEvents, PtyProcess } from '../../sessions/session.ts'

/** What is kept of the line for whoever comes: the boot of a system, and some screens. */
const HISTORY_BYTES = 256 * 1024

/** Somebody who is on the line. */
interface Tap {
  onData(chunk: Buffer): void
  onDrain(): void
  onEnd(): void
}

/** A machine's serial line, which has one end: all who are on it see the same. */
export interface SerialLine {
  /** A screen on the line, in the way of a shell: first what there was. To hang up leaves the line as it is. */
  open(events: PtyEvents): PtyProcess
  /** Joins a stream with the line from now on. */
  join(stream: Duplex): void
}

/**
 * Makes the line.
 * @param socket Its other end, in the hypervisor.
 * @param keep Is given all that the machine writes.
 */
export function createSerialLine(socket: Duplex, keep: (chunk: Buffer) => void): SerialLine {
  const history = new OutputHistory(HISTORY_BYTES)
  const taps = new Set<Tap>()
  /** Those who can take no more for now: the machine waits for them, as with any line. */
  const full = new Set<Tap>()

  const leave = (tap: Tap) => {
    taps.delete(tap)
    goOn(tap)
  }
  const goOn = (tap: Tap) => {
    if (full.delete(tap) && full.size === 0) socket.resume()
  }
  const wait = (tap: Tap) => {
    if (!taps.has(tap)) return
    full.add(tap)
    socket.pause()
  }
  socket.on('data', (chunk: Buffer) => {
    keep(chunk)
    history.append(chunk)
    for (const tap of taps) tap.onData(chunk)
  })
  socket.on('drain', () => {
    for (const tap of taps) tap.onDrain()
  })
  socket.on('error', () => socket.destroy())
  socket.on('close', () => {
    for (const tap of taps) tap.onEnd()
    taps.clear()
  })

  return {
    open(events) {
      const tap: Tap = { ...events, onEnd: () => events.onEnd(null) }
      taps.add(tap)
      const before = history.replay()
      if (before.length > 0) setImmediate(() => events.onData(before))
      return {
        write: data => socket.write(data),
        // The line has no size: a program in the machine asks its terminal.
        resize: () => undefined,
        pause: () => wait(tap),
        resume: () => goOn(tap),
        hangUp: () => {
          leave(tap)
          events.onEnd(null)
        },
      }
    },
    join(stream) {
      const tap: Tap = {
        onData: chunk => {
          if (!stream.write(chunk)) wait(tap)
        },
        onDrain: () => stream.resume(),
        onEnd: () => stream.end(),
      }
      taps.add(tap)
      stream.on('drain', () => goOn(tap))
      stream.on('data', (chunk: Buffer) => {
        if (!socket.write(chunk)) stream.pause()
      })
      stream.on('end', () => {
        leave(tap)
        stream.end()
      })
      stream.on('close', () => leave(tap))
    },
  }
}
