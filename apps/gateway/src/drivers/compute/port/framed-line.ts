import type { Duplex } from 'node:stream'
import { encodeFrame, encodeHead, FrameReader } from '../sessions/frames.ts'

/** What all lines into a machine have in common: frames both ways, over a stream that whoever is in there may break. */
export interface FramedLine {
  /**
   * Sends a frame, of one piece or of several; called back when it has left this process.
   * @returns Whether it is on its way: nothing is once the line is over.
   */
  send(type: number, payload: Uint8Array | readonly Uint8Array[], sent: () => void): boolean
  /** Stops reading. */
  pause(): void
  resume(): void
  /** Ends the line without a word to its reader. @returns Whether it was not over before. */
  close(): boolean
}

const SIZE_BYTES = 4
/** What is longer goes behind its head as it is: a copy would cost more than a write. */
const COPIED_BYTES_MAX = 4 * 1024
const CELLS_MAX = 0xffff

/**
 * Takes up a stream of frames; it flows from here on.
 * @param onFrame What came, one after the other; it throws at what is no word of its line.
 * @param onLost The machine's side left, or sent what is no frame, or no word of its line. Called once, and not after `close`.
 */
export function openFramedLine(
  stream: Duplex,
  onFrame: (type: number, payload: Buffer) => void,
  onLost: () => void,
): FramedLine {
  let isOver = false
  const close = () => {
    const wasOver = isOver
    isOver = true
    stream.destroy()
    return !wasOver
  }
  const lost = () => {
    if (close()) onLost()
  }
  const reader = new FrameReader((type, payload) => {
    if (!isOver) onFrame(type, payload)
  })
  const feed = (work: () => void) => {
    try {
      work()
    } catch {
      lost()
    }
  }
  stream.on('data', (chunk: Buffer) => feed(() => reader.push(chunk)))
  stream.on('error', () => stream.destroy())
  stream.on('end', lost)
  stream.on('close', lost)
  const send: FramedLine['send'] = (type, payload, sent) => {
    if (isOver || stream.destroyed) return false
    const pieces = payload instanceof Uint8Array ? [payload] : payload
    const bytes = pieces.reduce((sum, { length }) => sum + length, 0)
    if (bytes <= COPIED_BYTES_MAX) {
      stream.write(encodeFrame(type, Buffer.concat(pieces, bytes)), () => sent())
      return true
    }
    stream.cork()
    stream.write(encodeHead(type, bytes))
    for (const [at, piece] of pieces.entries()) {
      stream.write(piece, at === pieces.length - 1 ? () => sent() : undefined)
    }
    stream.uncork()
    return true
  }
  return {
    send,
    pause() {
      reader.hold()
      stream.pause()
    },
    resume() {
      feed(() => reader.release())
      if (!reader.isHeld) stream.resume()
    },
    close,
  }
}

/** How a terminal's size is said in a frame. */
export function sizeOf(cols: number, rows: number): Buffer {
  const size = Buffer.alloc(SIZE_BYTES)
  size.writeUInt16BE(Math.min(cols, CELLS_MAX), 0)
  size.writeUInt16BE(Math.min(rows, CELLS_MAX), 2)
  return size
}
