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
  async function* inOrder() {
    for (const { digest, ...blob } of blobsOf(image)) yield { digest, bytes: open({ digest, ...blob }) }
  }
  yield* packLayoutOf(image, inOrder())
}

/**
 * The same of blobs that come in an order of their own.
 * @param blobs Each blob that the image names once; its bytes are read before the next one is asked for. What the image
 * does not name, or named and had already, is passed over.
 * @throws LayoutError `damaged` where one is missing in the end.
 */
export async function* packLayoutOf(
  image: LayoutImage,
  blobs: AsyncIterable<{ digest: string; bytes: AsyncIterable<Uint8Array> }>,
): AsyncGenerator<Uint8Array> {
  const index = { schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests: [image.descriptor] }
  yield* packFile('oci-layout', LAYOUT_MARK)
  yield* packFile('index.json', Buffer.from(JSON.stringify(index)))
  yield* packFile(blobName(image.descriptor), image.bytes)
  const missing = new Map(blobsOf(image).map(blob => [blob.digest, blob]))
  for await (const { digest, bytes } of blobs) {
    const blob = missing.get(digest)
    if (!blob || !missing.delete(digest)) continue
    yield tarHeader({ name: blobName(blob), type: 'file', mode: 0o644, size: blob.size })
    let left = blob.size
    for await (const piece of bytes) {
      left -= piece.length
      if (left < 0) break
      yield piece
    }
    if (left !== 0) throw new LayoutError('damaged', `${digest} has another size than its image says`)
    yield tarPadding(blob.size)
  }
  if (missing.size > 0) throw new LayoutError('damaged', 'a blob of the image is missing')
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
