import { createHash } from 'node:crypto'
import { link, rm } from 'node:fs/promises'
import { z } from 'zod'
import { parseReference } from '../port/image-reference.ts'
import type { PullProgress } from '../port/images.ts'
import type { RegistryTerms } from '../port/registry-access.ts'
import { ARCHITECTURE } from './architecture.ts'
import { fetchBlob, isFull, sizeOf } from './fetch-blob.ts'
import { imageFiles, makeImageFolders, readRecord, replaceFile, touch, writeRecord } from './image-files.ts'
import {
  configSchema,
  IMAGE_BYTES_MAX,
  type ImageRecord,
  indexSchema,
  manifestSchema,
  packingOf,
} from './image-record.ts'
import { OciFailure } from './oci-failure.ts'
import { bodyOf, PATIENCE, type Patience } from './outgoing.ts'
import type { ImageRoom } from './pull-orders.ts'
import { PACE, type Pace, type PacedFetch, withPace } from './pull-pace.ts'
import { createRegistryClient, parseJson, type RegistryClient } from './registry-client.ts'

const NOTHING: RegistryTerms = { login: null, ca: null, also: [] }
const CONFIG_BYTES_MAX = 4 * 1024 * 1024
const LAYERS_AT_ONCE = 3

const ALL_ROOM: ImageRoom = { freeBytes: Number.POSITIVE_INFINITY, kept: { bytes: 0 } }

export interface PullOptions {
  onProgress(progress: PullProgress): void
  /** What is shown to the registry; left out: nothing. */
  terms?: RegistryTerms
  /** Another folder of this disk, whose blobs are for everybody: they are not fetched again. */
  openDir?: string
  /** What the disk has for it; left out: all that there is. */
  room?: ImageRoom
  patience?: Patience
  pace?: Pace
}

/**
 * Fetches an image into a folder: every blob of it is checked by its digest, and those that another image brought are
 * not fetched again. Nobody else may fetch the same reference at the same time. Here already: returns.
 * @throws OciFailure. What there is no room for leaves nothing.
 */
export async function pullImage(dir: string, reference: string, options: PullOptions): Promise<ImageRecord> {
  try {
    return await withPace(options.pace ?? PACE, paced => fetchImage(dir, reference, { ...options, ...paced }))
  } catch (error) {
    if (!isFull(error)) throw error
    // Kept for another try, the pieces would hold what machines need to go on.
    await rm(imageFiles(dir).partials(reference), { recursive: true, force: true })
    throw new OciFailure('no_room', undefined, { cause: error })
  }
}

async function fetchImage(
  dir: string,
  reference: string,
  options: PullOptions & PacedFetch,
): Promise<ImageRecord> {
  const { patience = PATIENCE, terms = NOTHING } = options
  const parsed = parseReference(reference)
  if (!parsed) throw new OciFailure('not_an_image', 'its reference is none')
  await makeImageFolders(dir)
  const before = await readRecord(dir, reference)
  if (before) return before
  const client = createRegistryClient({
    reference: parsed,
    terms,
    patience,
    signal: options.stop.signal,
  })
  const found = await findManifest(client, parsed.version)
  const config = await fetchConfig(client, found.manifest.config, patience)
  const layers = layersOf(found.manifest, config.config)
  const record = recordOf(reference, { found, config, layers })
  const files = imageFiles(dir)
  await fetchLayers(client, record, { ...options, dir, patience })
  await replaceFile(files.blob(record.manifest), found.body)
  await replaceFile(files.blob(record.config), config.body)
  await writeRecord(dir, record)
  // What is left are pieces of what the registry had under this name before.
  await rm(files.partials(reference), { recursive: true, force: true })
  return record
}

/**
 * What a registry says of an image, without its layers.
 * @returns `index` is the digest of what the reference itself leads to: the manifest's own where that is no index of several.
 * @throws OciFailure.
 */
export async function describeImage(
  reference: string,
  options: { terms: RegistryTerms; signal: AbortSignal },
): Promise<ImageRecord & { index: string }> {
  const parsed = parseReference(reference)
  if (!parsed) throw new OciFailure('not_an_image', 'its reference is none')
  const client = createRegistryClient({ ...options, reference: parsed, patience: PATIENCE })
  const found = await findManifest(client, parsed.version)
  const config = await fetchConfig(client, found.manifest.config, PATIENCE)
  const record = recordOf(reference, { found, config, layers: layersOf(found.manifest, config.config) })
  return { ...record, index: found.index }
}

type Manifest = z.infer<typeof manifestSchema>

/** The manifest for this kind of computer. */
async function findManifest(
  client: RegistryClient,
  version: string,
): Promise<{ digest: string; index: string; body: Buffer; manifest: Manifest }> {
  const { digest, body } = await client.manifest(version)
  const parsed = parseJson(body)
  const index = indexSchema.safeParse(parsed).data
  if (!index) return { digest, index: digest, body, manifest: asManifest(parsed) }
  const ours = index.manifests.find(
    ({ platform }) => platform?.os === 'linux' && platform.architecture === ARCHITECTURE,
  )
  if (!ours) throw new OciFailure('no_such_platform', process.arch)
  const one = await client.manifest(ours.digest)
  return { ...one, index: digest, manifest: asManifest(parseJson(one.body)) }
}

function asManifest(parsed: unknown): Manifest {
  const { data, error } = manifestSchema.safeParse(parsed)
  if (!data) throw new OciFailure('not_an_image', undefined, { cause: error })
  return data
}

async function fetchConfig(
  client: RegistryClient,
  { digest, size }: Manifest['config'],
  patience: Patience,
): Promise<{ digest: string; body: Buffer; config: z.infer<typeof configSchema> }> {
  if (size > CONFIG_BYTES_MAX) throw new OciFailure('too_large')
  const { response } = await client.blob(digest, 0)
  const body = await bodyOf(response, size, patience)
  const is = `sha256:${createHash('sha256').update(body).digest('hex')}`
  if (is !== digest) throw new OciFailure('digest_wrong', digest)
  const { data, error } = configSchema.safeParse(parseJson(body))
  if (!data) throw new OciFailure('not_an_image', z.prettifyError(error))
  if (data.architecture !== ARCHITECTURE) {
    throw new OciFailure('no_such_platform', process.arch)
  }
  return { digest, body, config: data }
}

/** The layers of an image with what is in each. Fails with OciFailure `not_an_image`. */
export function layersOf(
  { layers }: Pick<Manifest, 'layers'>,
  { rootfs }: z.infer<typeof configSchema>,
): ImageRecord['layers'] {
  if (rootfs.diff_ids.length > layers.length) throw new OciFailure('not_an_image', 'a layer of it is missing')
  return layers.map(({ digest, size, mediaType }, at) => {
    const packing = packingOf(mediaType)
    const diff_id = rootfs.diff_ids[at]
    if (packing === null) throw new OciFailure('not_an_image', 'a layer of it is of another kind')
    if (diff_id === undefined)
      throw new OciFailure('not_an_image', 'it does not say what is in a layer of it')
    return { digest, diff_id, size, packing }
  })
}

/** What is kept of an image. Fails with OciFailure `too_large`. */
export function recordOf(
  reference: string,
  image: {
    found: { digest: string }
    config: { digest: string; config: z.infer<typeof configSchema> }
    layers: ImageRecord['layers']
  },
): ImageRecord {
  const { found, config, layers } = image
  const said = config.config.config
  if (layers.reduce((sum, { size }) => sum + size, 0) > IMAGE_BYTES_MAX) throw new OciFailure('too_large')
  const env = (said?.Env ?? []).flatMap(entry => {
    const at = entry.indexOf('=')
    return at > 0 ? [[entry.slice(0, at), entry.slice(at + 1)] as const] : []
  })
  return {
    reference,
    manifest: found.digest,
    config: config.digest,
    layers,
    entrypoint: said?.Entrypoint ?? [],
    command: said?.Cmd ?? [],
    env: Object.fromEntries(env),
    working_dir: said?.WorkingDir || '/',
    user: said?.User ?? '',
  }
}

/** Fetches the layers that are not here, a few at a time. */
async function fetchLayers(
  client: RegistryClient,
  record: ImageRecord,
  options: PullOptions & PacedFetch & { dir: string; patience: Patience },
): Promise<void> {
  const { stop, onReceived, patience, openDir, room = ALL_ROOM } = options
  const files = imageFiles(options.dir)
  // One that an image has twice is fetched once.
  const waiting = [...new Map(record.layers.map(layer => [layer.digest, layer])).values()]
  const bytes_total = waiting.reduce((sum, { size }) => sum + size, 0)
  let bytesHere = 0
  for (const { digest } of waiting) {
    const path = files.blob(digest)
    if (openDir !== undefined) await link(imageFiles(openDir).blob(digest), path).catch(() => undefined)
    bytesHere += (await sizeOf(path)) + (await sizeOf(files.partial(record.reference, digest)))
  }
  if (bytes_total - bytesHere > room.freeBytes) throw new OciFailure('no_room')
  const done = new Map<string, number>()
  const fetchSome = async () => {
    for (let layer = waiting.shift(); layer; layer = waiting.shift()) {
      const { digest, size } = layer
      const onBytes = (bytes: number) => {
        done.set(digest, bytes)
        options.onProgress({ bytes_done: [...done.values()].reduce((sum, one) => sum + one, 0), bytes_total })
      }
      const path = files.blob(digest)
      const partial = files.partial(record.reference, digest)
      const how = { patience, signal: stop.signal, keptBytes: room.kept.bytes, onBytes, onReceived }
      await fetchBlob(client, { digest, size, path, partial }, how)
      // It was not used for long, perhaps, and is again now.
      await touch(path)
    }
  }
  // When one fails, the others are left where they are, and have ended before anybody may begin again.
  const failures: unknown[] = []
  const fail = (error: unknown) => {
    failures.push(error)
    waiting.length = 0
    stop.abort()
  }
  await Promise.all(Array.from({ length: LAYERS_AT_ONCE }, () => fetchSome().catch(fail)))
  if (failures.length > 0) throw failures[0]
}
