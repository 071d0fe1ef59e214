import { join } from 'node:path'
import { ComputeError } from '../port/compute-error.ts'
import type { PullProgress } from '../port/images.ts'
import type { RegistryTerms } from '../port/registry-access.ts'
import { fetchOutside } from './fetch-outside.ts'
import {
  type FetchedImage,
  heldFolder,
  imageFiles,
  makeImageFolders,
  ownFolder,
  readRecord,
} from './image-files.ts'
import type { ImageRoom, PullOrders } from './pull-orders.ts'

const PULL_SCRIPT = join(import.meta.dirname, 'pull-process.ts')

interface Pull {
  /** By which others find it: one for each image and folder. */
  key: string
  done: Promise<void>
  listeners: Set<(progress: PullProgress) => void>
  stop: AbortController
}

/** One image, to whoever it is of. */
export interface WantedImage {
  reference: string
  /** As in `ImageRecipe`. */
  owner?: string | undefined
}

/** What is done with an image that was fetched, before it counts as here; done already: returns. */
export type LayImage = (
  image: FetchedImage,
  onBytes: (done: number) => void,
  signal: AbortSignal,
) => Promise<void>

/**
 * Images of registries, kept in a folder that several gateways of one computer may share. What was fetched as nobody is
 * for everybody; what a login was shown for is found by its owner alone.
 * @param dir A folder for images alone.
 * @param deps.room What its disk has for images now.
 * @param deps.lay Goes through the bytes of the layers once more; each time is one half of a pull's progress.
 */
export function createImageStore(dir: string, deps: { room(): Promise<ImageRoom>; lay: LayImage }) {
  const pulls = new Map<string, Pull>()

  function leave(pull: Pull): void {
    if (pulls.get(pull.key) === pull) pulls.delete(pull.key)
  }

  async function fetchAndLay(
    what: { folder: string; reference: string; terms: RegistryTerms },
    tell: (progress: PullProgress) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { folder, reference, terms } = what
    const half = ({ bytes_done, bytes_total }: PullProgress) =>
      tell({ bytes_done: Math.floor(bytes_done / 2), bytes_total })
    await makeImageFolders(folder)
    if (!(await readRecord(folder, reference))) {
      const orders: PullOrders = { terms, room: await deps.room() }
      const lock = imageFiles(folder).lock(reference)
      const script = [PULL_SCRIPT, dir, folder, reference] as const
      await fetchOutside({ name: reference, script, orders, lock }, half, signal)
    }
    const record = await readRecord(folder, reference)
    if (!record) throw new ComputeError('failed', `${reference} is gone again`)
    const total = record.layers.reduce((sum, { size }) => sum + size, 0)
    const onBytes = (done: number) => half({ bytes_done: total + done, bytes_total: total })
    await deps.lay({ folder, record }, onBytes, signal)
    tell({ bytes_done: total, bytes_total: total })
  }

  function joinOrBegin(folder: string, reference: string, terms: RegistryTerms): Pull {
    const key = imageFiles(folder).lock(reference)
    const before = pulls.get(key)
    if (before) return before
    const listeners: Pull['listeners'] = new Set()
    const stop = new AbortController()
    const tell = (progress: PullProgress) => {
      for (const listener of listeners) listener(progress)
    }
    const done = fetchAndLay({ folder, reference, terms }, tell, stop.signal).finally(() => leave(pull))
    const pull: Pull = { key, done, listeners, stop }
    pulls.set(key, pull)
    return pull
  }

  /** Where an image lies in whole, and what is kept of it. */
  async function find({ reference, owner }: WantedImage): Promise<FetchedImage | null> {
    // What was made here has references that no registry has.
    for (const folder of [heldFolder(dir, owner), dir, ownFolder(dir)]) {
      const record = await readRecord(folder, reference)
      if (record) return { folder, record }
    }
    return null
  }

  return {
    /** An image that was fetched in whole; null where it is not here, or not for its owner. */
    find,

    /**
     * Fetches an image, in a process of its own, and lays it. Asked several times for one image, by one gateway or several, it is
     * fetched once. It ends when all who asked have given up.
     * @param terms What its registry is shown.
     * @throws ComputeError as `OciFailure` has them, `failed`, and what laying throws.
     */
    async pull(
      image: WantedImage,
      terms: RegistryTerms,
      onProgress: (progress: PullProgress) => void,
      signal: AbortSignal,
    ): Promise<void> {
      const givenUp = () => new ComputeError('failed', 'the call was given up', { cause: signal.reason })
      const before = await find(image)
      // Whoever gave up by now is not heard again.
      if (signal.aborted) throw givenUp()
      const folder = before?.folder ?? (terms.login === null ? dir : heldFolder(dir, image.owner))
      const pull = joinOrBegin(folder, image.reference, terms)
      const listener = (progress: PullProgress) => onProgress(progress)
      pull.listeners.add(listener)
      try {
        await Promise.race([
          pull.done,
          new Promise((_, reject) =>
            signal.addEventListener('abort', () => reject(givenUp()), { once: true }),
          ),
        ])
      } finally {
        pull.listeners.delete(listener)
        if (pull.listeners.size === 0) {
          // Whoever asks from now on begins another, which waits until this one has ended.
          leave(pull)
          pull.stop.abort()
        }
      }
    },
  }
}

export type ImageStore = ReturnType<typeof createImageStore>
