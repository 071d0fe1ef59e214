import { randomUUID } from 'node:crypto'
import {
  blobsOf,
  type Descriptor,
  digestOf,
  LAYOUT_LIMITS,
  type LayoutImage,
  layoutManifestSchema,
  MEDIA_TYPES,
  bytesOf as sizeOfAll,
} from '../../../platform/image-layout/layout.ts'
import { readLayout } from '../../../platform/image-layout/read-layout.ts'
import { createOuterS3, type OuterS3Place } from '../../../platform/outer-s3/outer-s3.ts'
import { type KeptImage, type LayoutStore, LayoutStoreError } from '../port.ts'
import { type KnownImage, sumsOf } from '../sums.ts'
import { getTranslated, type Incoming, mustGoOn, putTranslated, translated } from '../translate.ts'
import { createBucketLock } from './bucket-lock.ts'

const IMAGES_MAX = 10_000
/** What a gateway has announced and neither kept nor taken back for so long is of one that died. */
const ANNOUNCED_MS_MAX = 86_400_000
/** Tries in a row that bring nothing. */
const EMPTY_TRIES_MAX = 4
const MANIFEST = /([a-f0-9]{64})\.json$/

const hexOf = (digest: string) => digest.slice('sha256:'.length)

/** Where a store lies: a bucket that is there, and what all of its keys begin with. */
export interface BucketPlace extends OuterS3Place {
  bucket: string
  /** Empty, or ends with a slash. */
  prefix: string
}

/**
 * A store of images in a bucket of any S3 server. An image is there from when `images/<its digest>.json` is, which is its
 * manifest and is written last; its blobs are objects by their digests. Who keeps one announces first which blobs it will
 * name, and who removes one looks at images and announcements under the same lock: so no blob goes that somebody has found.
 */
export function createLayoutBucket(
  place: BucketPlace,
  options: { bytes_max: number; limits?: typeof LAYOUT_LIMITS; now?: () => number },
): LayoutStore {
  const { limits = LAYOUT_LIMITS, now = Date.now } = options
  const { bucket, prefix } = place
  const s3 = createOuterS3(place)
  const alone = createBucketLock(s3, bucket, `${prefix}lock`)
  const blobKey = (digest: string) => `${prefix}blobs/sha256/${hexOf(digest)}`
  const imageKey = (digest: string) => `${prefix}images/sha256/${hexOf(digest)}.json`
  const announced = `${prefix}announced/`
  /** Manifests do not change, so each is read once. */
  const known = new Map<string, KnownImage>()

  async function read(digest: string, signal?: AbortSignal): Promise<LayoutImage | null> {
    const bytes = await s3.read(bucket, imageKey(digest), signal)
    if (!bytes) return null
    const manifest = layoutManifestSchema.safeParse(
      digestOf(bytes) === digest ? JSON.parse(bytes.toString('utf8')) : null,
    ).data
    if (!manifest) throw new LayoutStoreError('damaged', `the bucket has something else as ${digest}`)
    return { descriptor: { mediaType: MEDIA_TYPES.manifest, digest, size: bytes.length }, bytes, manifest }
  }

  /** All images that are kept. */
  async function images(signal?: AbortSignal): Promise<KnownImage[]> {
    const found: KnownImage[] = []
    for await (const { key } of s3.list(bucket, `${prefix}images/`, signal)) {
      const hex = MANIFEST.exec(key)?.[1]
      if (hex === undefined || found.length > IMAGES_MAX) continue
      const digest = `sha256:${hex}`
      const image = known.get(digest) ?? (await read(digest, signal))
      if (!image) continue
      known.set(digest, { descriptor: image.descriptor, manifest: image.manifest })
      found.push(image)
    }
    const there = new Set(found.map(({ descriptor }) => descriptor.digest))
    for (const digest of known.keys()) if (!there.has(digest)) known.delete(digest)
    return found
  }

  /** Blobs that somebody is about to name. What the dead have announced is forgotten. */
  async function announcedBlobs(): Promise<Set<string>> {
    const named = new Set<string>()
    const dead: string[] = []
    for await (const { key, modifiedMs } of s3.list(bucket, announced)) {
      if (modifiedMs < now() - ANNOUNCED_MS_MAX) dead.push(key)
      else
        for (const hex of ((await s3.read(bucket, key))?.toString('utf8') ?? '').split('\n')) named.add(hex)
    }
    await s3.remove(bucket, dead)
    return named
  }

  /** Removes blobs that nobody names. Under the lock. @returns Their bytes. */
  async function removeUnnamed(): Promise<number> {
    const named = await announcedBlobs()
    for (const image of await images()) for (const { digest } of blobsOf(image)) named.add(hexOf(digest))
    const keys: string[] = []
    let freed = 0
    for await (const { key, bytes } of s3.list(bucket, `${prefix}blobs/`)) {
      if (named.has(key.slice(key.lastIndexOf('/') + 1))) continue
      keys.push(key)
      freed += bytes
    }
    await s3.remove(bucket, keys)
    await s3.abortUploads(bucket, `${prefix}blobs/`, now() - ANNOUNCED_MS_MAX)
    return freed
  }

  /** As much of an image as no other one names. Fails with `full`. */
  async function newBytesOf(image: LayoutImage, signal: AbortSignal): Promise<number> {
    const all = await images(signal)
    const named = new Set(all.flatMap(one => [one.descriptor, ...blobsOf(one)]).map(({ digest }) => digest))
    const missing = [image.descriptor, ...blobsOf(image)].filter(({ digest }) => !named.has(digest))
    const bytes = missing.reduce((sum, { size }) => sum + size, 0)
    if (bytes > 0 && (all.length >= IMAGES_MAX || sumsOf(all).bytes + bytes > options.bytes_max))
      throw new LayoutStoreError('full', 'the store has as many images or bytes as it may have')
    return bytes
  }

  /** Looks whether all that an image names is there: somebody may have taken it for nobody's. Else the image is not. */
  async function requireBlobs(image: LayoutImage, signal: AbortSignal): Promise<void> {
    for (const { digest, size } of blobsOf(image)) {
      if ((await s3.size(bucket, blobKey(digest), signal)) === size) continue
      await s3.remove(bucket, [imageKey(image.descriptor.digest)])
      throw new LayoutStoreError('unavailable', `${digest} went while the image was kept`)
    }
  }

  async function keep(
    incoming: Incoming,
    signal: AbortSignal,
    onDigest?: (digest: string) => Promise<void>,
  ): Promise<KeptImage> {
    const announcement = `${announced}${randomUUID()}`
    let image: LayoutImage | null = null
    let new_bytes = 0
    try {
      for await (const part of readLayout(incoming, limits)) {
        mustGoOn(signal)
        if ('image' in part) {
          image = part.image
          new_bytes = await newBytesOf(image, signal)
          const names = blobsOf(image).map(({ digest }) => hexOf(digest))
          await alone(() => s3.write(bucket, announcement, names.join('\n'), { signal }))
          continue
        }
        const { digest, size } = part.blob
        // What is there already is read all the same, since its bytes prove that whoever sends it has it.
        if ((await s3.size(bucket, blobKey(digest), signal)) === size) continue
        await s3.upload(bucket, blobKey(digest), part.bytes, { bytes: size, signal })
      }
      mustGoOn(signal)
      if (!image) throw new Error('a layout without an image was read')
      const { digest } = image.descriptor
      await incoming.tell(onDigest?.(digest))
      await s3.write(bucket, imageKey(digest), image.bytes, { signal })
      await requireBlobs(image, signal)
      return { digest, size_bytes: sizeOfAll(image), new_bytes }
    } catch (error) {
      // What was under way at the server fails otherwise than by being given up.
      mustGoOn(signal)
      throw error
    } finally {
      // What it had announced and did not keep goes with the next image that is removed.
      await s3.remove(bucket, [announcement]).catch(() => undefined)
    }
  }

  /** The bytes of a blob, gone on with where a connection breaks off. */
  async function* open({ digest, size }: Descriptor, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    let done = 0
    for (let empty = 0; done < size; empty++) {
      try {
        for await (const piece of s3.stream(bucket, blobKey(digest), done, signal)) {
          mustGoOn(signal)
          done += piece.length
          empty = 0
          yield piece
        }
      } catch (cause) {
        mustGoOn(signal)
        if (cause instanceof LayoutStoreError || empty >= EMPTY_TRIES_MAX) throw cause
      }
      if (done < size && empty >= EMPTY_TRIES_MAX)
        throw new LayoutStoreError('unavailable', `the S3 server breaks off in ${digest}`)
    }
  }

  return {
    name: 'bucket',

    put: (archive, signal, onDigest) =>
      putTranslated(archive, signal, incoming => keep(incoming, signal, onDigest)),

    get: (digest, signal) =>
      getTranslated(digest, signal, {
        read: () => read(digest, signal),
        open: blob => open(blob, signal),
      }),

    remove: digest =>
      translated('removing an image', async () => {
        // What has been read by then is not read while everybody else waits.
        await images()
        return alone(async () => {
          const own = (await images()).find(({ descriptor }) => descriptor.digest === digest)
          await s3.remove(bucket, [imageKey(digest)])
          known.delete(digest)
          return { freed_bytes: (own?.descriptor.size ?? 0) + (await removeUnnamed()) }
        })
      }),

    sizes: () => translated('counting images', async () => sumsOf(await images())),
  }
}
