import { statfs } from 'node:fs/promises'
import { LayoutStoreError } from '../port.ts'

/** How much is written between two looks at what the disk has left. */
const LOOK_BYTES = 16 * 1024 * 1024

/** Sees that a store takes no more than it may, of its own limit and of its disk. */
export function createLayoutRoom(dir: string, limits: { bytes_max: number; free_bytes_min: number }) {
  let sinceLook = LOOK_BYTES

  async function freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(dir)
    return bavail * bsize - limits.free_bytes_min
  }

  return {
    /** @throws LayoutStoreError `full` where so many bytes do not fit beside those that are kept. */
    async mustHave(bytes: number, kept: number): Promise<void> {
      if (kept + bytes > limits.bytes_max)
        throw new LayoutStoreError('full', 'the store has as many bytes as it may have')
      if (bytes > (await freeBytes())) throw full()
    },

    /** The same of the disk while it is written, since others fill it as well. */
    async mustHaveLeft(bytes: number): Promise<void> {
      sinceLook += bytes
      if (sinceLook < LOOK_BYTES) return
      sinceLook = 0
      if ((await freeBytes()) < 0) throw full()
    },
  }
}

function full(): LayoutStoreError {
  return new LayoutStoreError('full', 'the disk of the store is nearly full')
}
