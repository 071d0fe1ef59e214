import type { LayoutImage } from '../../../platform/image-layout/layout.ts'
import { LayoutError } from '../../../platform/image-layout/layout-error.ts'
import { packLayoutOf } from '../../../platform/image-layout/pack-layout.ts'
import { readLayout } from '../../../platform/image-layout/read-layout.ts'
import { ARCHITECTURE } from '../oci/architecture.ts'
import { configSchema, type ImageRecord } from '../oci/image-record.ts'
import { OciFailure } from '../oci/oci-failure.ts'
import { layersOf, recordOf } from '../oci/pull-image.ts'
import { parseJson } from '../oci/registry-client.ts'

/**
 * An image's archive that is looked at on its way: that it is one which runs on this kind of computer's nodes, and what it says
 * of itself.
 * @returns Its bytes, which throw LayoutError where it is none; `said` once all of them were read.
 */
export function comingImage(archive: AsyncIterable<Uint8Array>) {
  let record: ImageRecord | null = null
  const parts = readLayout(archive)

  async function* bytes(): AsyncGenerator<Uint8Array> {
    const first = await parts.next()
    if (first.done || !('image' in first.value)) throw new LayoutError('cut', 'not all of an image is there')
    const { image } = first.value
    if (image.manifest.artifactType !== undefined) throw unfit()
    yield* packLayoutOf(image, blobsOf(image))
  }

  async function* blobsOf(image: LayoutImage) {
    for await (const part of parts) {
      if ('image' in part) continue
      const { digest } = part.blob
      if (digest !== image.manifest.config.digest) {
        yield { digest, bytes: part.bytes }
        continue
      }
      const pieces: Buffer[] = []
      for await (const piece of part.bytes) pieces.push(piece)
      const config = Buffer.concat(pieces)
      record = recordIn(image, config)
      yield { digest, bytes: whole(config) }
    }
  }

  return {
    bytes: bytes(),
    said(): ImageRecord {
      if (!record) throw unfit()
      return record
    },
  }
}

/** @throws LayoutError `unfit`. */
function recordIn(image: LayoutImage, config: Buffer): ImageRecord {
  const said = configSchema.safeParse(parseJson(config)).data
  if (!said || said.architecture !== ARCHITECTURE) throw unfit()
  try {
    return recordOf('', {
      found: image.descriptor,
      config: { digest: image.manifest.config.digest, config: said },
      layers: layersOf(image.manifest, said),
    })
  } catch (error) {
    if (error instanceof OciFailure) throw unfit(error)
    throw error
  }
}

function unfit(cause?: unknown): LayoutError {
  return new LayoutError('unfit', 'it is no image that runs here', { cause })
}

async function* whole(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}
