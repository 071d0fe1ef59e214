import { S3Error } from '../s3-error.ts'
import { S3_LIMITS } from '../s3-limits.ts'
import { countUploads } from './uploads.ts'
import type { VolumeFolder } from './volume-folder.ts'

/** Volumes of which it is known; the oldest is counted anew. */
const VOLUMES_KNOWN_MAX = 1_000

/**
 * How much parts of open uploads may take of a volume: as much as it is to hold. It is counted now and then, and added to
 * meanwhile, so that a part is not the reason to look at ten thousand others.
 * @param deps.now In milliseconds.
 */
export function createUploadRoom({ now }: { now(): number }) {
  const known = new Map<string, { taken: Promise<{ bytes: number }>; until: number }>()

  function takenOf(bucket: string, volume: VolumeFolder): Promise<{ bytes: number }> {
    const found = known.get(bucket)
    if (found && found.until > now()) return found.taken
    known.delete(bucket)
    const [oldest] = known.keys()
    if (known.size >= VOLUMES_KNOWN_MAX && oldest !== undefined) known.delete(oldest)
    const taken = countUploads(volume).then(bytes => ({ bytes }))
    taken.catch(() => known.delete(bucket))
    known.set(bucket, { taken, until: now() + S3_LIMITS.uploadBytesKnownMs })
    return taken
  }

  return {
    /**
     * Does some work that keeps so many bytes more of an upload. What fails keeps none.
     * @throws S3Error `InsufficientStorage` where there is no room, and what the work throws.
     */
    async within<Result>(
      asked: { bucket: string; volume: VolumeFolder; bytes: number; bytesMax: number },
      work: () => Promise<Result>,
    ): Promise<Result> {
      const { bucket, volume, bytes, bytesMax } = asked
      const taken = await takenOf(bucket, volume)
      if (taken.bytes + bytes > bytesMax) {
        const message =
          'Uploads that are not completed hold as much as the volume is to hold. Complete or abort some.'
        throw new S3Error('InsufficientStorage', { message })
      }
      taken.bytes += bytes
      try {
        return await work()
      } catch (error) {
        taken.bytes -= bytes
        throw error
      }
    },

    /** An upload of a volume is over: what the others take is counted when the next part comes. */
    forget: (bucket: string) => void known.delete(bucket),
  }
}

export type UploadRoom = ReturnType<typeof createUploadRoom>
