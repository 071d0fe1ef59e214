import { OciFailure } from './oci-failure.ts'

/** How fast what is fetched must come, over all. Tests have others. */
export interface Pace {
  /** So long nobody asks how fast it comes: a registry may have to find it first. */
  graceMs: number
  /** From then on so much must have come on average, counted from the beginning. */
  bytesPerSecondMin: number
  /** Longer than this it may not take, however fast it comes. */
  wholeMsMax: number
}

export const PACE: Pace = {
  graceMs: 2 * 60_000,
  // A line of half a megabit; ten images that share one of five go on.
  bytesPerSecondMin: 32 * 1024,
  // Less than a start has for its pull, so that it hears whose fault it is; another try goes on with what came.
  wholeMsMax: 25 * 60_000,
}

/** How often it is looked at. */
const LOOK_MS = 1_000

/** What is fetched under a pace. */
export interface PacedFetch {
  /** Ends whatever is still asked. */
  stop: AbortController
  /** To be told of what comes over the line, in bytes. */
  onReceived(bytes: number): void
}

/**
 * Fetches something, and gives up what comes too slowly over all: each connection may bring as much as it must and the
 * whole still take for ever, a drop at a time.
 * @throws OciFailure `too_slow`, and what `work` throws.
 */
export async function withPace<T>(pace: Pace, work: (fetch: PacedFetch) => Promise<T>): Promise<T> {
  const stop = new AbortController()
  const begunMs = performance.now()
  let received = 0
  const look = () => {
    const tookMs = performance.now() - begunMs
    const isLate = tookMs > pace.wholeMsMax
    const isSlow = tookMs > pace.graceMs && received < (tookMs / 1_000) * pace.bytesPerSecondMin
    if (isLate || isSlow) stop.abort(new OciFailure('too_slow', isLate ? 'it takes too long' : undefined))
  }
  const timer = setInterval(look, Math.min(LOOK_MS, pace.graceMs, pace.wholeMsMax))
  try {
    return await work({
      stop,
      onReceived: bytes => {
        received += bytes
      },
    })
  } catch (error) {
    // What was stopped so says that it was stopped, and not why.
    throw stop.signal.reason instanceof OciFailure ? stop.signal.reason : error
  } finally {
    clearInterval(timer)
  }
}
