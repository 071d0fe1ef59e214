import { createHash, randomBytes } from 'node:crypto'
import { constants, createReadStream } from 'node:fs'
import { access, chmod, copyFile, link, realpath, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { takeLock } from '../../../platform/host-lock.ts'
import { fetchOutside } from '../oci/fetch-outside.ts'
import type { ImageRoom } from '../oci/pull-orders.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { ImageRecipe, PullProgress } from '../port/images.ts'
import { baseFiles, makeBaseFolders, markUsed } from './base-tidying.ts'
import { readDiskFacts } from './disk-header.ts'
import type { BaseOrders } from './fetch-base.ts'
import { type ImageSource, ownIdOf, qemuLackFor, sourcesOf } from './qemu-recipe.ts'

/** Readable for everybody, as machines have users of their own; the folder above is closed. */
const MODE = 0o644
const FETCH_SCRIPT = join(import.meta.dirname, 'fetch-base-process.ts')

/** What a machine was made from: names of files in the store. */
export const vmImageSchema = z.object({
  /** Its disk, with what that is: its size is not the file's. */
  base: z.object({ name: z.string(), format: z.enum(['raw', 'qcow2']), bytes: z.number() }),
  kernel: z.string().nullable(),
  initrd: z.string().nullable(),
  cmdline: z.string().nullable(),
})
export type VmImage = z.infer<typeof vmImageSchema>

/** The files that a machine of an image cannot do without. */
export function namesOf({ base, kernel, initrd }: VmImage): string[] {
  return [base.name, kernel, initrd].flatMap(name => name ?? [])
}

/**
 * Disks and kernels that machines are made from, each kept as long as a machine is over it and a while longer
 * (`base-tidying.ts`): a file that its operator replaces is another one from then on.
 * @param dir A folder for them alone.
 * @param deps.room What its disk has for them now.
 * @param deps.findOwn Finds an image that was made of a machine here.
 */
export function createBaseStore(
  dir: string,
  deps: { room(): Promise<ImageRoom>; findOwn(id: string): Promise<VmImage | null> },
) {
  const pathOf = baseFiles(dir).path

  /** By what it is kept; a file that has changed is another one. */
  async function nameOf(source: ImageSource): Promise<string> {
    if ('url' in source) return source.sha256
    const found = await stat(source.file).catch(() => null)
    if (!found?.isFile()) unavailable(`there is no file ${source.file}`)
    const facts = [source.file, found.size, found.mtimeMs, found.ino, source.sha256 ?? '']
    return createHash('sha256').update(JSON.stringify(facts)).digest('hex')
  }

  async function isKept(name: string): Promise<boolean> {
    return access(pathOf(name)).then(
      () => true,
      () => false,
    )
  }

  /** Takes a file in where it is not here, as one that is used today. Whoever does shares the store's lock. */
  async function keep(source: ImageSource): Promise<string> {
    const name = await nameOf(source)
    if (!(await isKept(name))) await takeIn(source, name)
    await markUsed(dir, name)
    return name
  }

  async function takeIn(source: ImageSource, name: string): Promise<void> {
    if ('url' in source) throw new ComputeError('failed', `${source.url} was not fetched yet`)
    const taken = `${pathOf(name)}.${randomBytes(4).toString('hex')}`
    try {
      await takeFile(source.file, taken)
      if (source.sha256 !== undefined && (await sha256Of(taken)) !== source.sha256) {
        unavailable(`${source.file} is not what the catalogue says: its SHA-256 is another`)
      }
      await rename(taken, pathOf(name))
    } finally {
      await rm(taken, { force: true })
    }
  }

  async function take(image: ImageRecipe): Promise<VmImage> {
    const own = ownIdOf(image)
    if (own !== null) return (await deps.findOwn(own)) ?? unavailable(`the image ${own} is not here`)
    const { disk, kernel, initrd, cmdline } = sourcesFor(image)
    const name = await keep(disk)
    return {
      base: { name, ...(await readDiskFacts(pathOf(name))) },
      kernel: kernel && (await keep(kernel)),
      initrd: initrd && (await keep(initrd)),
      cmdline,
    }
  }

  function sourcesFor(image: ImageRecipe) {
    const sources = sourcesOf(image)
    return sources ?? unavailable(qemuLackFor(image) ?? '')
  }

  return {
    pathOf,

    /** Whether all that an image is made of is here. */
    async has(image: ImageRecipe): Promise<boolean> {
      const own = ownIdOf(image)
      if (own !== null) return (await deps.findOwn(own)) !== null
      const sources = sourcesOf(image)
      if (!sources) return false
      for (const source of [sources.disk, sources.kernel, sources.initrd]) {
        const name = source && (await nameOf(source).catch(() => null))
        if (source && (name === null || !(await isKept(name)))) return false
      }
      return true
    },

    /**
     * Fetches what of an image is to be fetched, each file in a process of its own; the disk's progress is told.
     * @throws ComputeError as `OciFailure` has them.
     */
    async fetch(
      image: ImageRecipe,
      onProgress: (progress: PullProgress) => void,
      signal: AbortSignal,
    ): Promise<void> {
      if (ownIdOf(image) !== null) return
      const { disk, kernel, initrd } = sourcesFor(image)
      for (const source of [kernel, initrd, disk]) {
        if (!source || !('url' in source) || (await isKept(source.sha256))) continue
        const partial = join(baseFiles(dir).partials, source.sha256)
        await makeBaseFolders(dir)
        const { url, sha256 } = source
        const orders: BaseOrders = { url, sha256, path: pathOf(sha256), partial, room: await deps.room() }
        const fetch = { name: url, script: [FETCH_SCRIPT] as const, orders, lock: `${partial}.lock` }
        await fetchOutside(fetch, source === disk ? onProgress : () => undefined, signal)
      }
    },

    /**
     * Lets something be made of all that an image is, which is taken in as far as it is not here, counts as used today,
     * and stays meanwhile.
     * @throws ComputeError `image_unavailable` where it is not there, or not what the catalogue says; and what `work`
     * throws.
     */
    async use<T>(image: ImageRecipe, signal: AbortSignal, work: (vm: VmImage) => Promise<T>): Promise<T> {
      await makeBaseFolders(dir)
      const lock = await takeLock(baseFiles(dir).lock, { kind: 'shared', wait: true, signal })
      try {
        return await work(await take(image))
      } finally {
        lock?.release()
      }
    },
  }
}

export type BaseStore = ReturnType<typeof createBaseStore>

/** A second name for the file where that will do, else a copy. */
async function takeFile(from: string, to: string): Promise<void> {
  const { mode } = await stat(from)
  const isReadable = (mode & MODE) === MODE
  try {
    // A second name for a link would be another link, which leads to whatever lies there later.
    if (isReadable) return await link(await realpath(from), to)
  } catch {
    // On another file system, or one without second names.
  }
  await copyFile(from, to, constants.COPYFILE_FICLONE)
  await chmod(to, MODE)
}

/** The SHA-256 of a file, in hexadecimal. */
export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of createReadStream(path) as AsyncIterable<Buffer>) hash.update(piece)
  return hash.digest('hex')
}

function unavailable(why: string): never {
  throw new ComputeError('image_unavailable', why)
}
