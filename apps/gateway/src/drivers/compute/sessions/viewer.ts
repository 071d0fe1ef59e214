import type { Duplex } from 'node:stream'
import { encodeJson, FRAME, FrameReader, type SessionEnd } from './frames.ts'
import { FRAME_COST_BYTES, type SessionLimits } from './session-limits.ts'

/** What a viewer's owner is told of. */
export interface ViewerEvents {
  onInput(bytes: Buffer): void
  onResize(cols: number, rows: number): void
  /** Output has got further: the viewer may be below its low mark now. */
  onProgress(): void
  onClose(): void
}

/** Whoever looks at a shell: one tab of a browser, at the other end of a stream of frames. */
export interface Viewer {
  /** So much output is on its way that the shell must wait. */
  readonly isBehind: boolean
  /** So little output is on its way that the shell may go on. */
  readonly hasCaughtUp: boolean
  /** Grows with every sign that the tab renders. */
  readonly acks: number
  /** Begins to read what the viewer sends. */
  listen(events: ViewerEvents): void
  /** Sends a frame; `outputBytes` of it are to be acknowledged. */
  send(frame: Buffer, outputBytes: number): void
  /** Stops or goes on reading what the viewer sends. */
  holdInput(held: boolean): void
  /** Says why, and closes. Nothing is heard of it afterwards but `onClose`. */
  end(end: SessionEnd): void
}

/** A viewer that does not close its side after the end is cut off. */
const CLOSE_GRACE_MS = 5_000
const RESIZE_BYTES = 4
const ACK_BYTES = 4

/**
 * Wraps a stream in the frames of a console.
 * @param stream Nothing of it was read after the request that opened it.
 */
export function createViewer(stream: Duplex, limits: SessionLimits): Viewer {
  let events: ViewerEvents | null = null
  let unackedBytes = 0
  let acks = 0
  let framesWaiting = 0
  let ended = false
  let inputHeld = false

  const bytesHeld = () => stream.writableLength + framesWaiting * FRAME_COST_BYTES
  const sent = () => {
    framesWaiting--
    progress()
  }
  const progress = () => {
    if (!ended) events?.onProgress()
  }
  const reader = new FrameReader((type, payload) => {
    if (ended) return
    if (type === FRAME.data) events?.onInput(payload)
    else if (type === FRAME.resize && payload.length === RESIZE_BYTES) {
      events?.onResize(payload.readUInt16BE(0), payload.readUInt16BE(2))
    } else if (type === FRAME.ack && payload.length === ACK_BYTES) {
      acks++
      unackedBytes = Math.max(0, unackedBytes - payload.readUInt32BE(0))
      progress()
    } else stream.destroy()
  })
  const push = (chunk: Buffer) => {
    try {
      reader.push(chunk)
    } catch {
      // Not the words of a gateway.
      stream.destroy()
    }
  }
  const release = () => {
    try {
      reader.release()
    } catch {
      stream.destroy()
    }
  }
  stream.on('error', () => stream.destroy())
  stream.on('end', () => stream.destroy())
  stream.on('close', () => {
    ended = true
    events?.onClose()
  })

  return {
    get isBehind() {
      return unackedBytes > limits.unackedHighBytes || bytesHeld() > limits.unackedHighBytes
    },
    get hasCaughtUp() {
      return unackedBytes < limits.unackedLowBytes && bytesHeld() < limits.unackedLowBytes
    },
    get acks() {
      return acks
    },
    listen: listener => {
      events = listener
      stream.on('data', push)
    },
    send: (frame, outputBytes) => {
      if (ended || stream.destroyed) return
      unackedBytes += outputBytes
      framesWaiting++
      stream.write(frame, sent)
    },
    holdInput: held => {
      if (ended || held === inputHeld) return
      inputHeld = held
      if (held) {
        reader.hold()
        stream.pause()
      } else {
        release()
        if (!inputHeld) stream.resume()
      }
    },
    end: end => {
      if (ended) return
      ended = true
      release()
      endLine(stream, end)
    },
  }
}

/** Says why a line ends, and closes it. */
export function endLine(stream: Duplex, end: SessionEnd): void {
  stream.end(encodeJson(FRAME.exit, end))
  // A held stream would never read that the other side has closed.
  stream.resume()
  setTimeout(() => stream.destroy(), CLOSE_GRACE_MS).unref()
}
