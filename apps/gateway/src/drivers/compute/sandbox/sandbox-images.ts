import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Clock } from '../../../platform/clock.ts'
import { createImageStore } from '../oci/image-store.ts'
import { createImageTrees } from '../oci/image-trees.ts'
import { ComputeError } from '../port/compute-error.ts'
import { registryOf } from '../port/image-reference.ts'
import type { ImageRecipe, ImageStore } from '../port/images.ts'
import { asNobody } from '../port/registry-access.ts'
import { type Eraser, goingOf } from './eraser.ts'
import type { HomeImages } from './home-images.ts'
import { createImageRoots } from './image-roots.ts'
import { tidyImages } from './image-tidying.ts'
import type { ImageTools } from './image-tools.ts'
import { type MachineStore, ownerOf } from './machine-store.ts'
import { findRootOverlay } from './overlay-root.ts'
import { createSandboxOwnImages } from './sandbox-own-images.ts'
import { isOwnReference, referenceOf, sandboxLackFor } from './sandbox-recipe.ts'
import { createImageUnpacker, ROOT_FOLDER, type UnpackImageDeps } from './unpack-image.ts'

export interface SandboxImagesDeps extends UnpackImageDeps {
  dataDir: string
  store: MachineStore
  eraser: Eraser
  homes: HomeImages | null
  tools: ImageTools | { lacks: string }
  /** How machines of images get their roots; without it over one that they share, where that works here. */
  roots?: 'copies'
  /** As `TidyingDeps` has them. */
  offered: readonly ImageRecipe[] | null
  clock: Clock
  log: Logger
}

/** What machines are made from here: the computer's own programs, and images of registries. */
export async function createSandboxImages(deps: SandboxImagesDeps) {
  const { dataDir, store, eraser, homes, tools, log } = deps
  const dir = join(dataDir, 'oci')
  const trees = createImageTrees({
    dir,
    keepsOwners: deps.trees !== null,
    unpack: createImageUnpacker(deps),
    erase: folder => eraseTree(folder, eraser),
  })
  const images = createImageStore(dir, {
    room: deps.room,
    lay: trees.make,
  })
  const found =
    deps.roots === 'copies' || 'lacks' in tools
      ? { overlay: null, why: 'roots are copies' }
      : await findRootOverlay(dataDir)
  if (found.overlay === null && !('lacks' in tools)) {
    log.warn({ why: found.why }, 'each machine of an image gets a copy of it')
  }
  const tidying = tidyImages({ dir, trees, store, offered: deps.offered, clock: deps.clock, log })
  const lackFor = (image: ImageRecipe) => sandboxLackFor(image, tools)

  /** @throws ComputeError `image_unavailable` where no machine can be made of a recipe here. */
  const check = (image: ImageRecipe) => {
    const why = lackFor(image)
    if (why !== null) throw new ComputeError('image_unavailable', why)
  }

  const facet: ImageStore = {
    lackFor,
    async has(image) {
      if (lackFor(image) !== null) return false
      const reference = referenceOf(image)
      // The computer's own programs need no pull.
      if (reference === null) return true
      const fetched = await images.find({ reference, owner: image.owner })
      return fetched !== null && (await trees.has(fetched))
    },
    async pull(image, onProgress, signal, access = asNobody) {
      check(image)
      const reference = referenceOf(image)
      // What is here needs no login any more, and may outlive the one that it came by.
      if (reference === null || (await facet.has(image))) return
      if (isOwnReference(reference))
        throw new ComputeError('image_unavailable', `${image.id} is not on this engine any more`)
      const terms = await access(registryOf(reference))
      await images.pull({ reference, owner: image.owner }, terms, onProgress, signal)
    },
    own:
      'lacks' in tools
        ? { lacks: tools.lacks }
        : createSandboxOwnImages({ dir, store, trees, room: deps.room }),
    dockerfile: {
      lacks: 'The sandbox has no builder of Dockerfiles whose steps would be held as its machines are.',
    },
  }

  return {
    facet,
    check,
    roots: createImageRoots({ images, trees, homes, overlay: found.overlay }),
    /** Whether machines of an image share its files, or each has a copy. */
    shared: found.overlay !== null,
    close: tidying.close,
  }
}

/** Removes what was unpacked, as the user whose it is; see `Eraser.erase` for how it fails. */
async function eraseTree(folder: string, eraser: Eraser): Promise<void> {
  const root = join(folder, ROOT_FOLDER)
  const owner = (await ownerOf(root)) ?? (await ownerOf(goingOf(root)))
  if (owner) await eraser.erase(root, owner.uid === process.getuid?.() ? null : owner.uid)
  await rm(folder, { recursive: true, force: true })
}
