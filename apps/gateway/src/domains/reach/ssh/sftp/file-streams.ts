import {
  openProgram,
  type ProgramLine,
  type ProgramLineEnd,
} from '../../../../drivers/compute/port/program-line.ts'
import type { CustomerRoom } from '../customer-room.ts'
import { type GatheredBytes, gatherBytes } from '../gathered-bytes.ts'
import { assigned, type FileFault, faultOf, PLAIN, type Run } from './machine-shell.ts'

/** Reads a file from front to back; from anywhere else it begins anew. */
export interface FileReader {
  /** @returns As it came, in pieces; null at the end. @throws FileFault */
  read(offset: number, length: number): Promise<Buffer[] | null>
  close(): void
}

/** Writes a file from front to back; anywhere else it begins anew. */
export interface FileWriter {
  /** @throws FileFault, also for what was written before. */
  write(offset: number, pieces: Buffer[]): Promise<void>
  /** Returns when all is in the file. @throws FileFault */
  finish(): Promise<void>
  close(): void
}

/** What is read ahead of a client that has read some, and where its customer has no room for that. */
const AHEAD_BYTES_MAX = 1024 * 1024
const AHEAD_BYTES_MIN = 64 * 1024
const SAID_CHARS_MAX = 500

/** What a reader has of the program that reads for it. */
interface Source {
  line: ProgramLine | null
  at: number
  came: GatheredBytes
  end: ProgramLineEnd | null
  said: string
  wake(): void
}

/**
 * A reader of one file: what it reads is one program's output for as long as it is read in order.
 * @param room For what is read ahead.
 */
export function createFileReader(run: Run, path: string, room: CustomerRoom): FileReader {
  let open: Source | null = null
  let aheadBytes = AHEAD_BYTES_MIN

  async function start(offset: number): Promise<Source> {
    const program = offset === 0 ? 'cat' : `tail -c +${offset + 1}`
    const command = `${assigned(path)}; exec ${program} "$p"`
    const stream = await run({ command, env: PLAIN })
    const source: Source = {
      line: null,
      at: offset,
      came: gatherBytes(),
      end: null,
      said: '',
      wake: () => undefined,
    }
    source.line = openProgram(stream, {
      onOutput(piece) {
        source.came.add(piece)
        if (source.came.length > aheadBytes) source.line?.pause()
        source.wake()
      },
      onErrors: piece => {
        source.said = `${source.said}${piece}`.slice(0, SAID_CHARS_MAX)
      },
      onEnd(end) {
        source.end = end
        source.wake()
      },
    })
    return source
  }
  const close = () => {
    open?.line?.close()
    open = null
    room.give(aheadBytes - AHEAD_BYTES_MIN)
    aheadBytes = AHEAD_BYTES_MIN
  }

  return {
    async read(offset, length) {
      if (!open || open.at !== offset) {
        close()
        open = await start(offset)
      } else if (aheadBytes < AHEAD_BYTES_MAX && room.takeSpare(aheadBytes)) aheadBytes *= 2
      const source = open
      while (source.came.length < length && source.end === null) {
        await new Promise<void>(resolve => {
          source.wake = resolve
          source.line?.resume()
        })
      }
      if (source.came.length === 0) {
        if (source.end?.lost || source.end?.code !== 0) throw faultOf(source.said)
        return null
      }
      const given = source.came.take(length)
      for (const piece of given) source.at += piece.length
      return given
    },
    close,
  }
}

/** A writer of one file that is there: what it writes is one program's input for as long as it is written in order. */
export function createFileWriter(run: Run, path: string, { appends }: { appends: boolean }): FileWriter {
  let open: { line: ProgramLine; at: number; end: Promise<void>; fault: FileFault | null } | null = null

  async function start(offset: number) {
    const seek = offset === 0 ? '' : `dd bs=1 seek=${offset} count=0 conv=notrunc 2>/dev/null; `
    const work = appends ? 'exec cat >>"$p"' : `{ ${seek}exec cat; } 1<>"$p"`
    const command = `${assigned(path)}; ${work}`
    const stream = await run({ command, env: PLAIN })
    const ended = Promise.withResolvers<void>()
    let said = ''
    const line = openProgram(stream, {
      onOutput: () => undefined,
      onErrors: piece => {
        said = `${said}${piece}`.slice(0, SAID_CHARS_MAX)
      },
      onEnd({ code, lost }) {
        if (lost || code !== 0) target.fault = faultOf(said)
        ended.resolve()
      },
    })
    const target = { line, at: offset, end: ended.promise, fault: null as FileFault | null }
    return target
  }
  async function finish(): Promise<void> {
    const target = open
    if (!target) return
    target.line.end()
    await target.end
    open = null
    if (target.fault) throw target.fault
  }

  return {
    async write(offset, pieces) {
      if (!open || (!appends && open.at !== offset)) {
        await finish()
        open = await start(offset)
      }
      const target = open
      await new Promise<void>(resolve => target.line.write(pieces, resolve))
      for (const { length } of pieces) target.at += length
      if (target.fault) throw target.fault
    },
    finish,
    close: () => open?.line.close(),
  }
}
