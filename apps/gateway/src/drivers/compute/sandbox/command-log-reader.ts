import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

/** How much of the end of the log is read for its last lines. */
const TAIL_BYTES_MAX = 1024 * 1024
const CHUNK_BYTES = 64 * 1024
const POLL_MS = 200
/** By so many bytes the place is found again at which reading stopped, after the log's older half went. */
const MARK_BYTES = 256

/** The last lines of a start command's log, which a machine writes to and which may be absent. */
export async function readTail(path: string, linesMax: number): Promise<string> {
  const file = await openLog(path)
  if (!file) return ''
  try {
    return (await lastLines(file, linesMax)).text
  } finally {
    await file.close()
  }
}

/**
 * The last lines, and then what comes, until `isOver` says that nothing more will. Read only as fast as the reader
 * takes it; one that falls behind the log's limit loses what went.
 */
export function followTail(path: string, linesMax: number, isOver: () => Promise<boolean>): Readable {
  const gone = new AbortController()
  const stream = Readable.from(chunksOf(path, linesMax, isOver, gone.signal), { objectMode: false })
  stream.once('close', () => gone.abort())
  return stream
}

async function* chunksOf(
  path: string,
  linesMax: number,
  isOver: () => Promise<boolean>,
  gone: AbortSignal,
): AsyncGenerator<Buffer> {
  const file = await openLog(path)
  if (!file) return
  try {
    const { text, end } = await lastLines(file, linesMax)
    let mark = Buffer.from(text).subarray(-MARK_BYTES)
    if (text !== '') yield Buffer.from(text)
    let at = end
    while (!gone.aborted) {
      // Asked before the last look at the file, so that nothing is missed that was written in between.
      const over = await isOver()
      const { size } = await file.stat()
      if (size < at) at = await placeAfter(file, mark, size)
      const { buffer, bytesRead } = await file.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, at)
      if (bytesRead > 0) {
        const chunk = buffer.subarray(0, bytesRead)
        at += bytesRead
        mark = Buffer.concat([mark, chunk]).subarray(-MARK_BYTES)
        yield chunk
      } else if (over) return
      else await sleep(POLL_MS, undefined, { signal: gone }).catch(() => undefined)
    }
  } finally {
    await file.close()
  }
}

/** Where to go on in a log whose older half went: behind what was read last, else at its beginning. */
async function placeAfter(file: FileHandle, mark: Buffer, size: number): Promise<number> {
  const bytes = Math.min(size, TAIL_BYTES_MAX)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, 0)
  const found = mark.length > 0 ? buffer.subarray(0, bytesRead).lastIndexOf(mark) : -1
  return found < 0 ? 0 : found + mark.length
}

async function lastLines(file: FileHandle, linesMax: number): Promise<{ text: string; end: number }> {
  const { size } = await file.stat()
  const bytes = Math.min(size, TAIL_BYTES_MAX)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, size - bytes)
  const all = buffer.subarray(0, bytesRead)
  let start = all.length
  for (let lines = 0; lines < linesMax && start > 0; lines++) {
    // The line feed that ends a line is not the one that begins it.
    start = start < 2 ? 0 : all.lastIndexOf(10, start - 2) + 1
  }
  return { text: all.subarray(start).toString(), end: size - bytes + bytesRead }
}

/** A machine writes to it, so it is never followed elsewhere. */
async function openLog(path: string): Promise<FileHandle | null> {
  return open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => null)
}
