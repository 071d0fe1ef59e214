import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import { type HostLock, takeLock } from '../../../platform/host-lock.ts'
import { ComputeError } from '../port/compute-error.ts'
import {
  type FetchedImage,
  imageFiles,
  makeImageFolders,
  namedManifests,
  replaceFile,
  touch,
} from './image-files.ts'
import type { UnpackAnswer } from './unpack/unpack-orders.ts'

/** Written last: a tree without it was begun and not finished. */
const TREE_FILE = 'tree.json'
const ROOT_FOLDER = 'root'
/** Ends the key of a tree whose files have the owners that the image gives them. */
const WITH_OWNERS = '-owners'
/** The manifest of the image that a tree was unpacked from, by the tree's key. */
export function manifestOf(key: string): string {
  return `sha256:${key.replace(WITH_OWNERS, '')}`
}

/** A tree may be gone again before it was used; that happens once, if ever. */
const TRIES_MAX = 3

/** Who an image's programs are to be, as its own files say. */
export const imageUserSchema = z.object({
  uid: z.int().min(0),
  gid: z.int().min(0),
  name: z.string().max(256),
  home: z.string().startsWith('/').max(4_096),
})
const treeFileSchema = z.object({ user: imageUserSchema })

/** An image that is unpacked. Nobody writes there again. */
export interface ImageTree {
  /** By which `rootOf` finds it. */
  key: string
  root: string
  user: UnpackAnswer['user']
}

export interface ImageTreesDeps {
  /** The uppermost folder of images. */
  dir: string
  /** Whether files keep their owners: such a tree is another one than that in which all are one user's. */
  keepsOwners: boolean
  /**
   * Lays an image into a new folder's `root`.
   * @param options.lock An open file that whoever does it is to hold.
   */
  unpack(
    folder: string,
    image: FetchedImage,
    options: { lock: number; onBytes(done: number): void; signal: AbortSignal },
  ): Promise<UnpackAnswer>
  /** Removes a folder in which an image was unpacked, in whole or not; absent: returns. */
  erase(folder: string): Promise<void>
}

/**
 * Images, each unpacked once for all machines of this computer, by the digest of its manifest: whoever has fetched that,
 * with all that it names, has all that is in its tree. Who makes or removes a
 * tree has its lock alone; who makes a machine of it shares the lock until that machine is written down.
 */
export function createImageTrees({ dir, keepsOwners, unpack, erase }: ImageTreesDeps) {
  const files = imageFiles(dir)
  const keyOf = ({ record }: FetchedImage) =>
    record.manifest.slice('sha256:'.length) + (keepsOwners ? WITH_OWNERS : '')
  const isOfNow = (key: string) => key.endsWith(WITH_OWNERS) === keepsOwners

  async function makeFolders(): Promise<void> {
    await makeImageFolders(dir)
    await mkdir(files.trees, { recursive: true, mode: 0o700 })
  }

  async function find(key: string): Promise<ImageTree | null> {
    const folder = files.tree(key)
    const said = await readFile(join(folder, TREE_FILE), 'utf8').catch(() => null)
    if (said === null) return null
    const { user } = treeFileSchema.parse(JSON.parse(said))
    return { key, root: join(folder, ROOT_FOLDER), user }
  }

  async function locked<T>(
    key: string,
    kind: 'shared' | 'exclusive',
    signal: AbortSignal,
    work: (lock: HostLock) => Promise<T>,
  ): Promise<T> {
    const lock = await takeLock(files.treeLock(key), { kind, wait: true, signal })
    if (!lock) throw new ComputeError('failed', 'the lock of an image cannot be taken')
    try {
      return await work(lock)
    } finally {
      lock.release()
    }
  }

  async function makeAlone(
    image: FetchedImage,
    options: { lock: number; onBytes(done: number): void; signal: AbortSignal },
  ): Promise<void> {
    const folder = files.tree(keyOf(image))
    await erase(folder)
    await mkdir(folder, { mode: 0o700 })
    try {
      const { user } = await unpack(folder, image, options)
      // All machines would go by a tree of which the disk has lost a part.
      await promisify(execFile)('sync', ['--file-system', folder])
      await replaceFile(join(folder, TREE_FILE), JSON.stringify({ user }))
    } catch (error) {
      await erase(folder).catch(() => undefined)
      throw error
    }
  }

  /** Unpacks an image, once, however many ask for it. */
  async function make(
    image: FetchedImage,
    onBytes: (done: number) => void,
    signal: AbortSignal,
  ): Promise<void> {
    await makeFolders()
    await locked(keyOf(image), 'exclusive', signal, async ({ fd }) => {
      if (!(await find(keyOf(image)))) await makeAlone(image, { lock: fd, onBytes, signal })
    })
  }

  return {
    make,

    /** Whether an image is unpacked here. */
    has: async (image: FetchedImage): Promise<boolean> => (await find(keyOf(image))) !== null,

    /**
     * Lets something be made of an image's tree, which stays meanwhile; it is unpacked first where it is not. The image
     * counts as used today.
     * @throws ComputeError, as unpacking does; and what `work` throws.
     */
    async use<T>(
      image: FetchedImage,
      signal: AbortSignal,
      work: (tree: ImageTree) => Promise<T>,
    ): Promise<T> {
      for (let tries = 0; tries < TRIES_MAX; tries++) {
        await makeFolders()
        await touch(imageFiles(image.folder).record(image.record.reference))
        const done = await locked(keyOf(image), 'shared', signal, async () => {
          const tree = await find(keyOf(image))
          return tree && { value: await work(tree) }
        })
        if (done) return done.value
        await make(image, () => undefined, signal)
      }
      throw new ComputeError('failed', `${image.record.reference} is removed again and again`)
    },

    /** Where the files of a tree are; null where it is not here. */
    rootOf: async (key: string): Promise<string | null> => (await find(key))?.root ?? null,

    /**
     * Removes the trees of images that are not kept any more, those of which no machine is made, and what killed
     * gateways have begun.
     * @param isUsed Whether a machine lies over a tree.
     */
    async removeUnused(isUsed: (key: string) => Promise<boolean>): Promise<void> {
      const signal = new AbortController().signal
      for (const key of await readdir(files.trees).catch(() => [])) {
        const lock = await takeLock(files.treeLock(key), { kind: 'exclusive', wait: false, signal })
        if (!lock) continue
        try {
          const isWhole = (await find(key)) !== null
          const isNamed = isOfNow(key) && (await namedManifests(dir)).has(manifestOf(key))
          if (isWhole && (isNamed || (await isUsed(key)))) continue
          // Whatever is begun of it from here on, it is no tree.
          await rm(join(files.tree(key), TREE_FILE), { force: true })
          await erase(files.tree(key))
        } finally {
          lock.release()
        }
      }
    },
  }
}

export type ImageTrees = ReturnType<typeof createImageTrees>
