import {
  describe,
  digestOf,
  type LayoutImage,
  MEDIA_TYPES,
  makeLayoutImage,
} from '../../../platform/image-layout/layout.ts'
import { packLayout } from '../../../platform/image-layout/pack-layout.ts'

/** An image, and the archive of it. */
export interface MadeLayout {
  image: LayoutImage
  archive: Buffer
}

/** Makes an image of layers that hold these bytes. */
export async function makeLayout(...layers: (string | Buffer)[]): Promise<MadeLayout> {
  const bytes = layers.map(layer => Buffer.from(layer))
  const config = Buffer.from(
    JSON.stringify({ os: 'linux', rootfs: { type: 'layers', diff_ids: bytes.map(digestOf) } }),
  )
  const image = makeLayoutImage({
    config: describe(config, MEDIA_TYPES.config),
    layers: bytes.map(layer => describe(layer, MEDIA_TYPES.layer)),
  })
  const blobs = new Map([config, ...bytes].map(blob => [digestOf(blob), blob]))
  const archive = packLayout(image, async function* ({ digest }) {
    yield blobs.get(digest) ?? Buffer.alloc(0)
  })
  return { image, archive: await gathered(archive) }
}

/** All of an archive. */
export async function gathered(archive: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const found: Uint8Array[] = []
  for await (const piece of archive) found.push(piece)
  return Buffer.concat(found)
}

/** An archive as it comes from somewhere. */
export async function* pieces(archive: Buffer, pieceBytes = 1_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < archive.length; at += pieceBytes) yield archive.subarray(at, at + pieceBytes)
}
