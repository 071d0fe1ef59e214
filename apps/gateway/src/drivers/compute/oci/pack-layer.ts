import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, writeFile } from 'node:fs/promises'
import type { TarEntry } from '../../../platform/tar/tar-reader.ts'
import { NotForImages } from './layer-entries.ts'
import { OciFailure } from './oci-failure.ts'
import type { PackedLayer, PackOrders } from './pack-orders.ts'
import { unpackLayer } from './plain-layer.ts'
import { writeLayer } from './write-layer.ts'

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
    const leftOut = new Set(orders.left_out)
    const isLeftOut = ({ name }: TarEntry) => leftOut.has(name.replace(/^(\.?\/)+/, '').replace(/\/$/, ''))
    const layer = await writeLayer(
      file,
      orders,
      parts => parts.archive(child.stdout, isLeftOut),
      bytes => onProgress({ bytes_done: bytes, bytes_total: orders.bytes_max }),
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
