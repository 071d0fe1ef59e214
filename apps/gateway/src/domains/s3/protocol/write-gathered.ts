import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'

/** One write for so much. */
const BLOCK_BYTES = 1024 * 1024

/**
 * Writes what comes in small pieces by large blocks, each of which is written while the next one comes.
 * @returns What was written.
 */
export async function writeGathered(
  file: FileHandle,
  content: AsyncIterable<Uint8Array>,
): Promise<{ md5: string; bytes: number }> {
  const hash = createHash('md5')
  let block: Uint8Array = Buffer.allocUnsafeSlow(0)
  let spare: Uint8Array | null = null
  let held = 0
  let bytes = 0
  let writing: Promise<void> = Promise.resolve()
  const flush = async (more: boolean) => {
    await writing
    const full = block.subarray(0, held)
    const before = block
    writing = writeAll(file, full).then(() => {
      spare = before
    })
    // What fails is thrown where it is waited for.
    writing.catch(() => undefined)
    held = 0
    if (more) block = spare ?? Buffer.allocUnsafeSlow(BLOCK_BYTES)
    spare = null
  }
  for await (const piece of content) {
    hash.update(piece)
    bytes += piece.length
    for (let at = 0; at < piece.length; ) {
      if (block.length === 0) block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
      const some = piece.subarray(at, at + block.length - held)
      block.set(some, held)
      held += some.length
      at += some.length
      if (held === block.length) await flush(true)
    }
  }
  if (held > 0) await flush(false)
  await writing
  return { md5: hash.digest('hex'), bytes }
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, at, bytes.length - at)
    at += bytesWritten
  }
}
