import type { Logger } from 'pino'
import { ComputeError } from '../port/compute-error.ts'
import { aborted } from './launch.ts'

/** How long a call waits for an erasure, which may take an hour: whoever asked has other things to do. */
const PATIENCE_MS = 5_000

/**
 * Waits for an erasure that goes on in any case.
 * @param options.onLate Called when it ended after the wait for it did, in whichever way.
 * @throws What the erasure failed with, or ComputeError `failed` where the wait ended first: ask again.
 */
export async function eraseWithPatience(
  erasing: Promise<void>,
  options: { signal?: AbortSignal; log: Logger; onLate?: () => void },
): Promise<void> {
  const { signal, log, onLate } = options
  const ends = AbortSignal.timeout(PATIENCE_MS)
  const patience = signal ? AbortSignal.any([signal, ends]) : ends
  try {
    await Promise.race([erasing, aborted(patience)])
  } catch (error) {
    if (!patience.aborted) throw error
    erasing
      .catch(cause => log.warn({ err: cause }, 'an erasure that nobody waited for any more has failed'))
      .finally(() => onLate?.())
    throw new ComputeError('failed', 'erasing all that was stored takes a while; it goes on')
  }
}
