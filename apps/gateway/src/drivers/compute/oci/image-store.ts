import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { ComputeError, type ComputeErrorCode } from '../port/compute-error.ts'
import type { PullProgress } from '../port/images.ts'
import type { RegistryTerms } from '../port/registry-access.ts'
import { type FetchedImage, heldFolder, imageFiles, makeImageFolders, readRecord } from './image-files.ts'
import type { PullOrders } from './pull-orders.ts'

const PULL_SCRIPT = join(import.meta.dirname, 'pull-process.ts')
/** Of the process that fetches; blobs are never held in whole. */
const HEAP_MB_MAX = 256
const ERROR_CHARS_MAX = 500

const progressLine = z.object({ bytes_done: z.number(), bytes_total: z.number() })
/** The process is ours: its words are taken for what they are. */
const failureLine = z.object({
  failed: z.object({
    code: z.custom<ComputeErrorCode>(value => typeof value === 'string'),
    message: z.string(),
  }),
})

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
 * @param deps.room How many bytes images may take of its disk now.
 * @param deps.lay Goes through the bytes of the layers once more; each time is one half of a pull's progress.
 */
export function createImageStore(dir: string, deps: { room(): Promise<number>; lay: LayImage }) {
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
      const orders = { terms, roomBytes: await deps.room() }
      const lock = imageFiles(folder).lock(reference)
      await fetchOutside({ dir, folder, reference, lock, orders }, half, signal)
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
    for (const folder of [heldFolder(dir, owner), dir]) {
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
      if (signal.aborted) throw givenUp()
      const before = await find(image)
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

/** Lets a process fetch an image while it holds the lock of it, which other gateways wait for. */
async function fetchOutside(
  what: { dir: string; folder: string; reference: string; lock: string; orders: PullOrders },
  onProgress: (progress: PullProgress) => void,
  signal: AbortSignal,
): Promise<void> {
  const node = [
    process.execPath,
    `--max-old-space-size=${HEAP_MB_MAX}`,
    '--disable-warning=ExperimentalWarning',
  ]
  const argv = ['--no-fork', what.lock, ...node, PULL_SCRIPT, what.dir, what.folder, what.reference]
  const child = spawn('flock', argv, {
    env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    stdio: ['pipe', 'pipe', 'pipe'],
    killSignal: 'SIGKILL',
    signal,
  })
  let failure: z.infer<typeof failureLine>['failed'] | null = null
  let said = ''
  child.stderr.on('data', chunk => {
    said = `${said}${chunk}`.slice(-ERROR_CHARS_MAX)
  })
  child.stdin.on('error', () => undefined)
  // Its end would be the end of that process.
  child.stdin.write(`${JSON.stringify(what.orders)}\n`)
  createInterface({ input: child.stdout }).on('line', line => {
    const value = JSON.parse(line) as unknown
    const progress = progressLine.safeParse(value).data
    if (progress) onProgress(progress)
    failure = failureLine.safeParse(value).data?.failed ?? failure
  })
  const [code] = await once(child, 'close').catch(cause => {
    throw new ComputeError('failed', `fetching ${what.reference} ended early: ${cause.message}`, { cause })
  })
  if (failure) throw asComputeError(what.reference, failure)
  if (code !== 0) throw new ComputeError('failed', `fetching ${what.reference} failed: ${said.trim()}`)
}

function asComputeError(
  reference: string,
  { code, message }: z.infer<typeof failureLine>['failed'],
): ComputeError {
  return new ComputeError(code, `${reference}: ${message}`.slice(0, ERROR_CHARS_MAX))
}
