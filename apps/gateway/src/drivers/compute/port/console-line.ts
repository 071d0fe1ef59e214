import type { Duplex } from 'node:stream'
import { FRAME, type SessionEnd } from '../sessions/frames.ts'
import { FRAME_COST_BYTES } from '../sessions/session-limits.ts'
import { fieldsOf, finite, parseJson } from './answers.ts'
import { openFramedLine, sizeOf } from './framed-line.ts'

/** Why a line ended: what the machine's side said, or `lost` when it said nothing. */
export interface LineEnd {
  reason: SessionEnd['reason'] | 'lost'
  code: number | null
}

/** What a line tells its reader, in the order in which the machine's side sent it. */
export interface LineEvents {
  /** What comes until `onReplayEnd` may have been seen: a screen is to be cleared. */
  onReplayBegin(): void
  onReplayEnd(): void
  /** Output of the shell, in pieces of any size. It must be acknowledged, or no more will come. */
  onOutput(bytes: Buffer): void
  /** All that was typed has left this process. */
  onDrain(): void
  /** Called once, behind everything else. */
  onEnd(end: LineEnd): void
}

/** The gateway's end of a line to a shell: output with a replay in front, typing, sizes. */
export interface ConsoleLine {
  /** Typing that waits in this process, in bytes; each frame costs some beside its own. */
  readonly bytesHeld: number
  /** Types into the shell. */
  type(bytes: Uint8Array): void
  resize(cols: number, rows: number): void
  /** Says that so much output was rendered. Nothing rendered says at least that the reader is alive. */
  ack(bytes: number): void
  /** Stops reading: for a moment in which even the bytes that are on their way are too many. */
  pause(): void
  resume(): void
  /** Leaves. The shell goes on. */
  close(): void
}

const ACK_BYTES = 4
const END_REASONS: ReadonlySet<string> = new Set<SessionEnd['reason']>([
  'exited',
  'closed',
  'idle',
  'too_many_viewers',
  'too_many_sessions',
])

/**
 * Takes up a line that `MachineConsole.attach` gave. It flows from here on. What comes is taken as hostile: what is no
 * word of a line ends it as `lost`.
 */
export function openLine(stream: Duplex, events: LineEvents): ConsoleLine {
  const line = openFramedLine(
    stream,
    (type, payload) => {
      if (type === FRAME.data) events.onOutput(payload)
      else if (type === FRAME.replay_begin) events.onReplayBegin()
      else if (type === FRAME.replay_end) events.onReplayEnd()
      else if (type === FRAME.exit) {
        const end = readEnd(payload)
        if (line.close()) events.onEnd(end)
      } else throw new Error(`a frame of type ${type} is not for a line`)
    },
    () => events.onEnd({ reason: 'lost', code: null }),
  )

  let framesWaiting = 0
  // Frames may be too many long before their bytes are, so the stream's own 'drain' would come too late or never.
  const sent = () => {
    framesWaiting--
    if (framesWaiting === 0) events.onDrain()
  }
  const send = (type: number, payload: Uint8Array) => {
    if (line.send(type, payload, sent)) framesWaiting++
  }

  return {
    get bytesHeld() {
      return stream.writableLength + framesWaiting * FRAME_COST_BYTES
    },
    type: bytes => {
      if (bytes.length > 0) send(FRAME.data, bytes)
    },
    resize: (cols, rows) => send(FRAME.resize, sizeOf(cols, rows)),
    ack: bytes => {
      const count = Buffer.alloc(ACK_BYTES)
      count.writeUInt32BE(Math.min(bytes, 0xffff_ffff), 0)
      send(FRAME.ack, count)
    },
    pause: line.pause,
    resume: line.resume,
    close: () => void line.close(),
  }
}

function readEnd(payload: Buffer): LineEnd {
  const { reason, code } = fieldsOf(parseJson(payload))
  if (typeof reason !== 'string' || !END_REASONS.has(reason)) return { reason: 'lost', code: null }
  return { reason: reason as SessionEnd['reason'], code: finite(code) }
}
