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

/**
 * All that is kept of the log now, the oldest first. Read only as fast as the reader takes it; what goes meanwhile, as the
 * log's older half does, is left out.
 */
export function readKept(path: string): Readable {
  return Readable.from(keptChunksOf(path), { objectMode: false })
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
    const place: Place = { at: end, mark: Buffer.from(text).subarray(-MARK_BYTES) }
    if (text !== '') yield Buffer.from(text)
    while (!gone.aborted) {
      // Asked before the last look at the file, so that nothing is missed that was written in between.
      const over = await isOver()
      const chunk = await readAfter(file, place)
      if (chunk.length > 0) yield chunk
      else if (over) return
      else await sleep(POLL_MS, undefined, { signal: gone }).catch(() => undefined)
    }
  } finally {
    await file.close()
  }
}

async function* keptChunksOf(path: string): AsyncGenerator<Buffer> {
  const file = await openLog(path)
  if (!file) return
  try {
    // Who writes faster than it is read is not read for ever.
    let { size: left } = await file.stat()
    const place: Place = { at: 0, mark: Buffer.alloc(0) }
    while (left > 0) {
      const chunk = (await readAfter(file, place)).subarray(0, left)
      if (chunk.length === 0) return
      left -= chunk.length
      yield chunk
    }
  } finally {
    await file.close()
  }
}

/** Where reading goes on, and what stands before that. */
interface Place {
  at: number
  mark: Buffer
}

/** What comes after a place, which goes on behind it. Where the log's older half went, the place is found again first. */
async function readAfter(file: FileHandle, place: Place): Promise<Buffer> {
  const bytes = place.mark.length + CHUNK_BYTES
  const from = place.at - place.mark.length
  const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, from)
  if (!buffer.subarray(0, Math.min(place.mark.length, bytesRead)).equals(place.mark)) {
    Object.assign(place, await placeAfter(file, place.mark))
    return readAfter(file, place)
  }
  const chunk = buffer.subarray(place.mark.length, bytesRead)
  place.at += chunk.length
  place.mark = buffer.subarray(Math.max(0, bytesRead - MARK_BYTES), bytesRead)
  return chunk
}

/** Where to go on in a log whose older half went: behind what was read last, else at its beginning. */
async function placeAfter(file: FileHandle, mark: Buffer): Promise<Place> {
  let { size: end } = await file.stat()
  while (end >= mark.length && end > 0) {
    const from = Math.max(0, end - TAIL_BYTES_MAX)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(end - from), 0, end - from, from)
    const found = buffer.subarray(0, bytesRead).lastIndexOf(mark)
    if (found >= 0) return { at: from + found + mark.length, mark }
    // What stands across two looks is looked for, too.
    end = from === 0 ? 0 : from + mark.length - 1
  }
  return { at: 0, mark: Buffer.alloc(0) }
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
