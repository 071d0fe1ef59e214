import { BUILD_GB_MAX } from '@berth/contract/build-limits'
import type { ImageReason } from '@berth/contract/images'
import { IMAGE_GB_MAX } from '@berth/contract/limits'
import { ComputeError } from '../../drivers/compute/port/compute-error.ts'
import { DockerfileError, parseDockerfile, RecipeError } from '../../drivers/compute/port/dockerfile.ts'
import type { Engine } from '../../drivers/compute/port/engine.ts'
import type { ImageRecipe, OwnImages, PullProgress } from '../../drivers/compute/port/images.ts'
import { lackOf, offered } from '../../drivers/compute/port/part.ts'
import { partsOfReference } from '../../drivers/compute/port/reference-parts.ts'
import type { RegistryAccess } from '../../drivers/compute/port/registry-access.ts'
import { type KeptImage, type LayoutStore, LayoutStoreError } from '../../drivers/image-store/port.ts'
import { type FetchedFiles, GitError, type GitFiles } from './dockerfile/git-files.ts'
import type { OwnImageRow } from './image-states.ts'
import type { GitSource, ImageProgress } from './tables.ts'

/** What a build of a Dockerfile may take while it lasts. */
const BUILD_LIMITS = { cpu_count: 2, memory_mb: 4_096, disk_gb: BUILD_GB_MAX }
const IMAGE_BYTES_MAX = IMAGE_GB_MAX * 1_073_741_824

/** An image that is made and kept. */
export interface MadeImage {
  parts: ImageRecipe['parts']
  digest: string
  sizeBytes: number
}

export interface MakeOptions {
  engine: Engine
  store: LayoutStore
  /** What a pull of its reference may show to the registry. */
  access: RegistryAccess
  git: GitFiles
  onProgress(progress: ImageProgress): void
  /** By which digest the store will know the image, before it is there. What it throws ends the making. */
  onDigest(digest: string): Promise<void>
  /** Takes what the steps of a Dockerfile write. */
  onLog(text: string): void
  signal: AbortSignal
}

/**
 * Makes an image on an engine, of an instance's machine or of a registry's image, and keeps it in the store. Each part of
 * it may be done twice; what is made on the engine stays there until it is removed.
 * @throws ComputeError or LayoutStoreError.
 */
export async function makeImage(row: OwnImageRow, options: MakeOptions): Promise<MadeImage> {
  const { engine, store, onProgress, onDigest, signal } = options
  const why = lackOf(engine.images.own)
  if (why !== null) throw new ComputeError('unsupported', why)
  const own = offered(engine.images.own)
  const { parts } = await buildOn(row, own, options)
  const whole = (await own.list()).find(({ id }) => id === row.builtId)?.size_bytes ?? null
  const kept = await save({ own, store, builtId: row.builtId, whole, onProgress, onDigest, signal })
  return { parts, digest: kept.digest, sizeBytes: kept.size_bytes }
}

function buildOn(row: OwnImageRow, own: OwnImages, options: MakeOptions): Promise<ImageRecipe> {
  const { onProgress, signal } = options
  const onBytes = (progress: PullProgress) => onProgress({ step: 'building', ...progress, build_steps: null })
  if (row.sourceDockerfile !== null) return buildOfDockerfile(row, row.sourceDockerfile, null, options)
  if (row.sourceGit !== null) return buildOfGit(row, row.sourceGit, options)
  const build = (machine_id: string) => own.build({ machine_id, image_id: row.builtId }, onBytes, signal)
  if (row.sourceInstanceId !== null) return build(row.sourceInstanceId)
  if (row.sourceReference === null) throw new Error(`image ${row.id} has no source`)
  return buildOfReference(row, row.sourceReference, build, options)
}

async function buildOfGit(row: OwnImageRow, source: GitSource, options: MakeOptions): Promise<ImageRecipe> {
  options.onLog(`Fetching ${source.url} ${source.ref}\n`)
  const files = await options.git.fetch(source, options.signal)
  try {
    return await buildOfDockerfile(row, files.dockerfile, files, options)
  } finally {
    await files.close()
  }
}

function buildOfDockerfile(
  row: OwnImageRow,
  dockerfile: string,
  files: FetchedFiles | null,
  { engine, access, onProgress, onLog, signal }: MakeOptions,
): Promise<ImageRecipe> {
  const builds = offered(engine.images.dockerfile)
  return builds.build(
    {
      image_id: row.builtId,
      stages: parseDockerfile(dockerfile),
      owner: row.userId,
      access,
      context: files?.open ?? null,
      limits: BUILD_LIMITS,
      onLog,
      onStep: (done, total) =>
        onProgress({ step: 'building', bytes_done: 0, bytes_total: null, build_steps: { done, total } }),
    },
    signal,
  )
}

/**
 * Of a registry's image by way of a machine that never starts: engines make images of machines. It has the image's own id,
 * by which it is known to be nobody's instance.
 */
async function buildOfReference(
  row: OwnImageRow,
  reference: string,
  build: (machineId: string) => Promise<ImageRecipe>,
  { engine, access, onProgress, signal }: MakeOptions,
): Promise<ImageRecipe> {
  const image: ImageRecipe = { id: reference, parts: partsOfReference(reference), owner: row.userId }
  const onBytes = (progress: PullProgress) => onProgress({ step: 'building', ...progress, build_steps: null })
  await engine.images.pull(image, onBytes, signal, access)
  try {
    await engine.machines.create({ ...SMALL_MACHINE, id: row.builtId, hostname: row.builtId, image }, signal)
    return await build(row.builtId)
  } finally {
    // Whoever gives up leaves it no less; the sweep removes it where this cannot.
    await engine.machines.remove(row.builtId, AbortSignal.timeout(REMOVE_MS))
  }
}

const REMOVE_MS = 60_000
/** It never runs. */
const SMALL_MACHINE = {
  cpu_count: 1,
  memory_mb: 512,
  disk_gb: IMAGE_GB_MAX,
  gpu_uuids: [],
  env: {},
  command: null,
  on_command_end: 'keep' as const,
  ports: [],
}

interface Saving {
  own: OwnImages
  store: LayoutStore
  builtId: string
  /** Bytes that are there of it on its engine; null where it does not say. */
  whole: number | null
  onProgress(progress: ImageProgress): void
  onDigest(digest: string): Promise<void>
  signal: AbortSignal
}

async function save({
  own,
  store,
  builtId,
  whole,
  onProgress,
  onDigest,
  signal,
}: Saving): Promise<KeptImage> {
  onProgress({ step: 'saving', bytes_done: 0, bytes_total: whole, build_steps: null })
  return store.put(
    counted(own.save(builtId, signal), done => {
      if (done > IMAGE_BYTES_MAX) throw new LayoutStoreError('too_large', `more than ${IMAGE_GB_MAX} GB`)
      // An archive is a little more than what is in it.
      const bytes_total = whole === null ? null : Math.max(whole, done)
      onProgress({ step: 'saving', bytes_done: done, bytes_total, build_steps: null })
    }),
    signal,
    onDigest,
  )
}

/**
 * Brings an image to an engine that lacks it, out of the store. There already: returns at once.
 * @throws ComputeError, `image_unavailable` where the store does not have it.
 */
export async function bringImage(
  image: { builtId: string; digest: string | null; sizeBytes: number },
  {
    own,
    store,
    onProgress,
    signal,
  }: {
    own: OwnImages
    store: LayoutStore
    onProgress(progress: PullProgress): void
    signal: AbortSignal
  },
): Promise<void> {
  const { builtId, digest, sizeBytes } = image
  if (digest === null) throw new ComputeError('image_unavailable', `the image ${builtId} is not kept`)
  const bytes = counted(store.get(digest, signal), done =>
    onProgress({ bytes_done: Math.min(done, sizeBytes), bytes_total: sizeBytes }),
  )
  try {
    await own.load(builtId, bytes, signal)
  } catch (cause) {
    if (!(cause instanceof LayoutStoreError)) throw cause
    const isGone = cause.code === 'not_found' || cause.code === 'damaged'
    throw new ComputeError(isGone ? 'image_unavailable' : 'failed', `the store says: ${cause.message}`, {
      cause,
    })
  }
}

async function* counted(
  pieces: AsyncIterable<Uint8Array>,
  onBytes: (done: number) => void,
): AsyncGenerator<Uint8Array> {
  let done = 0
  for await (const piece of pieces) {
    done += piece.byteLength
    onBytes(done)
    yield piece
  }
}

/** Why an image could not be made, and whether another try may do. */
export function failureOf(error: unknown, row: OwnImageRow): { code: ImageReason; isFinal: boolean } {
  if (error instanceof LayoutStoreError) {
    if (error.code === 'too_large') return { code: 'too_large', isFinal: true }
    if (error.code === 'full') return { code: 'no_room', isFinal: true }
    return { code: 'build_failed', isFinal: error.code === 'unfit' }
  }
  if (error instanceof DockerfileError) return { code: 'dockerfile_invalid', isFinal: true }
  if (error instanceof RecipeError || error instanceof GitError) return { code: error.code, isFinal: true }
  if (!(error instanceof ComputeError)) return { code: 'build_failed', isFinal: false }
  switch (error.code) {
    case 'not_found':
      return { code: row.sourceInstanceId === null ? 'build_failed' : 'instance_gone', isFinal: true }
    case 'not_running':
      return { code: 'instance_stopped', isFinal: true }
    case 'unsupported':
    case 'no_tar':
    case 'no_room':
      return { code: error.code, isFinal: true }
    case 'engine_unavailable':
      return { code: 'engine_away', isFinal: false }
    case 'image_not_found':
    case 'image_needs_login':
    case 'image_login_refused':
    case 'image_login_gone':
    case 'image_not_allowed':
    case 'image_unfit':
    case 'image_unavailable':
      return { code: 'registry_failed', isFinal: true }
    case 'registry_unreachable':
    case 'registry_busy':
    case 'registry_slow':
      return { code: 'registry_failed', isFinal: false }
    default:
      return { code: 'build_failed', isFinal: false }
  }
}
