import {
  appendFileSync,
  closeSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { makePrivateFolder } from '../../../platform/data-dir.ts'
import type { EndedCall } from './allowance-book.ts'

/** A file that is longer and has calls in it that are not written down yet is followed by another one. */
const FILE_BYTES_MAX = 4_194_304
const SUFFIX = '.jsonl'
/** What cannot be written down; it is tried again by whoever takes the ending off its name. */
const REJECTED_SUFFIX = `${SUFFIX}.rejected`
/** All that was put aside in a folder: what is more stays where it is. */
const REJECTED_BYTES_MAX = 67_108_864

/** One file of the journal: how many of its calls are not written down yet. */
interface Segment {
  fd: number
  file: string
  bytes: number
  open: number
}

/** Calls that were left by a gateway that ended before it had written them down. */
export interface LeftCalls {
  file: string
  calls: EndedCall[]
  /** Lines that are no calls, though they were written whole. */
  odd: string[]
}

/**
 * Calls that are over and not in the database yet, in files of the data folder: they are with the system before whoever asked
 * has the last byte of the answer, so that a gateway that is killed has lost none of them. They are not forced to the disk: a
 * computer that fails takes those of its last moment with it.
 * @param folder Of this gateway alone; null: nothing is written.
 * @param write Other than usual for tests of a disk that takes a part.
 */
export function createCallJournal({
  folder,
  gatewayId,
  log,
  write = writeSync,
}: {
  folder: string | null
  gatewayId: string
  log: Pick<Logger, 'error'>
  write?: (fd: number, line: Buffer) => number
}) {
  const segmentOf = new Map<string, Segment>()
  let current: Segment | null = null
  let files = 0

  function openNext(into: string): Segment {
    makePrivateFolder(into)
    const file = join(into, `${gatewayId}-${files++}${SUFFIX}`)
    return { fd: openSync(file, 'a', 0o600), file, bytes: 0, open: 0 }
  }

  function remove({ fd, file }: Segment): void {
    closeSync(fd)
    rmSync(file, { force: true })
  }

  /** Writes a line, or nothing of it: the next one would be glued on to a part. @throws What the system says. */
  function append(segment: Segment, line: Buffer): void {
    try {
      const written = write(segment.fd, line)
      if (written < line.length) throw new Error(`only ${written} of ${line.length} bytes were written`)
    } catch (error) {
      ftruncateSync(segment.fd, segment.bytes)
      throw error
    }
    segment.bytes += line.length
  }

  function* left(): Generator<LeftCalls> {
    if (folder === null) return
    makePrivateFolder(folder)
    const names = readdirSync(folder).filter(name => name.endsWith(SUFFIX) && !name.startsWith(gatewayId))
    for (const name of names) {
      const file = join(folder, name)
      try {
        yield { file, ...readCalls(readFileSync(file, 'utf8')) }
      } catch (error) {
        log.error({ err: error, file }, 'a file of calls of models could not be read')
      }
    }
  }

  return {
    /** Notes a call that is over. Where that fails it is in memory alone. */
    add(call: EndedCall): void {
      if (folder === null) return
      try {
        if (current === null || current.bytes > FILE_BYTES_MAX) current = openNext(folder)
        append(current, lineOf(call))
        current.open += 1
        segmentOf.set(call.id, current)
      } catch (error) {
        log.error({ err: error, call: call.id }, 'a call of a model could not be noted in the data folder')
      }
    },

    /** Forgets calls that are written down. */
    done(calls: readonly Pick<EndedCall, 'id'>[]): void {
      for (const { id } of calls) {
        const segment = segmentOf.get(id)
        if (!segment) continue
        segmentOf.delete(id)
        segment.open -= 1
        if (segment.open > 0) continue
        try {
          if (segment !== current) remove(segment)
          else {
            ftruncateSync(segment.fd)
            segment.bytes = 0
          }
        } catch (error) {
          // It is read again at the next start, and nothing of it is written down twice.
          log.error({ err: error }, 'a file of calls of models could not be emptied')
        }
      }
    },

    /** What other gateways have left in this folder, file by file; what cannot be read is left out. @throws What the system says of the folder. */
    left,

    /**
     * Puts aside calls, or lines, that cannot be written down.
     * @returns Whether they are in the file for such; where they are not, they are to stay where they are.
     */
    reject(calls: readonly (EndedCall | string)[]): boolean {
      if (folder === null) return false
      try {
        const text = Buffer.concat(calls.map(lineOf))
        const bytes = readdirSync(folder)
          .filter(name => name.endsWith(REJECTED_SUFFIX))
          .reduce((sum, name) => sum + statSync(join(folder, name)).size, text.length)
        if (bytes > REJECTED_BYTES_MAX) return false
        appendFileSync(join(folder, `${gatewayId}${REJECTED_SUFFIX}`), text, { mode: 0o600 })
        return true
      } catch (error) {
        log.error({ err: error }, 'calls of models could not be put aside')
        return false
      }
    },

    /** Removes what was left, once it is written down. */
    removeLeft({ file }: LeftCalls): void {
      rmSync(file, { force: true })
    },

    close(): void {
      if (current?.open === 0) remove(current)
      else if (current) closeSync(current.fd)
      current = null
    },
  }
}
export type CallJournal = ReturnType<typeof createCallJournal>

/** Amounts are bigints, which JSON has none of. */
function toText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}` : value
}

function lineOf(call: EndedCall | string): Buffer {
  return Buffer.from(`${typeof call === 'string' ? call : JSON.stringify(call, toText)}\n`)
}

/** The calls of a file, each once; a line that was cut by the end of the process is none. */
function readCalls(text: string): Pick<LeftCalls, 'calls' | 'odd'> {
  const calls = new Map<string, EndedCall>()
  const odd: string[] = []
  for (const line of text.split('\n').slice(0, -1)) {
    const call = readCall(line)
    if (call) calls.set(call.id, call)
    else if (line !== '') odd.push(line)
  }
  return { calls: [...calls.values()], odd }
}

function readCall(line: string): EndedCall | null {
  try {
    const call = JSON.parse(line)
    if (typeof call.id !== 'string' || typeof call.userId !== 'string') return null
    return {
      ...call,
      startedAt: new Date(call.startedAt),
      endedAt: new Date(call.endedAt),
      costMicro: BigInt(call.costMicro),
      meters: call.meters.map((meter: { rateMicro: string }) => ({
        ...meter,
        rateMicro: BigInt(meter.rateMicro),
      })),
    }
  } catch {
    return null
  }
}
