import type { Duplex } from 'node:stream'
import { FRAME, type ProgramEnd } from '../sessions/frames.ts'
import { fieldsOf, finite, parseJson } from './answers.ts'
import { openFramedLine, sizeOf } from './framed-line.ts'

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
  write(bytes: Uint8Array | readonly Uint8Array[], done: () => void): void
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

/** Longer than any signal's name. */
const SIGNAL_NAME = /^[A-Z][A-Z0-9]{0,15}$/

/**
 * Takes up a line that `MachinePrograms.run` gave. It flows from here on. What comes is taken as hostile: what is no word
 * of a line ends it as `lost`.
 */
export function openProgram(stream: Duplex, events: ProgramLineEvents): ProgramLine {
  const lost = { code: null, signal: null, lost: true }
  const line = openFramedLine(
    stream,
    (type, payload) => {
      if (type === FRAME.data) events.onOutput(payload)
      else if (type === FRAME.stderr) events.onErrors(payload)
      else if (type === FRAME.exit) {
        const end = { ...readEnd(payload), lost: false }
        if (line.close()) events.onEnd(end)
      } else throw new Error(`a frame of type ${type} is not for a program's line`)
    },
    () => events.onEnd(lost),
  )
  const nothing = () => undefined

  return {
    write(bytes, done) {
      const isEmpty =
        bytes instanceof Uint8Array ? bytes.length === 0 : bytes.every(({ length }) => length === 0)
      if (isEmpty || !line.send(FRAME.data, bytes, done)) done()
    },
    end: () => void line.send(FRAME.eof, Buffer.alloc(0), nothing),
    resize: (cols, rows) => void line.send(FRAME.resize, sizeOf(cols, rows), nothing),
    signal(name) {
      if (SIGNAL_NAME.test(name)) line.send(FRAME.signal, Buffer.from(name), nothing)
    },
    pause: line.pause,
    resume: line.resume,
    close: () => void line.close(),
  }
}

function readEnd(payload: Buffer): ProgramEnd {
  const { code, signal } = fieldsOf(parseJson(payload))
  return {
    code: finite(code),
    signal: typeof signal === 'string' && SIGNAL_NAME.test(signal) ? signal : null,
  }
}
