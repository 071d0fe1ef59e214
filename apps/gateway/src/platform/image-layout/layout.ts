import { createHash } from 'node:crypto'
import { z } from 'zod'

/** What an archive of an image may hold at most. */
export interface LayoutLimits {
  /** Of all blobs together. */
  bytes_max: number
  layers_max: number
}

export const LAYOUT_LIMITS: LayoutLimits = {
  // Far more than any image has that one would start a machine from.
  bytes_max: 256 * 1024 ** 3,
  // As many as Docker's own storage takes.
  layers_max: 128,
}

/** As registries keep to themselves. */
export const MANIFEST_BYTES_MAX = 4 * 1024 * 1024

export const MEDIA_TYPES = {
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  index: 'application/vnd.oci.image.index.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar',
} as const

/** What stands in the file `oci-layout`. */
export const LAYOUT_MARK = Buffer.from('{"imageLayoutVersion":"1.0.0"}')

const DIGEST = /^sha256:[a-f0-9]{64}$/
const MEDIA_TYPE_LENGTH_MAX = 255

/** The digest of bytes, as images name them. */
export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}

const mediaType = z.string().max(MEDIA_TYPE_LENGTH_MAX)

/** One blob, as manifests name it. */
export const descriptorSchema = z.object({
  mediaType,
  digest: z.string().regex(DIGEST),
  size: z.int().min(0),
})
export type Descriptor = z.infer<typeof descriptorSchema>

/** The index of an archive, which names its one image. */
export const oneImageSchema = z.object({
  schemaVersion: z.literal(2),
  manifests: z.tuple([descriptorSchema]),
})

/** What an image's manifest names. An artifact, such as the disk of a virtual machine, has one of the same shape. */
export const layoutManifestSchema = z.object({
  schemaVersion: z.literal(2),
  mediaType: z.literal(MEDIA_TYPES.manifest),
  artifactType: mediaType.optional(),
  config: descriptorSchema,
  layers: z.array(descriptorSchema).min(1),
})
export type LayoutManifest = z.infer<typeof layoutManifestSchema>

/** An image as its manifest has it. */
export interface LayoutImage {
  /** The manifest's own; the image is known by its digest. */
  descriptor: Descriptor
  /** The manifest as it stands there. */
  bytes: Buffer
  manifest: LayoutManifest
}

/** The blobs that an image names, each once, its config first and its manifest not with them. */
export function blobsOf({ manifest }: Pick<LayoutImage, 'manifest'>): Descriptor[] {
  return [...new Map([manifest.config, ...manifest.layers].map(blob => [blob.digest, blob])).values()]
}

/** Bytes of all that an image is, each blob counted once. */
export function bytesOf(image: LayoutImage): number {
  return blobsOf(image).reduce((sum, { size }) => sum + size, image.descriptor.size)
}

/** Makes the manifest of an image. The same parts give the same bytes. */
export function makeLayoutImage(
  parts: Pick<LayoutManifest, 'artifactType' | 'config' | 'layers'>,
): LayoutImage {
  const { artifactType, config, layers } = parts
  const named = ({ mediaType, digest, size }: Descriptor) => ({ mediaType, digest, size })
  const manifest: LayoutManifest = {
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.manifest,
    ...(artifactType !== undefined && { artifactType }),
    config: named(config),
    layers: layers.map(named),
  }
  const bytes = Buffer.from(JSON.stringify(manifest))
  return { descriptor: describe(bytes, MEDIA_TYPES.manifest), bytes, manifest }
}

/** How bytes are named. */
export function describe(bytes: Uint8Array, mediaType: string): Descriptor {
  return { mediaType, digest: digestOf(bytes), size: bytes.length }
}
