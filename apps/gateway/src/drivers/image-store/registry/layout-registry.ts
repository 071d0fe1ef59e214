import { z } from 'zod'
import {
  blobsOf,
  digestOf,
  LAYOUT_LIMITS,
  type LayoutImage,
  layoutManifestSchema,
  MEDIA_TYPES,
  bytesOf as sizeOfAll,
} from '../../../platform/image-layout/layout.ts'
import { readLayout } from '../../../platform/image-layout/read-layout.ts'
import { type KeptImage, type LayoutStore, LayoutStoreError } from '../port.ts'
import { type KnownImage, sumsOf } from '../sums.ts'
import { getTranslated, type Incoming, mustGoOn, putTranslated, translated } from '../translate.ts'
import { createRegistryBlobs } from './registry-blobs.ts'
import { createRegistryCalls, type RegistryPlace } from './registry-calls.ts'

const IMAGES_MAX = 10_000
const TAGS_EACH = 1_000
/** An image without a tag would go with the registry's garbage. */
const TAG = /^sha256-([a-f0-9]{64})$/
const tagOf = (digest: string) => digest.replace(':', '-')
const tagsSchema = z.object({ tags: z.array(z.string()).nullable() })
const never = new AbortController().signal

/**
 * A store of images in one repository of any registry that speaks the OCI distribution API. An image is there from when its manifest is, which is sent
 * last; blobs of what was cut or removed are the registry's garbage, which it collects by its own rules. It must let
 * manifests be deleted.
 */
export function createLayoutRegistry(
  place: RegistryPlace,
  options: { bytes_max: number; limits?: typeof LAYOUT_LIMITS },
): LayoutStore {
  const { limits = LAYOUT_LIMITS } = options
  const calls = createRegistryCalls(place)
  const blobs = createRegistryBlobs(calls)
  /** Manifests do not change, so each is read once. */
  const known = new Map<string, KnownImage>()

  async function read(digest: string, signal: AbortSignal): Promise<LayoutImage | null> {
    const answer = await calls.ask(`manifests/${digest}`, {
      method: 'GET',
      headers: { accept: MEDIA_TYPES.manifest },
      ok: [200, 404],
      signal,
    })
    const bytes = await calls.bytesOf(answer)
    if (answer.status === 404) return null
    const manifest = layoutManifestSchema.safeParse(
      digestOf(bytes) === digest ? JSON.parse(bytes.toString('utf8')) : null,
    ).data
    if (!manifest) throw new LayoutStoreError('damaged', `the registry has something else as ${digest}`)
    return { descriptor: { mediaType: MEDIA_TYPES.manifest, digest, size: bytes.length }, bytes, manifest }
  }

  /** All images that are kept. */
  async function images(signal: AbortSignal): Promise<KnownImage[]> {
    const digests = (await tags(signal)).flatMap(tag => (TAG.test(tag) ? [tag.replace('-', ':')] : []))
    const found: KnownImage[] = []
    for (const digest of digests) {
      const image = known.get(digest) ?? (await read(digest, signal))
      if (!image) continue
      known.set(digest, { descriptor: image.descriptor, manifest: image.manifest })
      found.push(image)
    }
    for (const digest of known.keys()) if (!digests.includes(digest)) known.delete(digest)
    return found
  }

  async function tags(signal: AbortSignal): Promise<string[]> {
    const found: string[] = []
    for (
      let next: string | null = `tags/list?n=${TAGS_EACH}`;
      next !== null && found.length <= IMAGES_MAX;
    ) {
      const answer: Response = await calls.ask(next, { method: 'GET', ok: [200, 404], signal })
      const bytes = await calls.bytesOf(answer)
      if (answer.status === 404) return []
      found.push(...(tagsSchema.parse(JSON.parse(bytes.toString('utf8'))).tags ?? []))
      const link = /<([^>]+)>;\s*rel="?next/.exec(answer.headers.get('link') ?? '')?.[1]
      next = link === undefined ? null : (URL.parse(link, answer.url)?.href ?? null)
    }
    return found
  }

  async function keep(
    incoming: Incoming,
    signal: AbortSignal,
    onDigest?: (digest: string) => Promise<void>,
  ): Promise<KeptImage> {
    let image: LayoutImage | null = null
    let new_bytes = 0
    for await (const part of readLayout(incoming, limits)) {
      mustGoOn(signal)
      if ('image' in part) {
        image = part.image
        new_bytes = await newBytesOf(image, signal)
        continue
      }
      // What is there already is read all the same, since its bytes prove that whoever sends it has it.
      if (!(await blobs.has(part.blob, signal))) await blobs.upload(part.blob, part.bytes, signal)
    }
    mustGoOn(signal)
    if (!image) throw new Error('a layout without an image was read')
    const { digest } = image.descriptor
    await incoming.tell(onDigest?.(digest))
    await calls.ask(`manifests/${tagOf(digest)}`, {
      method: 'PUT',
      headers: { 'content-type': MEDIA_TYPES.manifest },
      body: new Uint8Array(image.bytes),
      ok: [201],
      signal,
    })
    return { digest, size_bytes: sizeOfAll(image), new_bytes }
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

  return {
    name: 'registry',

    put: (archive, signal, onDigest) =>
      putTranslated(archive, signal, incoming => keep(incoming, signal, onDigest)),

    get: (digest, signal) =>
      getTranslated(digest, signal, {
        read: () => read(digest, signal),
        open: blob => blobs.open(blob, signal),
      }),

    remove: digest =>
      translated('removing an image', async () => {
        const own = sumsOf(await images(never)).images.get(digest)?.own_bytes ?? 0
        const answer = await calls.ask(`manifests/${digest}`, {
          method: 'DELETE',
          ok: [202, 200, 404, 405],
          signal: never,
        })
        if (answer.status === 405)
          throw new LayoutStoreError(
            'unavailable',
            'the registry lets nothing be deleted: its settings say so',
          )
        known.delete(digest)
        return { freed_bytes: own }
      }),

    sizes: () => translated('counting images', async () => sumsOf(await images(never))),
  }
}
