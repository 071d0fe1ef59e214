import type { Logger } from 'pino'
import type { Clock } from '../../../platform/clock.ts'
import { makeImageFolders, removeUnused } from '../oci/image-files.ts'
import { type ImageTrees, manifestOf } from '../oci/image-trees.ts'
import type { ImageRecipe } from '../port/images.ts'
import type { MachineStore } from './machine-store.ts'
import { referenceOf } from './sandbox-recipe.ts'

/** Images are kept for days. */
const TIDY_MS = 3_600_000

export interface TidyingDeps {
  dir: string
  trees: ImageTrees
  store: MachineStore
  /** The operator's images that machines can be made of; null where that is not known. */
  offered: readonly ImageRecipe[] | null
  clock: Clock
  log: Logger
}

/**
 * Removes what no machine and no image needs any more, and what killed gateways have begun: once at the beginning, then
 * every hour.
 */
export function tidyImages(deps: TidyingDeps) {
  const { dir, trees, store, offered, clock, log } = deps

  async function isUsed(key: string): Promise<boolean> {
    for (const id of await store.ids()) {
      if ((await store.readRecord(id))?.image?.tree === key) return true
    }
    return false
  }

  async function usedManifests(): Promise<Set<string>> {
    const records = await Promise.all((await store.ids()).map(store.readRecord))
    return new Set(records.flatMap(record => (record?.image?.tree ? [manifestOf(record.image.tree)] : [])))
  }

  /** Images that are offered, and those of machines. */
  async function needed(offered: readonly ImageRecipe[]): Promise<Set<string>> {
    const records = await Promise.all((await store.ids()).map(store.readRecord))
    const recipes = [...offered, ...records.flatMap(record => record?.spec.image ?? [])]
    return new Set(recipes.flatMap(recipe => referenceOf(recipe) ?? []))
  }

  async function tidy(): Promise<void> {
    await makeImageFolders(dir)
    const now = clock.now().getTime()
    await removeUnused(dir, { now, needed: offered && (await needed(offered)), used: await usedManifests() })
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
