import { S3Error } from '../s3-error.ts'
import { S3_LIMITS } from '../s3-limits.ts'

/**
 * A body as it comes, given up where it comes so slowly that it is there for what it holds up: memory and connections are kept
 * for it. What counts is the time that we wait for it; how long we take over a piece is not its sender's matter.
 * @param now In milliseconds.
 * @throws S3Error `RequestTimeout`.
 */
export async function* atLeastRate(
  pieces: AsyncIterable<Uint8Array>,
  now: () => number = () => performance.now(),
): AsyncGenerator<Uint8Array> {
  const { leastRateMs, leastBytesPerS } = S3_LIMITS
  let waitedMs = 0
  let bytes = 0
  let since = now()
  for await (const piece of pieces) {
    waitedMs += now() - since
    bytes += piece.length
    if (waitedMs >= leastRateMs) {
      if (bytes < (leastBytesPerS * leastRateMs) / 1_000) throw new S3Error('RequestTimeout')
      waitedMs = 0
      bytes = 0
    }
    yield piece
    since = now()
  }
}
