import { blobsOf, type LayoutImage } from '../../platform/image-layout/layout.ts'
import type { KeptImageSize, KeptSizes } from './port.ts'

/** An image without its manifest's own bytes. */
export type KnownImage = Omit<LayoutImage, 'bytes'>

/** What images take together and each alone, a blob that several name counted once. */
export function sumsOf(images: readonly KnownImage[]): KeptSizes {
  const sizes = new Map<string, { size: number; users: number }>()
  const all = images.map(image => ({
    digest: image.descriptor.digest,
    blobs: [image.descriptor, ...blobsOf(image)],
  }))
  for (const { digest, size } of all.flatMap(({ blobs }) => blobs)) {
    sizes.set(digest, { size, users: (sizes.get(digest)?.users ?? 0) + 1 })
  }
  const found = new Map<string, KeptImageSize>()
  for (const { digest, blobs } of all) {
    const own = blobs.filter(blob => sizes.get(blob.digest)?.users === 1)
    found.set(digest, { size_bytes: sum(blobs), own_bytes: sum(own) })
  }
  return { bytes: sum([...sizes.values()]), images: found }
}

function sum(sizes: readonly { size: number }[]): number {
  return sizes.reduce((total, { size }) => total + size, 0)
}
