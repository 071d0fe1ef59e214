import { createReadStream } from 'node:fs'
import { copyFile, link, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { takeLock } from '../../../platform/host-lock.ts'
import {
  describe,
  type LayoutImage,
  layoutManifestSchema,
  MEDIA_TYPES,
  makeLayoutImage,
} from '../../../platform/image-layout/layout.ts'
import { LayoutError } from '../../../platform/image-layout/layout-error.ts'
import { packLayout } from '../../../platform/image-layout/pack-layout.ts'
import { readLayout } from '../../../platform/image-layout/read-layout.ts'
import { createKeyedQueue } from '../keyed-queue.ts'
import { MACHINE_ID_PATTERN } from '../machine-id.ts'
import { ARCHITECTURE } from '../oci/architecture.ts'
import { fetchOutside } from '../oci/fetch-outside.ts'
import {
  digestsOf,
  type FetchedImage,
  findByManifest,
  imageFiles,
  makeImageFolders,
  ownFolder,
  ownLock,
  readRecord,
  readRecords,
  replaceFile,
  writeRecord,
} from '../oci/image-files.ts'
import { configSchema, IMAGE_BYTES_MAX, type ImageRecord } from '../oci/image-record.ts'
import { type ImageTrees, manifestOf } from '../oci/image-trees.ts'
import { OciFailure } from '../oci/oci-failure.ts'
import { type PackOrders, packedLayerSchema } from '../oci/pack-orders.ts'
import { layersOf, recordOf } from '../oci/pull-image.ts'
import { parseJson } from '../oci/registry-client.ts'
import { mustGoOn, refusedArchive } from '../own-archive.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { ImageRecipe, OwnImages, PullProgress } from '../port/images.ts'
import { changedFiles } from './changed-files.ts'
import type { DiskRoom } from './disk-room.ts'
import type { MachineRecord, MachineStore } from './machine-store.ts'
import { ownReference } from './sandbox-recipe.ts'

const PACK_SCRIPT = join(import.meta.dirname, '../oci/pack-process.ts')
/** Ten times what the largest images have. */
const FILES_MAX = 3_000_000
const LOOK_BYTES = 16 * 1024 * 1024
const ON_OWN_PROGRAMS =
  'A sandbox that runs on the programs of its computer keeps only its home: there is no image to make of it. Choose an image of a registry for its machine.'
const never = new AbortController().signal

export interface SandboxOwnDeps {
  /** The uppermost folder of images. */
  dir: string
  store: MachineStore
  trees: ImageTrees
  room(): Promise<DiskRoom>
}

/**
 * Images that are made of machines: what one has changed becomes a layer over those of its image, whose blobs get second
 * names here. Each is a record like those of images of registries, with a reference that none of these has. What changes
 * records or removes blobs does so alone, by a lock that all gateways of this computer share.
 */
export function createSandboxOwnImages({ dir, store, trees, room }: SandboxOwnDeps): OwnImages {
  const folder = ownFolder(dir)
  const files = imageFiles(folder)
  const queue = createKeyedQueue()
  const recipeOf = (id: string): ImageRecipe => ({ id, parts: { sandbox: { own: id } } })
  const find = async (id: string): Promise<FetchedImage | null> => {
    const record = await readRecord(folder, ownReference(id))
    return record && { folder, record }
  }

  async function alone<T>(work: () => Promise<T>): Promise<T> {
    const lock = await takeLock(ownLock(dir), { kind: 'exclusive', wait: true, signal: never })
    try {
      return await work()
    } finally {
      lock?.release()
    }
  }

  /** Makes an image that is not here: its blobs lie in a folder of its own until it is kept, and go with that. */
  async function make(
    id: string,
    signal: AbortSignal,
    work: (aside: string) => Promise<ImageRecord>,
    onBytes: (done: number) => void,
  ): Promise<void> {
    await makeImageFolders(folder)
    const reference = ownReference(id)
    const lock = await takeLock(files.lock(reference), { kind: 'exclusive', wait: true, signal })
    const aside = files.partials(reference)
    try {
      if (await find(id)) return
      await rm(aside, { recursive: true, force: true })
      await mkdir(aside, { recursive: true, mode: 0o700 })
      const record = await work(aside)
      mustGoOn(signal)
      await keep(record, aside)
      try {
        await trees.make({ folder, record }, onBytes, signal)
      } catch (error) {
        await forget(id)
        throw error
      }
    } finally {
      await rm(aside, { recursive: true, force: true })
      lock?.release()
    }
  }

  /** Moves blobs to their places and writes the image down. */
  async function keep(record: ImageRecord, aside: string): Promise<void> {
    await alone(async () => {
      for (const digest of new Set(digestsOf(record)))
        await rename(join(aside, hexOf(digest)), files.blob(digest))
      await writeRecord(folder, record)
    })
  }

  /** Removes an image, with the blobs that no other one here names. */
  async function forget(id: string): Promise<void> {
    await alone(async () => {
      const record = await readRecord(folder, ownReference(id))
      if (!record) return
      await rm(files.record(record.reference), { force: true })
      const named = new Set((await readRecords(folder)).flatMap(digestsOf))
      for (const digest of digestsOf(record))
        if (!named.has(digest)) await rm(files.blob(digest), { force: true })
    })
  }

  /** The layer of what a machine has changed. */
  async function packChanges(
    what: { machine: MachineRecord; id: string; aside: string } & Pick<PackOrders, 'unpacked'>,
    onProgress: (progress: PullProgress) => void,
    signal: AbortSignal,
  ) {
    const { machine, id, aside, unpacked } = what
    const { freeBytes, kept } = await room()
    const out = join(aside, 'layer')
    const orders: PackOrders = {
      ...(await changedFiles(machine, store.paths(machine.spec.id))),
      out,
      unpacked,
      bytes_max: Math.min(IMAGE_BYTES_MAX, freeBytes),
      files_max: FILES_MAX,
      kept_bytes: kept.bytes,
    }
    const fetch = {
      name: `the image ${id}`,
      script: [PACK_SCRIPT] as const,
      orders,
      lock: files.lockOf(`pack-${id}`),
    }
    await fetchOutside(fetch, ({ bytes_done }) => onProgress({ bytes_done, bytes_total: null }), signal)
    const layer = packedLayerSchema.parse(parseJson(await readFile(`${out}.json`)))
    await rm(files.lockOf(`pack-${id}`), { force: true })
    await rename(out, join(aside, hexOf(layer.digest)))
    return layer
  }

  async function buildFrom(
    what: { machine: MachineRecord; id: string; aside: string },
    onProgress: (progress: PullProgress) => void,
    signal: AbortSignal,
  ) {
    const { machine, id, aside } = what
    const { image } = machine
    if (!image) throw new ComputeError('unsupported', ON_OWN_PROGRAMS)
    const base = image.tree === undefined ? null : await findByManifest(dir, manifestOf(image.tree))
    if (image.tree !== undefined && !base)
      throw new ComputeError('failed', 'the layers of the machine’s image are not kept here any more')
    const packed = base?.record.layers ?? []
    for (const one of packed) if (!isUnpacked(one)) await linkBlob(base, one.digest, aside)
    const unpacked = [...new Map(packed.filter(isUnpacked).map(one => [one.diff_id, one])).values()].map(
      ({ digest, diff_id }) => ({
        from: imageFiles(base?.folder ?? folder).blob(digest),
        out: join(aside, hexOf(diff_id)),
        diff_id,
      }),
    )
    const layer = await packChanges({ ...what, unpacked }, onProgress, signal)
    const below: ImageRecord['layers'] = []
    for (const one of packed) {
      const { diff_id } = one
      if (!isUnpacked(one)) below.push(one)
      else {
        const { size } = await stat(join(aside, hexOf(diff_id)))
        below.push({ digest: diff_id, diff_id, size, packing: 'plain' })
      }
    }
    const config = Buffer.from(
      JSON.stringify(configOf(image, [...below.map(({ diff_id }) => diff_id), layer.digest])),
    )
    const made = makeLayoutImage({
      config: describe(config, MEDIA_TYPES.config),
      layers: [
        ...below.map(({ digest, size, packing }) => ({ digest, size, mediaType: mediaTypeOf(packing) })),
        { ...layer, mediaType: MEDIA_TYPES.layer },
      ],
    })
    await replaceFile(join(aside, hexOf(made.manifest.config.digest)), config)
    await replaceFile(join(aside, hexOf(made.descriptor.digest)), made.bytes)
    return keptRecord(id, made, config)
  }

  /** Takes the blobs of an archive. */
  async function takeIn(id: string, archive: AsyncIterable<Uint8Array>, aside: string, signal: AbortSignal) {
    let image: LayoutImage | null = null
    for await (const part of readLayout(archive)) {
      mustGoOn(signal)
      if ('image' in part) {
        image = part.image
        const { layers, config } = image.manifest
        if (layers.reduce((sum, { size }) => sum + size, config.size) > (await room()).freeBytes) noRoom()
        await replaceFile(join(aside, hexOf(image.descriptor.digest)), image.bytes)
        continue
      }
      await writeBlob(join(aside, hexOf(part.blob.digest)), part.bytes, signal)
    }
    if (!image) throw new Error('a layout without an image was read')
    const config = await readFile(join(aside, hexOf(image.manifest.config.digest)))
    return keptRecord(id, image, config)
  }

  async function writeBlob(path: string, bytes: AsyncIterable<Buffer>, signal: AbortSignal): Promise<void> {
    const file = await open(path, 'wx', 0o644)
    let sinceLook = 0
    try {
      for await (const piece of bytes) {
        mustGoOn(signal)
        await file.writeFile(piece)
        sinceLook += piece.length
        if (sinceLook < LOOK_BYTES) continue
        sinceLook = 0
        if ((await room()).isShort) noRoom()
      }
      await file.sync()
    } catch (error) {
      if (/^(ENOSPC|EDQUOT)$/.test((error as NodeJS.ErrnoException).code ?? '')) noRoom(error)
      throw error
    } finally {
      await file.close()
    }
  }

  return {
    async build({ machine_id, image_id }, onProgress, signal) {
      mustBeId(image_id)
      const machine = MACHINE_ID_PATTERN.test(machine_id) ? await store.readRecord(machine_id) : null
      if (!machine) throw new ComputeError('not_found', `no machine ${machine_id}`)
      mustGoOn(signal)
      if (!machine.image) throw new ComputeError('unsupported', ON_OWN_PROGRAMS)
      onProgress({ bytes_done: 0, bytes_total: null })
      const work = (aside: string) => buildFrom({ machine, id: image_id, aside }, onProgress, signal)
      await queue(image_id, () => make(image_id, signal, work, () => undefined))
      return recipeOf(image_id)
    },

    async *save(id, signal) {
      mustBeId(id)
      mustGoOn(signal)
      const found = await find(id)
      if (!found) throw new ComputeError('not_found', `no image ${id}`)
      const bytes = await readFile(files.blob(found.record.manifest))
      const image: LayoutImage = {
        descriptor: describe(bytes, MEDIA_TYPES.manifest),
        bytes,
        manifest: layoutManifestSchema.parse(parseJson(bytes)),
      }
      const open = ({ digest }: { digest: string }) =>
        createReadStream(files.blob(digest)) as AsyncIterable<Buffer>
      for await (const piece of packLayout(image, open)) {
        mustGoOn(signal)
        yield piece
      }
    },

    async load(id, archive, signal) {
      mustBeId(id)
      mustGoOn(signal)
      const work = (aside: string) => takeIn(id, archive, aside, signal)
      await queue(id, () => make(id, signal, work, () => undefined)).catch(refusedArchive(id))
      return recipeOf(id)
    },

    async delete(id) {
      mustBeId(id)
      for (const machine of await store.ids()) {
        if ((await store.readRecord(machine))?.spec.image.id === id)
          throw new ComputeError('failed', `the machine ${machine} is made from the image ${id}`)
      }
      await makeImageFolders(folder)
      await queue(id, () => forget(id))
    },

    async list() {
      return (await readRecords(folder)).map(({ reference, layers }) => ({
        id: reference.slice(ownReference('').length),
        size_bytes: [...new Map(layers.map(layer => [layer.digest, layer.size])).values()].reduce(
          (sum, size) => sum + size,
          0,
        ),
      }))
    },
  }
}

/** Whether a layer lies below as what it holds: Docker of some years ago unpacks no zstd. */
const isUnpacked = ({ packing }: ImageRecord['layers'][number]) => packing === 'zstd'

/** Gives a blob of another image a second name, where it is no one's to remove. */
async function linkBlob(base: FetchedImage | null, digest: string, aside: string): Promise<void> {
  if (!base) return
  const from = imageFiles(base.folder).blob(digest)
  const to = join(aside, hexOf(digest))
  await link(from, to).catch(async error => {
    if (error.code === 'EEXIST') return
    if (error.code === 'ENOENT')
      throw new ComputeError('failed', 'the layers of the machine’s image are not kept here any more')
    await copyFile(from, to)
  })
}

/** What is kept of an image. */
function keptRecord(id: string, image: LayoutImage, config: Buffer): ImageRecord {
  const said = configSchema.safeParse(parseJson(config)).data
  if (!said || image.manifest.artifactType !== undefined || said.architecture !== ARCHITECTURE)
    throw new LayoutError('unfit', 'it is no image that runs here')
  try {
    return recordOf(ownReference(id), {
      found: image.descriptor,
      config: { digest: image.manifest.config.digest, config: said },
      layers: layersOf(image.manifest, said),
    })
  } catch (error) {
    if (!(error instanceof OciFailure)) throw error
    throw new LayoutError('unfit', 'it is no image that runs here', { cause: error })
  }
}

/** What an image says of itself that starts as the machine's own image does. */
function configOf(image: NonNullable<MachineRecord['image']>, diff_ids: string[]) {
  const { entrypoint, command, env, working_dir, user } = image
  return {
    architecture: ARCHITECTURE,
    os: 'linux',
    config: {
      User: user.uid === 0 && user.gid === 0 ? '' : `${user.uid}:${user.gid}`,
      WorkingDir: working_dir,
      Entrypoint: entrypoint,
      Cmd: command,
      Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    },
    rootfs: { type: 'layers', diff_ids },
  }
}

function mediaTypeOf(packing: ImageRecord['layers'][number]['packing']): string {
  return packing === 'plain' ? MEDIA_TYPES.layer : `${MEDIA_TYPES.layer}+${packing}`
}

function mustBeId(id: string): void {
  if (!MACHINE_ID_PATTERN.test(id)) throw new ComputeError('unsupported', `not an image id: ${id}`)
}

function hexOf(digest: string): string {
  return digest.slice('sha256:'.length)
}

function noRoom(cause?: unknown): never {
  throw new ComputeError('no_room', 'the disk of images has no room for it', { cause })
}
