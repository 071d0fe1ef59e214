import { randomBytes } from 'node:crypto'
import { type FileHandle, link, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type HostLock, takeLock } from '../../../platform/host-lock.ts'
import {
  blobsOf,
  bytesOf,
  type Descriptor,
  LAYOUT_LIMITS,
  type LayoutImage,
  layoutManifestSchema,
} from '../../../platform/image-layout/layout.ts'
import { packLayout } from '../../../platform/image-layout/pack-layout.ts'
import { readLayout } from '../../../platform/image-layout/read-layout.ts'
import { type KeptImage, type LayoutStore, LayoutStoreError } from '../port.ts'
import { type KnownImage, sumsOf } from '../sums.ts'
import { Incoming, mustGoOn, translated, translatedPieces } from '../translate.ts'
import { createFile, hexOf, layoutFiles, sizeOf, syncFolder, unlessMissing } from './layout-files.ts'
import { createLayoutRoom } from './layout-room.ts'

/** What is looked for each time that something changes. */
const IMAGES_MAX = 10_000
const READ_BYTES = 256 * 1024
const never = new AbortController().signal

export interface LayoutFolderOptions {
  /** Of all blobs that are kept. */
  bytes_max: number
  /** What the disk is to have left. */
  free_bytes_min: number
  /** Of one image. */
  limits?: typeof LAYOUT_LIMITS
}

/**
 * A store of images in a folder, which several processes of this computer may share. A `put` writes into a folder of its
 * own; when all of it is there and on the disk, its blobs are moved to their places and then named by the index, while
 * nobody else changes anything. What it has found in its place already it has a second name of, so that a `remove`
 * meanwhile takes nothing from it. What killed processes leave is nobody's, and goes when the store is opened next.
 * @param dir A folder for it alone; made at the first `put`.
 */
export function createLayoutFolder(dir: string, options: LayoutFolderOptions): LayoutStore {
  const { limits = LAYOUT_LIMITS } = options
  const files = layoutFiles(dir)
  const room = createLayoutRoom(dir, options)
  /** Manifests do not change, so each is read once. */
  const known = new Map<string, KnownImage>()
  let session: Promise<string> | undefined

  async function alone<T>(work: () => Promise<T>): Promise<T> {
    await files.makeFolders()
    const lock = await takeLock(files.lock, { kind: 'exclusive', wait: true, signal: never })
    try {
      return await work()
    } finally {
      lock?.release()
    }
  }

  /** The folder that this process writes into, for as long as it lives. What dead ones have left goes. */
  function openSession(): Promise<string> {
    session ??= alone(async () => {
      for (const name of await readdir(files.aside)) await eraseUnlessHeld(join(files.aside, name))
      await removeUnnamed(await files.readIndex())
      const mine = join(files.aside, randomBytes(8).toString('hex'))
      await mkdir(mine, { mode: 0o700 })
      await takeLock(join(mine, 'lock'), { kind: 'exclusive', wait: true, signal: never })
      return mine
    })
    session.catch(() => {
      session = undefined
    })
    return session
  }

  /** An image that the index names, read from the disk. */
  async function read(descriptor: Descriptor): Promise<LayoutImage> {
    const bytes = await readFile(files.blob(descriptor.digest))
    return { descriptor, bytes, manifest: layoutManifestSchema.parse(JSON.parse(bytes.toString('utf8'))) }
  }

  async function imageOf(named: Descriptor): Promise<KnownImage> {
    const before = known.get(named.digest)
    if (before) return before
    const { descriptor, manifest } = await read(named)
    known.set(named.digest, { descriptor, manifest })
    return { descriptor, manifest }
  }

  const imagesOf = (manifests: Descriptor[]) => Promise.all(manifests.map(imageOf))

  /** Removes blobs that no image names, while nobody else changes anything. Gives their bytes. */
  async function removeUnnamed(manifests: Descriptor[]): Promise<number> {
    const images = await imagesOf(manifests)
    const named = new Set(
      images.flatMap(image => [image.descriptor, ...blobsOf(image)]).map(({ digest }) => hexOf(digest)),
    )
    let freed = 0
    for (const name of await readdir(files.blobs)) {
      if (named.has(name)) continue
      freed += (await sizeOf(join(files.blobs, name))) ?? 0
      await rm(join(files.blobs, name), { force: true })
    }
    return freed
  }

  /** Writes all of an archive aside. */
  async function writeAside(
    folder: string,
    archive: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<LayoutImage> {
    let image: LayoutImage | null = null
    for await (const part of readLayout(archive, limits)) {
      mustGoOn(signal)
      if ('image' in part) {
        image = part.image
        await takeAside(folder, image)
        await writeBlob(join(folder, hexOf(image.descriptor.digest)), one(image.bytes), signal)
        continue
      }
      const path = join(folder, hexOf(part.blob.digest))
      // What is here is read all the same, since its bytes prove that whoever sends it has it.
      if ((await sizeOf(path)) === null) await writeBlob(path, part.bytes, signal)
    }
    mustGoOn(signal)
    if (!image) throw new Error('a layout without an image was read')
    return image
  }

  /** Gives second names to blobs that are here, and sees that there is room for the others. */
  async function takeAside(folder: string, image: LayoutImage): Promise<void> {
    let missing = image.descriptor.size
    for (const { digest, size } of blobsOf(image)) {
      const isHere =
        (await sizeOf(files.blob(digest))) === size &&
        (await linked(files.blob(digest), join(folder, hexOf(digest))))
      if (!isHere) missing += size
    }
    const { bytes } = sumsOf(await imagesOf(await files.readIndex()))
    await room.mustHave(missing, bytes)
  }

  async function writeBlob(path: string, bytes: AsyncIterable<Buffer>, signal: AbortSignal): Promise<void> {
    const file = await createFile(path)
    try {
      for await (const piece of bytes) {
        mustGoOn(signal)
        await room.mustHaveLeft(piece.length)
        await file.writeFile(piece)
      }
      await file.sync()
    } finally {
      await file.close()
    }
  }

  /** Moves what was written aside to its place, then names it, while nobody else changes anything. */
  async function commit(folder: string, image: LayoutImage): Promise<KeptImage> {
    const manifests = await files.readIndex()
    const { digest } = image.descriptor
    const isHere = manifests.some(one => one.digest === digest)
    const { bytes: kept } = sumsOf(await imagesOf(manifests))
    const missing: Descriptor[] = []
    for (const blob of [...blobsOf(image), image.descriptor]) {
      if ((await sizeOf(files.blob(blob.digest))) !== blob.size) missing.push(blob)
    }
    const new_bytes = missing.reduce((sum, { size }) => sum + size, 0)
    if (!isHere && (manifests.length >= IMAGES_MAX || kept + new_bytes > options.bytes_max))
      throw new LayoutStoreError('full', 'the store has as many images or bytes as it may have')
    for (const blob of missing) await rename(join(folder, hexOf(blob.digest)), files.blob(blob.digest))
    await syncFolder(files.blobs)
    if (!isHere) await files.writeIndex([...manifests, image.descriptor])
    return { digest, size_bytes: bytesOf(image), new_bytes }
  }

  return {
    name: 'layout',

    async put(archive, signal, onDigest) {
      const incoming = new Incoming(archive)
      const keep = async () => {
        mustGoOn(signal)
        const folder = join(await openSession(), randomBytes(8).toString('hex'))
        await mkdir(folder, { mode: 0o700 })
        try {
          const image = await writeAside(folder, incoming, signal)
          await incoming.tell(onDigest?.(image.descriptor.digest))
          return await alone(() => commit(folder, image))
        } finally {
          await rm(folder, { recursive: true, force: true })
        }
      }
      return translated('keeping an image', keep, incoming)
    },

    get: (digest, signal) =>
      translatedPieces('reading an image', async function* () {
        mustGoOn(signal)
        const found = (await files.readIndex()).find(one => one.digest === digest)
        if (!found) throw new LayoutStoreError('not_found', `no image ${digest}`)
        const image = await read(found)
        const opened = new Map<string, FileHandle>()
        try {
          // All of them now: whoever removes the image later takes only their names.
          for (const blob of blobsOf(image)) opened.set(blob.digest, await openBlob(blob.digest))
          for await (const piece of packLayout(image, blob => piecesOf(opened.get(blob.digest), signal)))
            yield piece
        } finally {
          await Promise.all([...opened.values()].map(file => file.close()))
        }
      }),

    remove: digest =>
      translated('removing an image', () =>
        alone(async () => {
          const manifests = await files.readIndex()
          const left = manifests.filter(one => one.digest !== digest)
          if (left.length < manifests.length) await files.writeIndex(left)
          known.delete(digest)
          return { freed_bytes: await removeUnnamed(left) }
        }),
      ),

    sizes: () => translated('counting images', async () => sumsOf(await imagesOf(await files.readIndex()))),
  }

  async function openBlob(digest: string): Promise<FileHandle> {
    const file = await open(files.blob(digest), 'r').catch(unlessMissing)
    if (!file) throw new LayoutStoreError('not_found', `${digest} is not here any more`)
    return file
  }
}

/** Removes a session's folder whose process is dead. */
async function eraseUnlessHeld(folder: string): Promise<void> {
  const lock: HostLock | null = await takeLock(join(folder, 'lock'), {
    kind: 'exclusive',
    wait: false,
    signal: never,
  }).catch(() => null)
  if (!lock) return
  await rm(folder, { recursive: true, force: true })
  lock.release()
}

async function linked(from: string, to: string): Promise<boolean> {
  return link(from, to).then(
    () => true,
    // Gone again, or of a file system without second names: it is written.
    () => false,
  )
}

async function* piecesOf(file: FileHandle | undefined, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  if (!file) return
  for (let at = 0; ; ) {
    mustGoOn(signal)
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES, at)
    if (bytesRead === 0) return
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

async function* one(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}
