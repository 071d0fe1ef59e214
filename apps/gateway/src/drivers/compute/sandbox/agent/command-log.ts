import { fstatSync, ftruncateSync, readSync, writeSync } from 'node:fs'

/** When the log reaches this size its older half goes. */
const LOG_BYTES_MAX = 1024 * 1024

/** Writes the start command's output to an open file and keeps only the newest part of it. */
export function createCommandLog(fd: number): (chunk: Buffer | string) => void {
  let bytes = sizeOf(fd)
  return chunk => {
    try {
      bytes += typeof chunk === 'string' ? writeSync(fd, chunk) : writeSync(fd, chunk)
      if (bytes > LOG_BYTES_MAX) bytes = keepNewestHalf(fd, bytes)
    } catch {
      // A full disk must not end the machine; the lines are lost.
    }
  }
}

function keepNewestHalf(fd: number, bytes: number): number {
  const kept = Buffer.allocUnsafe(LOG_BYTES_MAX / 2)
  const read = readSync(fd, kept, 0, kept.length, bytes - kept.length)
  const lineStart = kept.indexOf(10) + 1
  ftruncateSync(fd, 0)
  return writeSync(fd, kept.subarray(lineStart, read))
}

function sizeOf(fd: number): number {
  return fstatSync(fd).size
}
