import { isVolumeId } from '../../../platform/ids.ts'
import { type OuterS3, OuterS3Error, type OuterS3Place } from '../../../platform/outer-s3/outer-s3.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { VolumeStore } from '../port/volumes.ts'

/** How long counting a bucket may take, its open uploads included: less than whoever asks waits. */
const COUNT_MS_MAX = 45_000
const PAGE_KEYS = 1_000
/** Copies of objects that are under way at once, and the largest that a server copies in one call. */
const COPIES_AT_ONCE = 8
const COPY_BYTES_MAX = 5 * 1024 ** 3
/** An upload by parts that was not completed for so long is given up. */
const UPLOAD_KEPT_MS = 7 * 86_400_000
/** What the keys of marks begin with: whose bucket is a volume's is told by them. */
const MARKS = 'volumes/'
const NOT_MOUNTED =
  'It holds objects, which programs reach by S3. To have files in an instance, make a volume of files.'

/**
 * Volumes that are buckets of an outer server, named `<its own bucket>-<id>`. One is ours by `volumes/<id>` in the engine's own
 * bucket, which is written before it is made: the operator's key may have other buckets, named as if they were ours.
 * A copy is whole from when `copying/<id>` is gone from the engine's own bucket, where it stands from before the first object.
 */
export function createBucketVolumes(
  s3: OuterS3,
  place: OuterS3Place & { bucket: string },
  now: () => number,
): VolumeStore {
  const own = place.bucket
  const bucketOf = (id: string) => `${own}-${id}`
  const copying = (id: string) => `copying/${id}`
  const markOf = (id: string) => `${MARKS}${id}`
  const isOurs = async (id: string) => isVolumeId(id) && (await s3.size(own, markOf(id))) !== null

  /** Makes the bucket of a volume. @throws ComputeError where there is one of its name that is not ours. */
  async function makeOwn(id: string): Promise<void> {
    if (!isVolumeId(id)) throw new ComputeError('failed', `${id} is no id of a volume`)
    if (!(await isOurs(id))) {
      if (await s3.hasBucket(bucketOf(id)))
        throw new ComputeError('failed', `there is a bucket ${bucketOf(id)} that Berth has not made`)
      await s3.write(own, markOf(id), id)
    }
    await s3.makeBucket(bucketOf(id))
  }

  async function isThere(id: string): Promise<boolean> {
    if (!(await isOurs(id))) return false
    const [isMade, mark] = await Promise.all([s3.hasBucket(bucketOf(id)), s3.size(own, copying(id))])
    return isMade && mark === null
  }

  async function mustBeThere(id: string): Promise<void> {
    if (!(await isThere(id))) throw new ComputeError('not_found', `no volume ${id}`)
  }

  async function empty(bucket: string): Promise<void> {
    for (;;) {
      const keys: string[] = []
      for await (const { key } of s3.list(bucket, '')) if (keys.push(key) >= PAGE_KEYS) break
      if (keys.length === 0) break
      await s3.remove(bucket, keys)
    }
    await s3.abortUploads(bucket, '', Number.MAX_SAFE_INTEGER)
  }

  async function count(id: string, signal: AbortSignal): Promise<number | null> {
    let used = 0
    for await (const { bytes } of s3.list(bucketOf(id), '')) {
      used += bytes
      if (signal.aborted) return null
    }
    return used
  }

  async function copyAll(order: { from: string; id: string; bytes_max: number }, signal: AbortSignal) {
    const [from, to] = [bucketOf(order.from), bucketOf(order.id)]
    let used = 0
    const running = new Set<Promise<unknown>>()
    try {
      for await (const { key, bytes } of s3.list(from, '', signal)) {
        if (signal.aborted) throw new ComputeError('failed', 'the copy was given up')
        used += bytes
        if (used > order.bytes_max) throw new ComputeError('failed', 'it holds too much to be copied')
        if (bytes > COPY_BYTES_MAX) throw new ComputeError('failed', `${key} is too large to be copied`)
        const one = s3.copy(from, to, key, signal)
        running.add(one)
        one.then(
          () => running.delete(one),
          () => undefined,
        )
        if (running.size >= COPIES_AT_ONCE) await Promise.race(running)
      }
    } finally {
      const ended = await Promise.allSettled(running)
      const failed = ended.find(each => each.status === 'rejected')
      // biome-ignore lint/correctness/noUnsafeFinally: what failed in a copy is why the rest of them stopped
      if (failed) throw failed.reason
    }
    return used
  }

  return {
    size_limit: { enforced: false, why: 'the S3 server does not hold a bucket to a size; it is watched' },
    fixed_size_limit: { enforced: false, why: NOT_MOUNTED },
    sharing: { offered: false, why: NOT_MOUNTED },

    make: ({ id }) => asFailure(() => makeOwn(id)),
    grow: ({ id }) => asFailure(() => mustBeThere(id)),

    delete: id =>
      asFailure(async () => {
        if (!(await isOurs(id))) return
        if (await s3.hasBucket(bucketOf(id))) {
          await empty(bucketOf(id))
          await s3.removeBucket(bucketOf(id))
        }
        await s3.remove(own, [copying(id), markOf(id)])
      }),

    measure: id =>
      asFailure(async () => {
        await mustBeThere(id)
        const signal = AbortSignal.timeout(COUNT_MS_MAX)
        await s3.abortUploads(bucketOf(id), '', now() - UPLOAD_KEPT_MS, signal)
        const used = await count(id, signal)
        const open = used === null ? null : await s3.openBytes(bucketOf(id), signal)
        return used === null || open === null ? null : { used_bytes: used + open }
      }),

    folder: async () => ({ lacks: 'it holds objects and no files' }),

    objects: {
      at: id =>
        asFailure(async () => {
          await mustBeThere(id)
          return { ...place, bucket: bucketOf(id) }
        }),
    },

    copies: {
      copy: (order, signal) =>
        asFailure(async () => {
          await mustBeThere(order.from)
          if (await isThere(order.id)) return { used_bytes: (await count(order.id, signal)) ?? 0 }
          await s3.write(own, copying(order.id), order.id)
          await makeOwn(order.id)
          await empty(bucketOf(order.id))
          const used = await copyAll(order, signal)
          await s3.remove(own, [copying(order.id)])
          return { used_bytes: used }
        }),
    },

    list: () =>
      asFailure(async () => {
        const made = new Set(await s3.buckets())
        const ids: string[] = []
        for await (const { key } of s3.list(own, MARKS)) ids.push(key.slice(MARKS.length))
        return ids.filter(id => isVolumeId(id) && made.has(bucketOf(id)))
      }),
  }
}

async function asFailure<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof OuterS3Error)) throw error
    const code = error.code === 'not_found' ? 'not_found' : error.code === 'full' ? 'no_room' : 'failed'
    throw new ComputeError(code, error.message, { cause: error })
  }
}
