import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { createZstdDecompress } from 'node:zlib'
import { OciFailure } from './oci-failure.ts'

/**
 * Writes a layer that is packed with zstd as what is packed in it: engines of some years ago read no zstd.
 * @param layer.diff_id What it must turn out to be.
 * @param bytesMax What it may take.
 * @throws OciFailure `digest_wrong`, `too_large`.
 */
export async function unpackLayer(
  layer: { from: string; out: string; diff_id: string },
  bytesMax: number,
): Promise<void> {
  const hash = createHash('sha256')
  const file = await open(layer.out, 'wx', 0o644)
  let bytes = 0
  try {
    const packed = createReadStream(layer.from)
    const pieces = packed.pipe(createZstdDecompress())
    packed.on('error', error => pieces.destroy(error))
    for await (const piece of pieces as AsyncIterable<Buffer>) {
      bytes += piece.length
      if (bytes > bytesMax) throw new OciFailure('too_large')
      hash.update(piece)
      await file.writeFile(piece)
    }
    await file.sync()
  } finally {
    await file.close()
  }
  if (`sha256:${hash.digest('hex')}` !== layer.diff_id) throw new OciFailure('digest_wrong', layer.diff_id)
}
