import { createHash } from 'node:crypto'
import { type FileHandle, statfs } from 'node:fs/promises'
import { readTar } from '../../../platform/tar/read-tar.ts'
import type { TarEntry } from '../../../platform/tar/tar-reader.ts'
import { TAR_END, type TarHeader, tarHeader, tarPadding } from '../../../platform/tar/tar-writer.ts'
import { layerEntries } from './layer-entries.ts'
import { OciFailure } from './oci-failure.ts'
import type { PackedLayer } from './pack-orders.ts'

/** How much is written between two looks at what the disk has left. */
const LOOK_BYTES = 16 * 1024 * 1024
/** Of a file in an archive: its header, and a name or attributes that do not fit into it. */
export const OVERHEAD_BYTES_EACH = 8_192

/** Where a layer goes, and how much of it there may be. */
export interface LayerBounds {
  /** Its path, on the disk whose room is looked at. */
  out: string
  bytes_max: number
  files_max: number
  /** What the disk is to have left. */
  kept_bytes: number
  /** The machine's, by their ids in the archive: those of others become root's. */
  users: { first: number; count: number }
}

/** What a layer is made of, in the order of the calls. */
export interface LayerParts {
  /** Adds what an archive holds, told as OCI has it, but for what `isLeftOut` says. Reads from the moment that it is called. */
  archive(bytes: AsyncIterable<Buffer>, isLeftOut: (entry: TarEntry) => boolean): Promise<void>
  /** Adds one entry without bytes. */
  entry(header: TarHeader): Promise<void>
}

/**
 * Writes a layer into an empty file, and closes that. The same parts give the same layer.
 * @param fill Adds its parts.
 * @throws OciFailure `too_large`, `no_room`; NotForImages; what `fill` throws.
 */
export async function writeLayer(
  file: FileHandle,
  bounds: LayerBounds,
  fill: (parts: LayerParts) => Promise<void>,
  onBytes: (done: number) => void,
): Promise<PackedLayer> {
  const hash = createHash('sha256')
  let size = 0
  let looked = Number.NEGATIVE_INFINITY
  let files = 0
  const put = async (bytes: Uint8Array) => {
    size += bytes.length
    if (size > bounds.bytes_max) throw new OciFailure('too_large')
    if (size - looked > LOOK_BYTES) {
      looked = size
      const { bavail, bsize } = await statfs(bounds.out)
      if (bavail * bsize < bounds.kept_bytes) throw new OciFailure('no_room')
      onBytes(size)
    }
    hash.update(bytes)
    await file.writeFile(bytes)
  }
  const parts: LayerParts = {
    async archive(archive, isLeftOut) {
      for await (const { entry, bytes } of readTar(archive, bounds.files_max * OVERHEAD_BYTES_EACH)) {
        if (++files > bounds.files_max)
          throw new OciFailure('too_large', `more than ${bounds.files_max} files`)
        if (isLeftOut(entry)) continue
        for (const header of layerEntries(entry, bounds.users)) {
          await put(tarHeader(header))
          if (header.type !== 'file' || !header.size) continue
          for await (const piece of bytes) await put(piece)
          await put(tarPadding(header.size))
        }
      }
    },
    entry: header => put(tarHeader(header)),
  }
  try {
    await fill(parts)
    await put(TAR_END)
    await file.sync()
  } catch (error) {
    if (/^(ENOSPC|EDQUOT)$/.test((error as NodeJS.ErrnoException).code ?? '')) throw new OciFailure('no_room')
    throw error
  } finally {
    await file.close()
  }
  return { digest: `sha256:${hash.digest('hex')}`, size }
}
