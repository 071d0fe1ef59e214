import { packLayoutOf } from '../../../platform/image-layout/pack-layout.ts'
import { readDockerArchive, surveyDockerArchive } from './docker-archive.ts'

/**
 * An image of an engine as an OCI image layout. The engine is asked for it twice: what an image is made of stands at the
 * end of what older engines send, and at the front of a layout; so no layer is ever held, in memory or on a disk. A layer
 * is what its diff id names, not packed: the same each time, whoever packs.
 * @param open Asks the engine for all of the image.
 */
export async function* saveImage(open: () => Promise<NodeJS.ReadableStream>): AsyncGenerator<Uint8Array> {
  const asBytes = async () => (await open()) as AsyncIterable<Buffer>
  const { image, config, layers } = await surveyDockerArchive(await asBytes())
  async function* blobs() {
    yield { digest: image.manifest.config.digest, bytes: whole(config) }
    for await (const { entry, bytes } of readDockerArchive(await asBytes())) {
      const digest = entry.kind === 'file' ? layers.get(entry.name) : undefined
      if (digest !== undefined) yield { digest, bytes }
    }
  }
  yield* packLayoutOf(image, blobs())
}

async function* whole(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}
