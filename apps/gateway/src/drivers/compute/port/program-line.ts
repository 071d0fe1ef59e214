import type { Duplex } from 'node:stream'
import { encodeFrame, FRAME, FrameReader, type ProgramEnd } from '../sessions/frames.ts'
import { fieldsOf, finite, parseJson } from './answers.ts'

/** How a program's line ended; `lost` when the machine's side said nothing. */
export type ProgramLineEnd = ProgramEnd & { lost: boolean }

/** What a line tells of its program, in the order in which the machine's side sent it. */
export interface ProgramLineEvents {
  onOutput(bytes: Buffer): void
  onErrors(bytes: Buffer): void
  /** Called once, behind everything else. */
  onEnd(end: ProgramLineEnd): void
}

/** The gateway's end of a line to a program. */
export interface ProgramLine {
  /** Writes to the program's input; called back when that has left this process, or never will. */
  write(bytes: Uint8Array, done: () => void): void
  /** Ends the program's input. */
  end(): void
  resize(cols: number, rows: number): void
  /** @param name Without its `SIG`. */
  signal(name: string): void
  /** Stops reading, so that the program waits. */
  pause(): void
  resume(): void
  /** Leaves, and takes away what the program reads and writes. */
  close(): void
}

const SIZE_BYTES = 4
const CELLS_MAX = 0xffff
/** Longer than any signal's name. */
const SIGNAL_NAME = /^[A-Z][A-Z0-9]{0,15}$/

/**
 * Takes up a line that `MachinePrograms.run` gave. It flows from here on. What comes is taken as hostile: what is no word
 * of a line ends it as `lost`.
 */
export function openProgram(stream: Duplex, events: ProgramLineEvents): ProgramLine {
  let ended = false
  const end = (how: ProgramLineEnd) => {
    if (ended) return
    ended = true
    stream.destroy()
    events.onEnd(how)
  }
  const lost = () => end({ code: null, signal: null, lost: true })
  const reader = new FrameReader((type, payload) => {
    if (ended) return
    if (type === FRAME.data) events.onOutput(payload)
    else if (type === FRAME.stderr) events.onErrors(payload)
    else if (type === FRAME.exit) end({ ...readEnd(payload), lost: false })
    else throw new Error(`a frame of type ${type} is not for a program's line`)
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
  const send = (type: number, payload: Uint8Array, done: () => void = () => undefined) => {
    if (ended || stream.destroyed) return done()
    stream.write(encodeFrame(type, payload), () => done())
  }

  return {
    write: (bytes, done) => (bytes.length > 0 ? send(FRAME.data, bytes, done) : done()),
    end: () => send(FRAME.eof, Buffer.alloc(0)),
    resize: (cols, rows) => {
      const size = Buffer.alloc(SIZE_BYTES)
      size.writeUInt16BE(Math.min(cols, CELLS_MAX), 0)
      size.writeUInt16BE(Math.min(rows, CELLS_MAX), 2)
      send(FRAME.resize, size)
    },
    signal: name => {
      if (SIGNAL_NAME.test(name)) send(FRAME.signal, Buffer.from(name))
    },
    pause: () => {
      reader.hold()
      stream.pause()
    },
    resume: () => {
      feed(() => reader.release())
      if (!reader.isHeld) stream.resume()
    },
    close: () => {
      ended = true
      stream.destroy()
    },
  }
}

function readEnd(payload: Buffer): ProgramEnd {
  const { code, signal } = fieldsOf(parseJson(payload))
  return {
    code: finite(code),
    signal: typeof signal === 'string' && SIGNAL_NAME.test(signal) ? signal : null,
  }
}
