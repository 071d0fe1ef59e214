import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type FileHandle, open, statfs, writeFile } from 'node:fs/promises'
import { readTar } from '../../../platform/tar/read-tar.ts'
import { TAR_END, tarHeader, tarPadding } from '../../../platform/tar/tar-writer.ts'
import { layerEntries, NotForImages } from './layer-entries.ts'
import { OciFailure } from './oci-failure.ts'
import type { PackedLayer, PackOrders } from './pack-orders.ts'
import { unpackLayer } from './plain-layer.ts'

/** How much is written between two looks at what the disk has left. */
const LOOK_BYTES = 16 * 1024 * 1024
/** Of a file: its header, and a name or attributes that do not fit into it. */
const OVERHEAD_BYTES_EACH = 8_192
/** What was written, removed or changed while it was read ends the program that packs with this, and is no failure. */
const CHANGED_EXIT_CODE = 1
const ERROR_CHARS_MAX = 500

/**
 * Makes a layer of what a machine has changed, and those plain that go below it so: the archive that a program writes of
 * it, told as OCI has it. The same files give the same layer.
 * @throws OciFailure `too_large`, `no_room`; NotForImages; Error where the files cannot be read.
 */
export async function packLayer(
  orders: PackOrders,
  onProgress: (progress: { bytes_done: number; bytes_total: number }) => void,
): Promise<void> {
  const [program = '', ...args] = orders.argv
  // Before the program: Node passes over what one that has ended still had to say where nobody reads it yet.
  const file = await open(orders.out, 'wx', 0o644)
  const child = spawn(program, args, {
    cwd: '/',
    env: { PATH: '/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', chunk => {
    said = `${said}${chunk}`.slice(-ERROR_CHARS_MAX)
  })
  const ended = once(child, 'close')
  try {
    const layer = await write(orders, file, child.stdout, bytes =>
      onProgress({ bytes_done: bytes, bytes_total: orders.bytes_max }),
    )
    const [code] = await ended
    if (code !== 0 && code !== CHANGED_EXIT_CODE) throw new Error(`its files cannot be read: ${said.trim()}`)
    for (const below of orders.unpacked) await unpackLayer(below, orders.bytes_max)
    await writeFile(`${orders.out}.json`, JSON.stringify(layer satisfies PackedLayer))
  } catch (error) {
    child.kill('SIGKILL')
    await ended.catch(() => undefined)
    if (error instanceof OciFailure || error instanceof NotForImages) throw error
    throw new Error(`${(error as Error).message}: ${said.trim()}`, { cause: error })
  }
}

/** Writes the layer and closes its file. Reads from the moment that it is called. */
async function write(
  orders: PackOrders,
  file: FileHandle,
  archive: AsyncIterable<Uint8Array>,
  onBytes: (done: number) => void,
): Promise<PackedLayer> {
  const hash = createHash('sha256')
  const leftOut = new Set(orders.left_out)
  let size = 0
  let looked = Number.NEGATIVE_INFINITY
  let files = 0
  const put = async (bytes: Uint8Array) => {
    size += bytes.length
    if (size > orders.bytes_max) throw new OciFailure('too_large')
    if (size - looked > LOOK_BYTES) {
      looked = size
      const { bavail, bsize } = await statfs(orders.out)
      if (bavail * bsize < orders.kept_bytes) throw new OciFailure('no_room')
      onBytes(size)
    }
    hash.update(bytes)
    await file.writeFile(bytes)
  }
  try {
    for await (const { entry, bytes } of readTar(archive, orders.files_max * OVERHEAD_BYTES_EACH)) {
      if (++files > orders.files_max) throw new OciFailure('too_large', `more than ${orders.files_max} files`)
      if (leftOut.has(entry.name.replace(/^(\.?\/)+/, '').replace(/\/$/, ''))) continue
      for (const header of layerEntries(entry, orders.users)) {
        await put(tarHeader(header))
        if (header.type !== 'file' || !header.size) continue
        for await (const piece of bytes) await put(piece)
        await put(tarPadding(header.size))
      }
    }
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
