import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLayoutFolder } from '../src/drivers/image-store/layout/layout-folder.ts'
import type { LayoutStore } from '../src/drivers/image-store/port.ts'

/** A store of images in a folder of its own, which is made when the first image is kept. */
export function createTestImageStore(): { store: LayoutStore; remove(): Promise<void> } {
  const dir = join(tmpdir(), `berth-images-${randomUUID()}`)
  return {
    store: createLayoutFolder(dir, { bytes_max: 2 ** 40, free_bytes_min: 0 }),
    remove: () => rm(dir, { recursive: true, force: true }),
  }
}
