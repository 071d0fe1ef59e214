import type { Logger } from 'pino'
import { makeImageFolders, removeUnused } from '../oci/image-files.ts'
import type { ImageTrees } from '../oci/image-trees.ts'
import type { MachineStore } from './machine-store.ts'

/** Images are kept for days. */
const TIDY_MS = 3_600_000

/**
 * Removes what no machine and no image needs any more, and what killed gateways have begun: once at the beginning, then
 * every hour.
 */
export function tidyImages(deps: { dir: string; trees: ImageTrees; store: MachineStore; log: Logger }) {
  const { dir, trees, store, log } = deps

  async function isUsed(key: string): Promise<boolean> {
    for (const id of await store.ids()) {
      if ((await store.readRecord(id))?.image?.tree === key) return true
    }
    return false
  }

  async function tidy(): Promise<void> {
    await makeImageFolders(dir)
    await removeUnused(dir, Date.now())
    await trees.removeUnused(isUsed)
  }

  const tidyQuietly = () =>
    tidy().catch(error => log.error({ err: error }, 'images that nobody needs were not removed'))
  let underWay = tidyQuietly()
  const timer = setInterval(() => {
    underWay = underWay.then(tidyQuietly)
  }, TIDY_MS)
  // It keeps no process alive.
  timer.unref()
  return {
    async close(): Promise<void> {
      clearInterval(timer)
      await underWay
    },
  }
}
