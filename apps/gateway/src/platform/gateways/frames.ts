import type { Duplex } from 'node:stream'

/** One frame before the stream begins: a request, or the answer to it. What is longer is refused unread. */
const FRAME_BYTES_MAX = 16_384
const LENGTH_BYTES = 4

/**
 * Writes one JSON value with its length before it.
 * @throws Error when it is longer than `FRAME_BYTES_MAX`.
 */
export function writeFrame(stream: Duplex, value: unknown): void {
  const text = Buffer.from(JSON.stringify(value))
  if (text.length > FRAME_BYTES_MAX) {
    throw new Error(`A request to another gateway has ${text.length} bytes; ${FRAME_BYTES_MAX} are allowed.`)
  }
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32BE(text.length)
  stream.write(Buffer.concat([length, text]))
}

/**
 * Reads one JSON value, and nothing of what comes after it.
 * @param limitMs The whole frame must have come by then.
 * @returns What was sent, unchecked.
 * @throws Error when it is too long or no JSON, comes too late, or the stream ends before it.
 */
export function readFrame(stream: Duplex, limitMs: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let length: number | null = null
    const timer = setTimeout(() => finish(new Error('it took too long')), limitMs)
    const onEnd = () => finish(new Error('it ended too soon'))

    function finish(error: Error | null, value?: unknown): void {
      clearTimeout(timer)
      stream.off('readable', onReadable).off('end', onEnd).off('close', onEnd).off('error', finish)
      if (error) reject(error)
      else resolve(value)
    }

    function onReadable(): void {
      if (length === null) {
        const head: Buffer | null = stream.read(LENGTH_BYTES)
        if (head === null || head.length < LENGTH_BYTES) return
        length = head.readUInt32BE()
      }
      if (length === 0 || length > FRAME_BYTES_MAX) {
        finish(new Error('it is empty or too long'))
        return
      }
      const body: Buffer | null = stream.read(length)
      if (body === null || body.length < length) return
      try {
        finish(null, JSON.parse(body.toString('utf8')))
      } catch {
        finish(new Error('it is no JSON'))
      }
    }

    stream.on('readable', onReadable).once('end', onEnd).once('close', onEnd).once('error', finish)
    onReadable()
  })
}
