import type { ImageStoreChoice } from '../../platform/config/config.ts'
import { createLayoutBucket } from './bucket/layout-bucket.ts'
import { createLayoutFolder } from './layout/layout-folder.ts'
import type { LayoutStore } from './port.ts'
import { createLayoutRegistry } from './registry/layout-registry.ts'

/** What a folder's disk is to have left for the gateway and its database. */
const FREE_BYTES_MIN = 5 * 2 ** 30

/** Makes the store of images that the settings name; opens nothing yet. */
export function openLayoutStore(choice: ImageStoreChoice): LayoutStore {
  const limits = { bytes_max: choice.bytesMax }
  switch (choice.kind) {
    case 'folder':
      return createLayoutFolder(choice.folder, { ...limits, free_bytes_min: FREE_BYTES_MIN })
    case 'registry':
      return createLayoutRegistry(choice, limits)
    case 'bucket':
      return createLayoutBucket(choice, limits)
  }
}
