import { TAR_END, tarHeader, tarPadding } from '../tar/tar-writer.ts'
import { blobsOf, type Descriptor, LAYOUT_MARK, type LayoutImage, MEDIA_TYPES } from './layout.ts'
import { LayoutError } from './layout-error.ts'

/**
 * Packs an image as the archive of an OCI image layout: `oci-layout`, `index.json`, the manifest, the config, then the
 * layers. The same image gives the same bytes.
 * @param open Opens a blob; called once for each, in the order in which they are packed.
 * @returns The archive, made no faster than it is read. It throws what `open` throws, and LayoutError `damaged` where a
 * blob has another size than its manifest says.
 */
export async function* packLayout(
  image: LayoutImage,
  open: (blob: Descriptor) => AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const index = { schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests: [image.descriptor] }
  yield* packFile('oci-layout', LAYOUT_MARK)
  yield* packFile('index.json', Buffer.from(JSON.stringify(index)))
  yield* packFile(blobName(image.descriptor), image.bytes)
  for (const blob of blobsOf(image)) {
    yield tarHeader({ name: blobName(blob), type: 'file', mode: 0o644, size: blob.size })
    let left = blob.size
    for await (const piece of open(blob)) {
      left -= piece.length
      if (left < 0) break
      yield piece
    }
    if (left !== 0) throw new LayoutError('damaged', `${blob.digest} has another size than its image says`)
    yield tarPadding(blob.size)
  }
  yield TAR_END
}

function* packFile(name: string, bytes: Buffer): Generator<Uint8Array> {
  yield Buffer.concat([
    tarHeader({ name, type: 'file', mode: 0o644, size: bytes.length }),
    bytes,
    tarPadding(bytes.length),
  ])
}

function blobName({ digest }: Descriptor): string {
  return `blobs/${digest.replace(':', '/')}`
}
