import { closeSync, ftruncateSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { makePrivateFolder } from '../../../platform/data-dir.ts'
import type { EndedCall } from './allowance-book.ts'

/** A file that is longer and has calls in it that are not written down yet is followed by another one. */
const FILE_BYTES_MAX = 4_194_304
const SUFFIX = '.jsonl'

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
}

/**
 * Calls that are over and not in the database yet, in files of the data folder: they are with the system before whoever asked
 * has the last byte of the answer, so that a gateway that is killed has lost none of them. They are not forced to the disk: a
 * computer that fails takes those of its last moment with it.
 * @param folder Of this gateway alone; null: nothing is written.
 */
export function createCallJournal({
  folder,
  gatewayId,
  log,
}: {
  folder: string | null
  gatewayId: string
  log: Pick<Logger, 'error'>
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

  return {
    /** Notes a call that is over. Where that fails it is in memory alone. */
    add(call: EndedCall): void {
      if (folder === null) return
      try {
        if (current === null || current.bytes > FILE_BYTES_MAX) current = openNext(folder)
        const line = Buffer.from(`${JSON.stringify(call, toText)}\n`)
        current.bytes += writeSync(current.fd, line)
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

    /** What other gateways have left in this folder. @throws What the system says. */
    left(): LeftCalls[] {
      if (folder === null) return []
      makePrivateFolder(folder)
      return readdirSync(folder)
        .filter(name => name.endsWith(SUFFIX) && !name.startsWith(gatewayId))
        .map(name => {
          const file = join(folder, name)
          return { file, calls: readCalls(readFileSync(file, 'utf8')) }
        })
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

/** The calls of a file, each once; a line that was cut by the end of the process is none. */
function readCalls(text: string): EndedCall[] {
  const calls = new Map<string, EndedCall>()
  for (const line of text.split('\n').slice(0, -1)) {
    const call = readCall(line)
    if (call) calls.set(call.id, call)
  }
  return [...calls.values()]
}

function readCall(line: string): EndedCall | null {
  try {
    const call = JSON.parse(line)
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
