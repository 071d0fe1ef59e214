import { createHash } from 'node:crypto'
import { readTar, type TarPart } from '../tar/read-tar.ts'
import { ArchiveCut, NotAnArchive } from '../tar/tar-reader.ts'
import {
  blobsOf,
  bytesOf,
  type Descriptor,
  digestOf,
  LAYOUT_LIMITS,
  type LayoutImage,
  layoutManifestSchema,
  MANIFEST_BYTES_MAX,
  MEDIA_TYPES,
  oneImageSchema,
} from './layout.ts'
import { LayoutError } from './layout-error.ts'

/** Of headers and what goes with them: some kilobytes for each layer. */
const OVERHEAD_BYTES_MAX = 1024 * 1024
const INDEX_BYTES_MAX = 64 * 1024
const BLOB_NAME = /^blobs\/(sha256)\/([a-f0-9]{64})$/

/** First the image, which names all blobs that follow; then each of them. */
export type LayoutPart = { image: LayoutImage } | { blob: Descriptor; bytes: AsyncIterable<Buffer> }

/**
 * Reads the archive of an OCI image layout that holds one image: its index before the manifest, that before the blobs
 * that it names, those in any order, and nothing else. Each blob is checked by its digest and size; what no manifest
 * named is refused before a byte of it is read.
 * @returns Its parts, as they come. A blob's bytes throw where they turn out to be others, so whoever keeps them waits
 * for their end, and does not stop before; all of the archive is right once all parts have come.
 * @throws LayoutError; what `archive` throws.
 */
export async function* readLayout(
  archive: AsyncIterable<Uint8Array>,
  limits = LAYOUT_LIMITS,
): AsyncGenerator<LayoutPart> {
  let named: Descriptor | null = null
  let missing: Map<string, Descriptor> | null = null
  let isMarked = false
  for await (const { entry, bytes: said } of translated(readTar(archive, OVERHEAD_BYTES_MAX))) {
    const part: TarPart = { entry, bytes: translated(said) }
    const name = entry.name.replace(/^\.\//, '')
    if (entry.kind === 'folder') {
      if (!['', 'blobs/', 'blobs/sha256/'].includes(name)) throw unfit('a folder that no layout has')
      continue
    }
    if (entry.kind !== 'file') throw unfit('something else than files')
    if (name === 'oci-layout' && !isMarked) {
      await jsonOf(part, INDEX_BYTES_MAX)
      isMarked = true
      continue
    }
    if (name === 'index.json' && named === null) {
      named = parsed(oneImageSchema, (await jsonOf(part, INDEX_BYTES_MAX)).value).manifests[0]
      continue
    }
    const [, algorithm, hex] = BLOB_NAME.exec(name) ?? []
    const digest = `${algorithm}:${hex}`
    if (missing === null) {
      if (named?.digest !== digest) throw unfit('blobs before what names them')
      const image = await imageOf(part, named, limits)
      missing = new Map(blobsOf(image).map(blob => [blob.digest, blob]))
      yield { image }
      continue
    }
    const blob = missing.get(digest)
    if (!blob || !missing.delete(digest)) throw unfit('a file that its image does not name, or one twice')
    if (entry.size !== blob.size) throw new LayoutError('damaged', `${digest} has another size`)
    const bytes = checked(part.bytes, digest)
    yield { blob, bytes }
    // What nobody has read is looked at all the same.
    for await (const _ of bytes);
  }
  if (!isMarked || missing === null || missing.size > 0)
    throw new LayoutError('cut', 'not all of an image is there')
}

/** Bytes that are looked at on their way. */
async function* checked(bytes: AsyncIterable<Buffer>, digest: string): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  for await (const piece of bytes) {
    hash.update(piece)
    yield piece
  }
  if (`sha256:${hash.digest('hex')}` !== digest)
    throw new LayoutError('damaged', `${digest} holds something else`)
}

async function imageOf(
  part: TarPart,
  named: Descriptor,
  { bytes_max, layers_max }: typeof LAYOUT_LIMITS,
): Promise<LayoutImage> {
  const { value, bytes } = await jsonOf(part, MANIFEST_BYTES_MAX)
  if (bytes.length !== named.size || digestOf(bytes) !== named.digest)
    throw new LayoutError('damaged', `${named.digest} holds something else`)
  const manifest = parsed(layoutManifestSchema, value)
  const image = { descriptor: { ...named, mediaType: MEDIA_TYPES.manifest }, bytes, manifest }
  if (
    manifest.layers.length > layers_max ||
    manifest.config.size > MANIFEST_BYTES_MAX ||
    bytesOf(image) > bytes_max
  )
    throw new LayoutError('too_large', 'the image is larger than may be')
  const blobs = blobsOf(image)
  const isTwofold = [manifest.config, ...manifest.layers].some(
    ({ digest, size }) => blobs.find(blob => blob.digest === digest)?.size !== size,
  )
  if (isTwofold || blobs.some(({ digest }) => digest === named.digest))
    throw unfit('a manifest that contradicts itself')
  return image
}

async function jsonOf(
  { entry, bytes }: TarPart,
  bytesMax: number,
): Promise<{ value: unknown; bytes: Buffer }> {
  if (entry.size > bytesMax)
    throw new LayoutError('too_large', 'what describes the image is larger than may be')
  const pieces: Buffer[] = []
  for await (const piece of bytes) pieces.push(piece)
  const all = Buffer.concat(pieces)
  try {
    return { value: JSON.parse(all.toString('utf8')), bytes: all }
  } catch (cause) {
    throw new LayoutError('unfit', 'what describes the image is no JSON', { cause })
  }
}

function parsed<T>(schema: { safeParse(value: unknown): { data?: T; error?: unknown } }, value: unknown): T {
  const { data, error } = schema.safeParse(value)
  if (data === undefined)
    throw new LayoutError('unfit', 'what describes the image is not as it must be', { cause: error })
  return data
}

function unfit(what: string): LayoutError {
  return new LayoutError('unfit', `the archive holds ${what}`)
}

async function* translated<T>(parts: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* parts
  } catch (cause) {
    if (cause instanceof ArchiveCut) throw new LayoutError('cut', 'the archive breaks off', { cause })
    if (cause instanceof NotAnArchive)
      throw new LayoutError('unfit', `it is no archive: ${cause.message}`, { cause })
    throw cause
  }
}
