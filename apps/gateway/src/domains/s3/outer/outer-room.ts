import type { S3Answer, SignedS3Request } from '../protocol/s3-request.ts'
import { S3Error } from '../s3-error.ts'
import { S3_LIMITS } from '../s3-limits.ts'

/** Volumes of which it is known; the oldest is asked anew. */
const VOLUMES_KNOWN_MAX = 10_000
/** A volume that has as many uploads as it may have is looked at again after so long. */
const FULL_KNOWN_MS = 5_000

const HTTP_REFUSED = 400

interface Known {
  countedMs: number
  /** What was let in since the volume was counted last. */
  bytes: number
  uploads: { open: number; askedMs: number } | null
}

/**
 * How much more a volume may take between two counts: what it held, and what was let in here since, are held to its size. What
 * was replaced or removed meanwhile is told by the next count.
 * @param deps.now In milliseconds.
 */
export function createOuterRoom({ now }: { now(): number }) {
  const known = new Map<string, Known>()

  function knownOf({ bucket, counted }: SignedS3Request['known']): Known {
    const countedMs = counted?.atMs ?? 0
    const found = known.get(bucket)
    // What was told of before the count may still be asked with.
    if (found && found.countedMs >= countedMs) return found
    if (!found && known.size >= VOLUMES_KNOWN_MAX) known.delete([...known.keys()][0] ?? '')
    const fresh = { countedMs, bytes: 0, uploads: found?.uploads ?? null }
    known.set(bucket, fresh)
    return fresh
  }

  return {
    /**
     * Does some work that keeps so many bytes more. What fails, or is answered with a refusal, keeps none.
     * @throws S3Error `InsufficientStorage` where there is no room, and what the work throws.
     */
    async within(
      key: SignedS3Request['known'],
      bytes: number,
      work: () => Promise<S3Answer | null>,
    ): Promise<S3Answer | null> {
      const own = knownOf(key)
      if ((key.counted?.bytes ?? 0) + own.bytes + bytes > key.bytesMax)
        throw new S3Error('InsufficientStorage')
      own.bytes += bytes
      let isKept = false
      try {
        const given = await work()
        isKept = (given?.status ?? 0) < HTTP_REFUSED
        return given
      } finally {
        if (!isKept) own.bytes -= bytes
      }
    },

    /**
     * Begins an upload where not too many are open.
     * @param ask Says how many are.
     * @throws S3Error `InsufficientStorage`, and what the work throws.
     */
    async begin<Result>(
      key: SignedS3Request['known'],
      ask: () => Promise<number>,
      work: () => Promise<Result>,
    ): Promise<Result> {
      const own = knownOf(key)
      const { uploadsMax, uploadBytesKnownMs } = S3_LIMITS
      const isFull = own.uploads !== null && own.uploads.open >= uploadsMax
      const knownMs = isFull ? FULL_KNOWN_MS : uploadBytesKnownMs
      if (!own.uploads || now() - own.uploads.askedMs > knownMs)
        own.uploads = { askedMs: now(), open: await ask() }
      const { uploads } = own
      if (uploads.open >= uploadsMax) {
        const message = `A volume has ${uploadsMax} open uploads at most. Complete or abort some.`
        throw new S3Error('InsufficientStorage', { message })
      }
      uploads.open += 1
      try {
        return await work()
      } catch (error) {
        uploads.open -= 1
        throw error
      }
    },
  }
}

export type OuterRoom = ReturnType<typeof createOuterRoom>
