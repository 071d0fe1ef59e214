import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { createAtOnce } from '../../../platform/at-once.ts'
import { type FilmOrder, FilmRefused, type FilmSeen, type FilmServer } from '../port.ts'

export const FILM_FRAMES_PER_SECOND = 10
/** So that somebody sees it grow; a frame takes as long again to be drawn. */
const FRAME_MS = 60
/** One leaves the gateway's own thread a processor; the others wait. */
const AT_ONCE_MAX = 1
/** Films that are made or wait, and that are kept until somebody has fetched them. */
const HELD_MAX = 20
const HELD_MS = 600_000
const MAKE_MS_MAX = 300_000
const HEAP_MB_MAX = 256
const TOO_MANY = 429
const NOT_FOUND = 404

/** A folder of its own, which the build knows: in the built gateway a module's URL is another file's. */
const SCRIPT = join(import.meta.dirname, 'film-worker.ts')

/** What a thread draws. */
export interface FilmWork {
  /** What its words and pictures come to. */
  material: string
  seed: number
  width: number
  height: number
  seconds: number
  frameMs: number
}
export type FilmTold = { frame: number; frames: number } | { bytes: Uint8Array } | { failed: string }

interface Held {
  seen: FilmSeen
  bytes: Uint8Array | null
  stopping: AbortController
}

const NAME_BYTES = 8
const ID = /^demo-[0-9a-f]{16}-([0-9a-f]{32})-(\d{1,10})-(\d{2,4})x(\d{2,4})-(\d{1,2})$/

/**
 * Draws films, each in a thread of its own that ends with it: bounded in number, time and memory. What a film is called says
 * all that it is drawn from, so that any gateway goes on with it, from its beginning.
 */
export function createDemoFilms(frameMs = FRAME_MS): FilmServer {
  const inTurn = createAtOnce(AT_ONCE_MAX)
  const held = new Map<string, Held>()

  /** Begins a film that is not here, which another gateway or this one before its end may have done. */
  function hold(id: string): Held {
    const known = held.get(id)
    if (known) return known
    const [, material, seed, width, height, seconds] = ID.exec(id) ?? []
    if (material === undefined) throw new FilmRefused('demo', NOT_FOUND, '')
    if (held.size >= HELD_MAX) throw new FilmRefused('demo', TOO_MANY, '')
    const [length, frames] = [Number(seconds), Number(seconds) * FILM_FRAMES_PER_SECOND]
    const seen: FilmSeen = {
      ...{ id, status: 'queued', percent: 0, frame: 0, frames, seconds: length, reason: null },
    }
    const film: Held = { seen, bytes: null, stopping: new AbortController() }
    held.set(id, film)
    const work = {
      ...{ material, seed: Number(seed), width: Number(width), height: Number(height) },
      ...{ seconds: length, frameMs },
    }
    void inTurn(() => draw(film, work)).finally(() => {
      // Nobody may come for it any more.
      setTimeout(() => held.get(id) === film && held.delete(id), HELD_MS).unref()
    })
    return film
  }

  return {
    begin: async order => ({ ...hold(idOf(order)).seen }),
    look: async id => ({ ...hold(id).seen }),
    async fetch(id) {
      const { bytes } = hold(id)
      if (!bytes) throw new FilmRefused('demo', NOT_FOUND, '')
      return { contentType: 'video/webm', bytes: bytes.length, body: oneOf(bytes) }
    },
    async remove(id) {
      held.get(id)?.stopping.abort()
      held.delete(id)
    },
  }
}

/** Draws a film and says in it how far it is. */
async function draw(film: Held, work: FilmWork): Promise<void> {
  const { seen, stopping } = film
  if (stopping.signal.aborted) return
  seen.status = 'in_progress'
  const worker = new Worker(SCRIPT, {
    workerData: work,
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
  })
  const over = AbortSignal.any([stopping.signal, AbortSignal.timeout(MAKE_MS_MAX)])
  try {
    film.bytes = await new Promise<Uint8Array>((resolve, reject) => {
      worker.on('message', (told: FilmTold) => {
        if ('bytes' in told) resolve(told.bytes)
        else if ('failed' in told) reject(new Error(told.failed))
        else {
          seen.frame = told.frame
          seen.percent = Math.floor((told.frame / told.frames) * 100)
        }
      })
      worker.once('error', reject)
      worker.once('exit', code => reject(new Error(`the thread ended with ${code}`)))
      over.addEventListener('abort', () => reject(new Error('it takes too long')), { once: true })
    })
    seen.status = 'completed'
  } catch {
    seen.status = 'failed'
  } finally {
    await worker.terminate()
  }
}

/** A name of its own for each, so that ending one ends no other of the same order; they are drawn alike. */
function idOf({ prompt, negativePrompt, seed, size, seconds, image, lastImage }: FilmOrder): string {
  const hash = createHash('sha256').update(JSON.stringify([prompt, negativePrompt]))
  for (const picture of [image, lastImage])
    hash.update(`${picture?.type ?? ''}\n`).update(picture?.bytes ?? '')
  const name = randomBytes(NAME_BYTES).toString('hex')
  return `demo-${name}-${hash.digest('hex').slice(0, 32)}-${seed}-${size}-${seconds}`
}

async function* oneOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
