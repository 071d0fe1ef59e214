import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { KeeperOrders } from './keeper-orders.ts'

const TOOL_TIMEOUT_MS = 60_000
/** Where a qcow2 file says how large the disk in it is. */
const SIZE_OFFSET = 24
const SIZE_BYTES = 8

/**
 * Makes a machine's disk where it has none yet: what it writes, over a base that many may share. One that is to be
 * larger grows; none ever shrinks. Runs while the machine does not.
 */
export async function readyDisk({ disk, disk_tool }: KeeperOrders): Promise<void> {
  const { path, bytes, base } = disk
  if (!existsSync(path)) {
    const made = `${path}.new`
    await rm(made, { force: true })
    const over = ['-F', base.format, '-b', base.path]
    await run(disk_tool, ['create', '-q', '-f', 'qcow2', ...over, made, String(bytes)])
    // One of the right name is always whole.
    await rename(made, path)
  } else if ((await overlayBytes(path)) < bytes) {
    await run(disk_tool, ['resize', '-q', '-f', 'qcow2', path, String(bytes)])
  }
}

/** How large the disk in a qcow2 file is, by its own word, in bytes. */
export async function overlayBytes(path: string): Promise<number> {
  const file = await open(path, 'r')
  try {
    const { buffer } = await file.read(Buffer.alloc(SIZE_BYTES), 0, SIZE_BYTES, SIZE_OFFSET)
    return Number(buffer.readBigUInt64BE(0))
  } finally {
    await file.close()
  }
}

async function run(file: string, args: string[]): Promise<void> {
  await promisify(execFile)(file, args, { timeout: TOOL_TIMEOUT_MS })
}
