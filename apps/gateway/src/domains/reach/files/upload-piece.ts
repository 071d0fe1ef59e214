import type { Readable } from 'node:stream'
import { ApiError } from '../../../platform/http/api-error.ts'
import { UPLOAD_SCRIPT } from './change-scripts.ts'
import { folderOf, partOf } from './file-paths.ts'
import { pathLine, type Run, type RunningScript, startScript } from './run-script.ts'

/** A piece of a file that comes from a customer. */
export interface Piece {
  path: string
  /** Of the whole file, in bytes, and when it was written to, in seconds. */
  size: number
  modified_at: number
  offset: number
  length: number
  replace: boolean
  /** What it, and what came before it from `verify_from` on, comes to by SHA-256, in hexadecimal digits. */
  sha256?: string | undefined
  verify_from?: number | undefined
}

/**
 * Streams a piece into a machine: no faster than the machine takes it, and nothing of it is kept here.
 * @param body Read to its end, or to where that makes no sense any more; what is left of it then flows away.
 * @param stop Ends it with its reason.
 * @throws ApiError why it is not there; what has come of it stays, for another piece to go on from.
 */
export async function uploadPieceTo(
  run: Run,
  body: Readable,
  piece: Piece,
  { idleMs, stop }: { idleMs: number; stop: AbortSignal },
): Promise<void> {
  const { promise: stopped, reject } = Promise.withResolvers<never>()
  stopped.catch(() => undefined)
  const idle = setTimeout(() => reject(new ApiError('transfer_idle')), idleMs)
  const onStop = () => reject(stop.reason)
  if (stop.aborted) onStop()
  stop.addEventListener('abort', onStop)
  let script: RunningScript | null = null
  try {
    script = await startScript(run, UPLOAD_SCRIPT, () => undefined)
    const { line, ended } = script
    line.write(Buffer.from(headOf(piece), 'latin1'), () => undefined)
    const carried = carryBody(body, piece.length, (bytes, done) => {
      idle.refresh()
      line.write(bytes, done)
    })
    // A machine that refuses does so before it has all.
    await Promise.race([carried, ended.then(() => carried), stopped])
    line.end()
    await Promise.race([ended, stopped])
  } finally {
    clearTimeout(idle)
    stop.removeEventListener('abort', onStop)
    script?.line.close()
    body.removeAllListeners('data')
    body.resume()
  }
}

function headOf(piece: Piece): string {
  const { path, size, modified_at, offset, length, replace, sha256 = '-', verify_from = offset } = piece
  const figures = [offset, offset + length, size, modified_at, replace ? 1 : 0, verify_from, sha256]
  const paths = [path, partOf(piece), folderOf(path)].map(pathLine).join('')
  return `${paths}${figures.join(' ')}\n`
}

/** Hands on exactly so many bytes, one write at a time. @throws ApiError where more or fewer come. */
function carryBody(
  body: Readable,
  length: number,
  write: (bytes: Buffer, done: () => void) => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  promise.catch(() => undefined)
  let left = length
  const short = () => reject(new ApiError('file_out_of_step'))
  if (body.destroyed && !body.readableEnded) short()
  if (body.readableEnded) {
    if (left > 0) short()
    else resolve()
  }
  body.on('data', (bytes: Buffer) => {
    left -= bytes.length
    if (left < 0) return reject(new ApiError('body_too_large', { values: { limit: `${length} B` } }))
    body.pause()
    write(bytes, () => body.resume())
  })
  body.once('end', () => {
    if (left === 0) resolve()
    else short()
  })
  body.once('close', short)
  body.once('error', short)
  return promise
}
