import type { Duplex } from 'node:stream'
import { encodeFrame, encodeJson, type Failure, FRAME, FrameReader, type ProgramEnd } from './frames.ts'
import { terminalSide } from './session-limits.ts'

/** What is heard of a program. */
export interface ProgramEvents {
  onData(chunk: Buffer): void
  onStderr(chunk: Buffer): void
  /** What was written to its input has been taken, after `write` said that it was not. */
  onDrain(): void
  /** Called once, behind the last byte of output. */
  onEnd(end: ProgramEnd): void
}

/** A program that runs, as whoever started it hands it over. */
export interface Program {
  /** Writes to its input. False: no more, please, until `onDrain`. */
  write(data: Buffer): boolean
  /** Ends its input. */
  end(): void
  resize(cols: number, rows: number): void
  /** @param name Without its `SIG`. */
  signal(name: string): void
  /** Stops reading what it writes, so that it waits. */
  pause(): void
  resume(): void
  /** Nobody is there any more: takes away its input and outputs, and hangs up its terminal. */
  hangUp(): void
}

/**
 * The machine's end of a program's line: starts the program, answers, and carries both ways until it ends. Whoever does
 * not read stops the program, and a program that does not read stops whoever writes.
 * @param stream Nothing of it was read since the request.
 * @param open What it throws is told in the words of `failureOf`.
 */
export async function serveProgram(
  stream: Duplex,
  open: (events: ProgramEvents) => Program | Promise<Program>,
  failureOf: (error: unknown) => Failure,
): Promise<void> {
  let program: Program | null = null
  stream.on('error', () => stream.destroy())

  /** What a program says before it is known to run waits for the answer that goes before it. */
  let early: (() => void)[] | null = []
  const inOrder = (work: () => void) => {
    if (early) early.push(work)
    else work()
  }
  const send = (type: number, chunk: Buffer) => {
    if (stream.destroyed || chunk.length === 0 || stream.write(encodeFrame(type, chunk))) return
    program?.pause()
  }
  stream.on('drain', () => program?.resume())
  const reader = new FrameReader((type, payload) => {
    if (!program) return
    if (type === FRAME.data) {
      if (!program.write(payload)) {
        reader.hold()
        stream.pause()
      }
    } else if (type === FRAME.eof) program.end()
    else if (type === FRAME.signal) program.signal(payload.toString('latin1'))
    else if (type === FRAME.resize && payload.length >= 4) {
      program.resize(terminalSide(payload.readUInt16BE(0)), terminalSide(payload.readUInt16BE(2)))
    }
  })
  const read = (work: () => void) => {
    try {
      work()
    } catch {
      stream.destroy()
    }
  }
  try {
    program = await open({
      onData: chunk => inOrder(() => send(FRAME.data, chunk)),
      onStderr: chunk => inOrder(() => send(FRAME.stderr, chunk)),
      onDrain: () => {
        read(() => reader.release())
        if (!reader.isHeld) stream.resume()
      },
      onEnd: end => inOrder(() => stream.end(encodeJson(FRAME.exit, end))),
    })
  } catch (error) {
    stream.end(encodeJson(FRAME.error, failureOf(error)))
    return
  }
  const { hangUp } = program
  if (stream.destroyed) return hangUp()
  stream.write(encodeJson(FRAME.ok, {}))
  const waiting = early
  early = null
  for (const work of waiting) work()
  stream.on('data', (chunk: Buffer) => read(() => reader.push(chunk)))
  // A gateway that ends its side has nobody any more who reads.
  stream.once('end', () => stream.destroy())
  stream.once('close', hangUp)
}
