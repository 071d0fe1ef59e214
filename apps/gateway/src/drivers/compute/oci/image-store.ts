import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { ComputeError } from '../port/compute-error.ts'
import type { PullProgress } from '../port/images.ts'
import { imageFiles, makeImageFolders, readRecord, touch } from './image-files.ts'
import type { ImageRecord } from './image-record.ts'

const PULL_SCRIPT = join(import.meta.dirname, 'pull-process.ts')
/** Of the process that fetches; blobs are never held in whole. */
const HEAP_MB_MAX = 256
const ERROR_CHARS_MAX = 500

const progressLine = z.object({ bytes_done: z.number(), bytes_total: z.number() })
const failureLine = z.object({
  failed: z.object({ message: z.string(), passes: z.boolean(), no_room: z.boolean() }),
})

interface Pull {
  reference: string
  done: Promise<void>
  listeners: Set<(progress: PullProgress) => void>
  stop: AbortController
}

/**
 * Images of registries, kept in a folder that several gateways of one computer may share.
 * @param dir A folder for images alone.
 */
export function createImageStore(dir: string) {
  const files = imageFiles(dir)
  const pulls = new Map<string, Pull>()

  function leave(pull: Pull): void {
    if (pulls.get(pull.reference) === pull) pulls.delete(pull.reference)
  }

  function joinOrBegin(reference: string): Pull {
    const before = pulls.get(reference)
    if (before) return before
    const listeners: Pull['listeners'] = new Set()
    const stop = new AbortController()
    const tell = (progress: PullProgress) => {
      for (const listener of listeners) listener(progress)
    }
    const done = makeImageFolders(dir)
      .then(() => fetchOutside({ dir, reference, lock: files.lock(reference) }, tell, stop.signal))
      .finally(() => leave(pull))
    const pull: Pull = { reference, done, listeners, stop }
    pulls.set(reference, pull)
    return pull
  }

  return {
    /** What is kept of an image; null where it is not here in whole. */
    find: (reference: string): Promise<ImageRecord | null> => readRecord(dir, reference),

    /**
     * Fetches an image, in a process of its own. Asked several times for one image, by one gateway or several, it is
     * fetched once. It ends when all who asked have given up.
     * @throws ComputeError `image_unavailable`, `registry_unreachable`, `exhausted`, `failed`.
     */
    async pull(
      reference: string,
      onProgress: (progress: PullProgress) => void,
      signal: AbortSignal,
    ): Promise<void> {
      const givenUp = () => new ComputeError('failed', 'the call was given up', { cause: signal.reason })
      if (signal.aborted) throw givenUp()
      const pull = joinOrBegin(reference)
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

    /** The files of an image's layers, from the lowest on. It counts as used today. */
    async layersOf(record: ImageRecord): Promise<string[]> {
      await touch(files.record(record.reference))
      return record.layers.map(({ digest }) => files.blob(digest))
    },
  }
}

export type ImageStore = ReturnType<typeof createImageStore>

/** Lets a process fetch an image while it holds the lock of it, which other gateways wait for. */
async function fetchOutside(
  what: { dir: string; reference: string; lock: string },
  onProgress: (progress: PullProgress) => void,
  signal: AbortSignal,
): Promise<void> {
  const node = [
    process.execPath,
    `--max-old-space-size=${HEAP_MB_MAX}`,
    '--disable-warning=ExperimentalWarning',
  ]
  const argv = ['--no-fork', what.lock, ...node, PULL_SCRIPT, what.dir, what.reference]
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
  { message, passes, no_room }: z.infer<typeof failureLine>['failed'],
): ComputeError {
  const code = no_room ? 'exhausted' : passes ? 'registry_unreachable' : 'image_unavailable'
  return new ComputeError(code, `${reference}: ${message}`.slice(0, ERROR_CHARS_MAX))
}
