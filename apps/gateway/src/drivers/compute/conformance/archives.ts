import { digestOf, type LayoutManifest } from '../../../platform/image-layout/layout.ts'
import { readLayout } from '../../../platform/image-layout/read-layout.ts'

/** In pieces that fit nothing. */
const PIECE_BYTES = 100_003

/** All of an archive. */
export async function gathered(archive: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const found: Uint8Array[] = []
  for await (const piece of archive) found.push(piece)
  return Buffer.concat(found)
}

/** An archive as it comes from somewhere. */
export async function* pieces(archive: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < archive.length; at += PIECE_BYTES) yield archive.subarray(at, at + PIECE_BYTES)
}

/** The digests of an archive's layers; fails where it is none. */
export async function layersIn(archive: Buffer): Promise<string[]> {
  let found: LayoutManifest['layers'] = []
  for await (const part of readLayout(pieces(archive)))
    if ('image' in part) found = part.image.manifest.layers
  return found.map(({ digest }) => digest)
}

/** The front of an archive, which is not all of it. */
export function cutAfter(archive: Buffer, share: number): Buffer {
  return archive.subarray(0, Math.floor(archive.length * share))
}

/** An archive with one other bit in the largest of its blobs. */
export async function flipped(archive: Buffer): Promise<Buffer> {
  let largest: Buffer = Buffer.alloc(0)
  for await (const part of readLayout(pieces(archive))) {
    if ('image' in part) continue
    const bytes = await gathered(part.bytes)
    if (bytes.length > largest.length) largest = bytes
  }
  const at = archive.indexOf(largest) + Math.floor(largest.length / 2)
  const changed = Buffer.from(archive)
  changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
  if (digestOf(changed) === digestOf(archive)) throw new Error('nothing was changed')
  return changed
}
