import { fstatSync, ftruncateSync, readSync, writeSync } from 'node:fs'

/** When the log reaches this size its older half goes. */
const LOG_BYTES_MAX = 128 * 1024 * 1024
/** What is moved at once: the newer half is no part of a machine's memory. */
const MOVED_BYTES_MAX = 1024 * 1024

/**
 * Writes the start command's output to an open file and keeps only the newest part of it.
 * @param fd Open for reading and writing, and not for appending: the newest part is moved to the beginning.
 * @param bytesMax Tests hand in less.
 */
export function createCommandLog(fd: number, bytesMax = LOG_BYTES_MAX): (chunk: Buffer | string) => void {
  let bytes = fstatSync(fd).size
  return chunk => {
    try {
      const piece = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      bytes += writeSync(fd, piece, 0, piece.length, bytes)
      if (bytes > bytesMax) bytes = keepNewest(fd, bytes, Math.floor(bytesMax / 2))
    } catch {
      // A full disk must not end the machine; the lines are lost.
    }
  }
}

/** Keeps so much of the end, from the beginning of a line on. Gives how much it is. */
function keepNewest(fd: number, bytes: number, keptBytes: number): number {
  const piece = Buffer.allocUnsafe(Math.min(MOVED_BYTES_MAX, keptBytes))
  let from = bytes - keptBytes
  from += piece.subarray(0, readSync(fd, piece, 0, piece.length, from)).indexOf(10) + 1
  let to = 0
  while (from < bytes) {
    const read = readSync(fd, piece, 0, Math.min(piece.length, bytes - from), from)
    if (read === 0) break
    writeSync(fd, piece, 0, read, to)
    from += read
    to += read
  }
  ftruncateSync(fd, to)
  return to
}
