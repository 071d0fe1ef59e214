import { Readable } from 'node:stream'
import { ApiError } from '../../../platform/http/api-error.ts'
import { DOWNLOAD_SCRIPT } from './change-scripts.ts'
import { pathLine, type Run, type RunningScript, startScript } from './run-script.ts'

/** What comes out of a machine. */
export interface Download {
  /** Null for a folder, which comes as an archive. `part` is what comes of the file, in bytes; null for all of it. */
  file: { size: number; modifiedS: number; part: { from: number; length: number } | null } | null
  /** Fails where it is not whole. Whoever has no use for it any more destroys it. */
  body: Readable
}

/** Which part of a file is asked for, and of which file that holds. */
export interface DownloadRange {
  from: number
  /** How many bytes; null for all that follow. */
  length: number | null
  /** Size and time of the file that this goes on with; null where that does not matter. */
  of: { size: number; modifiedS: number } | null
}

const HEAD_BYTES_MAX = 100
const HEAD = /^(folder|file (\d{1,15}) (-?\d{1,15}) (\d{1,15}))$/

/**
 * Opens a file of a machine, or a folder, to be read no faster than whoever asked reads it.
 * @param range Null for the whole file.
 * @param stop Ends it with its reason.
 * @throws ApiError why it cannot be read; `file_range` {size} where nothing of it is in the range; `files_unclear` where the machine makes no sense, or says nothing for too long.
 */
export async function openDownload(
  run: Run,
  path: string,
  range: DownloadRange | null,
  { idleMs, stop }: { idleMs: number; stop: AbortSignal },
): Promise<Download> {
  const { promise: head, resolve, reject } = Promise.withResolvers<Download['file']>()
  head.catch(() => undefined)
  let begun: Buffer | null = Buffer.alloc(0)
  /** What is still to come; null where nobody knows. */
  let left: number | null = null
  let script: RunningScript | null = null

  const body = new Readable({
    read() {
      idle.refresh()
      script?.line.resume()
    },
    destroy(error, done) {
      clearTimeout(idle)
      stop.removeEventListener('abort', onStop)
      script?.line.close()
      done(error)
    },
  })
  const fail = (error: unknown) => {
    reject(error)
    body.destroy(error as Error)
  }
  const onStop = () => fail(stop.reason)
  const idle = setTimeout(() => fail(new ApiError(begun ? 'files_unclear' : 'transfer_idle')), idleMs)

  function give(bytes: Buffer): void {
    idle.refresh()
    const piece = left === null ? bytes : bytes.subarray(0, left)
    if (left !== null) left -= piece.length
    if (piece.length > 0 && !body.push(piece)) script?.line.pause()
    if (left === 0) finish()
  }
  function finish(): void {
    script?.line.close()
    if (!body.readableEnded && !body.destroyed) body.push(null)
  }
  function begin(bytes: Buffer): void {
    begun = Buffer.concat([begun as Buffer, bytes])
    const end = begun.indexOf(10)
    const [, what, size, modified, from] = HEAD.exec(begun.subarray(0, end).toString('latin1')) ?? []
    if (end > HEAD_BYTES_MAX || (end < 0 && begun.length > HEAD_BYTES_MAX) || (end >= 0 && !what)) {
      fail(new ApiError('files_unclear'))
      return
    }
    if (end < 0) return
    const rest = begun.subarray(end + 1)
    begun = null
    if (what === 'folder') resolve(null)
    else {
      const file = { size: Number(size), modifiedS: Number(modified) }
      // A range that no longer holds is the whole file.
      const held = range && isOf(file, range) ? range : null
      if (Number(from) !== (held?.from ?? 0)) {
        fail(new ApiError('files_unclear'))
        return
      }
      if (held && held.from >= file.size) {
        fail(new ApiError('file_range', { values: { size: file.size } }))
        return
      }
      const beyond = file.size - (held?.from ?? 0)
      left = Math.min(beyond, held?.length ?? beyond)
      resolve({ ...file, part: held && { from: held.from, length: left } })
      if (left === 0) finish()
    }
    if (rest.length > 0) give(rest)
  }

  script = await startScript(run, DOWNLOAD_SCRIPT, bytes => (begun ? begin(bytes) : give(bytes))).catch(
    error => {
      clearTimeout(idle)
      throw error
    },
  )
  body.on('error', () => undefined)
  if (stop.aborted) onStop()
  stop.addEventListener('abort', onStop)
  script.ended.then(
    () => {
      if (begun) fail(new ApiError('files_unclear'))
      // A file that became shorter is not what was promised.
      else if (left !== null && left > 0) fail(new ApiError('file_out_of_step'))
      else finish()
    },
    error => fail(error),
  )
  script.line.write(Buffer.from(headOf(path, range), 'latin1'), () => undefined)
  return { file: await head, body }
}

function isOf(file: { size: number; modifiedS: number }, { of }: DownloadRange): boolean {
  return of === null || (of.size === file.size && of.modifiedS === file.modifiedS)
}

function headOf(path: string, range: DownloadRange | null): string {
  const { from, of } = range ?? { from: 0, of: null }
  return `${pathLine(path)}${from} ${of ? `${of.size} ${of.modifiedS}` : '- -'}\n`
}
