/** Part of a file that is asked for: its first and last byte. */
export interface ByteRange {
  from: number
  last: number
}

/**
 * Reads a `Range` as players send it. One that is no range, or several at once, is as none: the whole file is an answer to it.
 * @param bytes Of the file.
 * @returns Null for the whole file; `none` where nothing of the file is in it.
 */
export function byteRangeOf(header: string | undefined, bytes: number): ByteRange | 'none' | null {
  const [, first, end] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? []
  if (first === undefined || end === undefined || (first === '' && end === '')) return null
  if (first === '') {
    const length = Math.min(Number(end), bytes)
    return length === 0 ? 'none' : { from: bytes - length, last: bytes - 1 }
  }
  const from = Number(first)
  const last = end === '' ? bytes - 1 : Math.min(Number(end), bytes - 1)
  if (end !== '' && Number(end) < from) return null
  return from >= bytes ? 'none' : { from, last }
}
