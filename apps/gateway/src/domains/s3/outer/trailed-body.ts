import { type ChecksumAlgorithm, checksumChars, checksumHeader } from '../protocol/checksums.ts'

/** What stands for the hash of a body whose checksum comes behind it. */
export const TRAILED = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'
const CHUNK_BYTES = 64 * 1024
const LINE = '\r\n'

/**
 * A body in chunks of the protocol's own with its checksum behind them: whoever has it cut off has no end of it, and a server
 * that takes it holds it to its checksum.
 * @param length Of the content, in bytes.
 */
export function createTrailed(algorithm: ChecksumAlgorithm, length: number) {
  const name = checksumHeader(algorithm)
  const chunkBytes = (bytes: number) => bytes.toString(16).length + bytes + 2 * LINE.length
  const rest = length % CHUNK_BYTES
  const chunks =
    Math.floor(length / CHUNK_BYTES) * chunkBytes(CHUNK_BYTES) + (rest > 0 ? chunkBytes(rest) : 0)
  const trailer = (value: string) => `0${LINE}${name}:${value}${LINE}${LINE}`
  let held = Buffer.alloc(0)

  function chunk(bytes: Uint8Array): Uint8Array[] {
    return [Buffer.from(`${bytes.length.toString(16)}${LINE}`), bytes, Buffer.from(LINE)]
  }

  return {
    length: chunks + trailer('x'.repeat(checksumChars(algorithm))).length,
    headers: {
      'content-encoding': 'aws-chunked',
      'x-amz-decoded-content-length': String(length),
      'x-amz-trailer': name,
    },
    /** What of it is sent now: whole chunks, as their lengths have been said. */
    chunksOf(piece: Uint8Array): Uint8Array[] {
      held = Buffer.concat([held, piece])
      const whole: Uint8Array[] = []
      let at = 0
      for (; held.length - at >= CHUNK_BYTES; at += CHUNK_BYTES)
        whole.push(...chunk(held.subarray(at, at + CHUNK_BYTES)))
      held = held.subarray(at)
      return whole
    },
    /** The last chunk, and the checksum. */
    end(value: string): Buffer {
      const last = held.length > 0 ? chunk(held) : []
      return Buffer.concat([...last, Buffer.from(trailer(value))])
    },
  }
}

export type Trailed = ReturnType<typeof createTrailed>
