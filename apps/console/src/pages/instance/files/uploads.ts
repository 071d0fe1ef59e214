import { ERRORS } from '@berth/contract/errors'
import { planUpload, type UploadState, uploadPiece } from '@berth/contract/files'
import { UPLOAD_PLAN_FILES_MAX } from '@berth/contract/limits'
import { ApiError } from '../../../api/api-error.ts'
import { sendChange } from '../../../api/change.ts'
import { numbered } from './paths.ts'

/**
 * Where an upload is: it waits for its turn, for an answer of the customer, or to be tried again; it is under way, or
 * over. `same`: the instance has the file already.
 */
export type UploadStage =
  | 'waiting'
  | 'asks'
  | 'running'
  | 'paused'
  | 'again'
  | 'failed'
  | 'done'
  | 'same'
  | 'skipped'

/** One file on its way into an instance. */
export interface Upload {
  readonly id: number
  /** Where it goes in the instance. */
  readonly path: string
  readonly size: number
  /** Bytes that the instance has. */
  readonly sent: number
  /** Null while nothing is known of it. */
  readonly bytesPerS: number | null
  readonly stage: UploadStage
  /** Why it failed, or is tried again. */
  readonly why: string | null
}

/** What is done with a file that stands in the way. */
export type InTheWay = 'replace' | 'both' | 'skip'

/** Uploads into one instance, for as long as its page is there. */
export interface Uploads {
  /** The same list until something changes. */
  list(): readonly Upload[]
  subscribe(listener: () => void): () => void
  add(files: readonly { file: File; path: string }[]): void
  /** Answers for a file that something stands in the way of, or for all of them. */
  answer(how: InTheWay, ids: readonly number[]): void
  pause(id: number): void
  /** Goes on after a pause, or tries again what failed. */
  resume(id: number): void
  /** Leaves it as it is. What the instance has of it stays there, to be gone on with. */
  cancel(id: number): void
  /** Takes away what is over. */
  clear(): void
  /** Ends everything, at the end of the page. */
  stop(): void
}

export interface UploadsDeps {
  instanceId: string
  /** Told that something is new in the instance. */
  onDone: () => void
  /** Said of a file that cannot be read any more. */
  unreadable: () => string
  /** How long to wait before a file is tried again, in milliseconds, by how often it was. */
  pauseMs?: (tries: number) => number
}

/** A browser opens six connections to a server; the page needs some for itself. */
const PARALLEL = 3
const PIECE_BYTES_MIN = 1024 * 1024
/** Its digest is worked out from memory. */
const PIECE_BYTES_MAX = 32 * 1024 * 1024
/** A piece is to take about this long: progress is told between two. */
const PIECE_MS = 2_000
/** As much of what came before a cut is looked at once more. */
const LOOK_BACK_BYTES = 32 * 1024 * 1024
const TRIES_MAX = 8
const NUMBERS_MAX = 20
const backOff = (tries: number) => Math.min(30_000, 1_000 * 2 ** (tries - 1))

/** What is known of an upload besides what is shown. */
interface Job {
  file: File
  abort: AbortController
  replace: boolean
  /** How much the instance has; null where it must be asked. */
  have: number | null
  isPlanned: boolean
}

/** What stands in the way was not there when it was asked. */
class Asks extends Error {}

/** Makes the uploads of an instance. */
export function createUploads({ instanceId, onDone, unreadable, pauseMs = backOff }: UploadsDeps): Uploads {
  const params = { id: instanceId }
  const jobs = new Map<number, Job>()
  const listeners = new Set<() => void>()
  let shown: readonly Upload[] = []
  let lastId = 0
  let isStopped = false
  let pieceBytes = PIECE_BYTES_MIN

  function show(next: readonly Upload[]): void {
    shown = next
    for (const listener of listeners) listener()
  }
  const change = (id: number, part: Partial<Upload>) =>
    show(shown.map(one => (one.id === id ? { ...one, ...part } : one)))
  const find = (id: number) => shown.find(one => one.id === id)

  const figuresOf = (path: string, { size, lastModified }: File) => ({
    path,
    size,
    modified_at: Math.max(0, Math.floor(lastModified / 1_000)),
  })

  async function ask(asked: { path: string; file: File }[]): Promise<UploadState[]> {
    const body = { files: asked.map(({ path, file }) => figuresOf(path, file)) }
    return (await sendChange(planUpload, { params, body }, { silent: true })).files
  }

  /** Asks what the instance has of files, before any of them is sent. */
  async function plan(ids: number[]): Promise<void> {
    for (let at = 0; at < ids.length && !isStopped; at += UPLOAD_PLAN_FILES_MAX) {
      const some = ids.slice(at, at + UPLOAD_PLAN_FILES_MAX).flatMap(id => {
        const [job, upload] = [jobs.get(id), find(id)]
        return job && upload ? [{ id, job, path: upload.path, file: job.file }] : []
      })
      const states = some.length > 0 ? await ask(some).catch(() => []) : []
      some.forEach(({ id, job }, index) => {
        job.isPlanned = true
        const state = states[index]
        // Each of them asks by itself where that failed.
        if (state) learn(id, job, state)
      })
      pump()
    }
  }

  function learn(id: number, job: Job, { is_same, existing, have_bytes }: UploadState): void {
    if (find(id)?.stage !== 'waiting') return
    job.have = have_bytes
    if (is_same) change(id, { stage: 'same', sent: job.file.size })
    else if (existing && !job.replace) change(id, { stage: 'asks', sent: have_bytes })
    else change(id, { sent: have_bytes })
  }

  function pump(): void {
    if (isStopped) return
    const busy = shown.filter(({ stage }) => stage === 'running' || stage === 'again').length
    const ready = shown.filter(({ id, stage }) => stage === 'waiting' && jobs.get(id)?.isPlanned)
    for (const { id } of ready.slice(0, Math.max(0, PARALLEL - busy))) void run(id)
  }

  async function run(id: number): Promise<void> {
    const job = jobs.get(id)
    if (!job) return
    job.abort = new AbortController()
    const { signal } = job.abort
    change(id, { stage: 'running', why: null })
    for (let tries = 1; !signal.aborted; tries++) {
      try {
        await send(id, job, signal)
        change(id, { stage: 'done', sent: job.file.size, bytesPerS: null })
        onDone()
        break
      } catch (error) {
        if (signal.aborted) break
        const fate = fateOf(error, tries)
        change(id, { ...fate, bytesPerS: null })
        if (fate.stage !== 'again') break
        job.have = null
        await rest(pauseMs(tries), signal)
        if (!signal.aborted) change(id, { stage: 'running' })
      }
    }
    pump()
  }

  function fateOf(error: unknown, tries: number): Pick<Upload, 'stage' | 'why'> {
    if (error instanceof Asks) return { stage: 'asks', why: null }
    if (!(error instanceof ApiError)) return { stage: 'failed', why: unreadable() }
    if (error.code === 'file_exists') return { stage: 'asks', why: null }
    const isHopeful = ERRORS[error.code].verdict === 'retry' && tries < TRIES_MAX
    return { stage: isHopeful ? 'again' : 'failed', why: error.message }
  }

  /** Sends what the instance lacks. */
  async function send(id: number, job: Job, signal: AbortSignal): Promise<void> {
    const path = find(id)?.path ?? ''
    const { file } = job
    if (job.have === null) {
      const [state] = await ask([{ path, file }])
      if (state?.is_same) return
      if (state?.existing && !job.replace) throw new Asks()
      job.have = state?.have_bytes ?? 0
    }
    const figures = {
      ...figuresOf(path, file),
      replace: job.replace ? ('true' as const) : ('false' as const),
    }
    let isDone = false
    let have: number = job.have
    let verifyFrom = Math.max(0, have - LOOK_BACK_BYTES)
    while (!isDone) {
      signal.throwIfAborted()
      const offset = have
      const bytes = file.slice(offset, offset + pieceBytes)
      const sha256 = await digestOf(file.slice(verifyFrom, offset + bytes.size))
      const query = {
        ...figures,
        offset,
        length: bytes.size,
        ...(sha256 !== null && { sha256, verify_from: verifyFrom }),
      }
      const beganMs = performance.now()
      const answer = await sendChange(uploadPiece, { params, query }, { bytes, signal, silent: true })
      const tookMs = Math.max(1, performance.now() - beganMs)
      have = answer.have_bytes
      job.have = have
      verifyFrom = have
      isDone = answer.is_done
      const bytesPerS = (bytes.size / tookMs) * 1_000
      if (bytes.size === pieceBytes) pieceBytes = pieceFor(bytesPerS)
      if (!signal.aborted) change(id, { sent: have, bytesPerS })
    }
  }

  /** Looks for names that nothing stands under yet, and sends the files by those. */
  async function keepBoth(ids: readonly number[]): Promise<void> {
    for (const id of ids) {
      const [job, upload] = [jobs.get(id), find(id)]
      if (!job || !upload) continue
      const names = Array.from({ length: NUMBERS_MAX }, (_, at) => numbered(upload.path, at + 2))
      const taken = new Set(shown.map(({ path }) => path))
      const states = await ask(names.map(path => ({ path, file: job.file }))).catch((error: unknown) => error)
      const free = Array.isArray(states)
        ? (states as UploadState[]).find(state => !state.existing && !taken.has(state.path))
        : null
      if (free) {
        job.have = free.have_bytes
        change(id, { path: free.path, sent: free.have_bytes, stage: 'waiting' })
      } else change(id, { stage: 'failed', why: states instanceof ApiError ? states.message : null })
      pump()
    }
  }

  return {
    list: () => shown,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    add(files) {
      const underWay = new Set(shown.filter(({ stage }) => !isOver(stage)).map(({ path }) => path))
      const added = files
        .filter(({ path }) => !underWay.has(path))
        .map(({ file, path }) => {
          const id = ++lastId
          jobs.set(id, { file, abort: new AbortController(), replace: false, have: null, isPlanned: false })
          const { size } = file
          return { id, path, size, sent: 0, bytesPerS: null, stage: 'waiting', why: null } as const
        })
      show([...shown, ...added])
      void plan(added.map(({ id }) => id))
    },
    answer(how, ids) {
      for (const id of ids) {
        const job = jobs.get(id)
        if (!job || find(id)?.stage !== 'asks') continue
        if (how === 'skip') change(id, { stage: 'skipped' })
        if (how === 'replace') {
          job.replace = true
          change(id, { stage: 'waiting' })
        }
      }
      if (how === 'both') void keepBoth(ids)
      pump()
    },
    pause(id) {
      jobs.get(id)?.abort.abort()
      change(id, { stage: 'paused', bytesPerS: null })
      pump()
    },
    resume(id) {
      const job = jobs.get(id)
      if (!job) return
      Object.assign(job, { have: null, isPlanned: true })
      change(id, { stage: 'waiting', why: null })
      pump()
    },
    cancel(id) {
      jobs.get(id)?.abort.abort()
      jobs.delete(id)
      show(shown.filter(one => one.id !== id))
      pump()
    },
    clear() {
      for (const { id, stage } of shown) if (isOver(stage)) jobs.delete(id)
      show(shown.filter(({ stage }) => !isOver(stage)))
    },
    stop() {
      isStopped = true
      for (const { abort } of jobs.values()) abort.abort()
    },
  }

  function pieceFor(bytesPerS: number): number {
    return Math.round(
      Math.min(PIECE_BYTES_MAX, Math.max(PIECE_BYTES_MIN, (bytesPerS * PIECE_MS) / 1_000, pieceBytes / 4)),
    )
  }
}

/** Whether nothing more happens to it by itself, and nothing is lost when it is forgotten. */
export function isOver(stage: UploadStage): boolean {
  return stage === 'done' || stage === 'same' || stage === 'skipped'
}

/** SHA-256 in hexadecimal digits; null where a browser works out none, as at an address without TLS. */
async function digestOf(bytes: Blob): Promise<string | null> {
  if (!globalThis.crypto?.subtle || bytes.size === 0) return null
  const digest = await crypto.subtle.digest('SHA-256', await bytes.arrayBuffer())
  return Array.from(new Uint8Array(digest), byte => byte.toString(16).padStart(2, '0')).join('')
}

/** Waits, but no longer than until there is a network again. */
function rest(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      clearTimeout(timer)
      window.removeEventListener('online', done)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    window.addEventListener('online', done)
    signal.addEventListener('abort', done)
  })
}
