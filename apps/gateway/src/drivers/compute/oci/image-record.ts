import { z } from 'zod'
import { isDigest } from '../port/image-reference.ts'

/** As many as Docker's own storage takes. */
const LAYERS_MAX = 128
const TEXT_LENGTH_MAX = 32_768
const LIST_LENGTH_MAX = 1_024
/** Far more than any image has that one would start a machine from. */
export const IMAGE_BYTES_MAX = 256 * 1024 ** 3

/** Of what a registry sends: nothing that ends early in the hands of the system. */
const text = z
  .string()
  .max(TEXT_LENGTH_MAX)
  .refine(value => !value.includes('\0'))
const texts = z
  .array(text)
  .max(LIST_LENGTH_MAX)
  .nullish()
  .transform(list => list ?? [])
const digest = z.string().refine(isDigest)
const size = z.int().min(0).max(IMAGE_BYTES_MAX)

/** One blob, as manifests name it. */
const descriptorSchema = z.object({ digest, size, mediaType: text.optional() })

/** The manifest of one image. */
export const manifestSchema = z.object({
  schemaVersion: z.literal(2),
  config: descriptorSchema,
  layers: z.array(descriptorSchema).max(LAYERS_MAX),
})

/** A list of manifests for several kinds of computers. */
export const indexSchema = z.object({
  schemaVersion: z.literal(2),
  manifests: z
    .array(z.object({ digest, platform: z.object({ os: text, architecture: text }).optional() }))
    .max(LIST_LENGTH_MAX),
})

/** What an image says of itself; of its fields, those that are gone by. */
export const configSchema = z.object({
  os: z.literal('linux'),
  architecture: text,
  config: z
    .object({ Entrypoint: texts, Cmd: texts, Env: texts, WorkingDir: text.nullish(), User: text.nullish() })
    .nullish(),
  rootfs: z.object({ diff_ids: z.array(digest).max(LAYERS_MAX) }),
})

/** How the bytes of a layer are packed. */
const packing = z.enum(['plain', 'gzip', 'zstd'])
export type Packing = z.infer<typeof packing>

/** What is kept of an image that is here, beside its blobs. */
export const imageRecordSchema = z.object({
  reference: text,
  manifest: digest,
  config: digest,
  /** `diff_id` is the digest of what is packed in it. */
  layers: z.array(z.object({ digest, diff_id: digest, size, packing })).max(LAYERS_MAX),
  entrypoint: z.array(text),
  command: z.array(text),
  env: z.record(z.string(), text),
  working_dir: text,
  user: text,
})
export type ImageRecord = z.infer<typeof imageRecordSchema>

/** How a layer of this type is packed; null for one that is no layer to be unpacked here. */
export function packingOf(mediaType: string | undefined): Packing | null {
  switch (mediaType) {
    case 'application/vnd.oci.image.layer.v1.tar':
    case 'application/vnd.docker.image.rootfs.diff.tar':
      return 'plain'
    case 'application/vnd.oci.image.layer.v1.tar+gzip':
    case 'application/vnd.docker.image.rootfs.diff.tar.gzip':
      return 'gzip'
    case 'application/vnd.oci.image.layer.v1.tar+zstd':
      return 'zstd'
    default:
      return null
  }
}
