import { randomBytes } from 'node:crypto'
import { chmod, chown, lstat, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { z } from 'zod'
import { takeLock } from '../../../platform/host-lock.ts'
import { LayoutError } from '../../../platform/image-layout/layout-error.ts'
import { MACHINE_ID_PATTERN } from '../machine-id.ts'
import { replaceFile } from '../oci/image-files.ts'
import { mustGoOn, refusedArchive } from '../own-archive.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { ImageRecipe, OwnImage, OwnImages, PullProgress } from '../port/images.ts'
import type { Eraser } from '../sandbox/eraser.ts'
import { abortedError } from '../sandbox/launch.ts'
import { type MachineStore, ownerOf } from '../sandbox/machine-store.ts'
import { type VmImage, vmImageSchema } from './base-store.ts'
import { baseFiles, makeBaseFolders, markUsed, OWN_PREFIX } from './base-tidying.ts'
import { readDiskFacts } from './disk-header.ts'
import { FLAT_DISK, type FlattenDeps, flattenDisk, flatteningPaths } from './flatten-disk.ts'
import { INSIDE } from './hypervisor-argv.ts'
import { overlayBytes } from './keeper/vm-disk.ts'
import { loadVm, saveVm } from './vm-archive.ts'
import type { VmRecord } from './vm-launch.ts'

const MB = 1024 * 1024
const BLOCK_BYTES = 512
/** What a disk takes as a file beside what is in it. */
const FORMAT_SHARE = 1.01
/** Readable for everybody, as the other files of the store. */
const MODE = 0o644
const never = new AbortController().signal

const recordSchema = z.object({ vm: vmImageSchema })
type OwnRecord = z.infer<typeof recordSchema>

export interface OwnImagesDeps extends FlattenDeps {
  /** The folder of files that machines lie over. */
  basesDir: string
  /** A folder for what is known of these images, and for what is being made. */
  dir: string
  store: MachineStore
  eraser: Eraser
  /** Does something with a machine that stays stopped meanwhile; fails where it is not. */
  whileStopped(id: string, signal: AbortSignal, work: () => Promise<void>): Promise<void>
}

/**
 * Images that are made of machines: a disk of its own in the store, and beside it a word on what it is started with.
 *
 *   <id>.json      what is known of an image; its disk is whole
 *   <id>.lock      held while it is made
 *   making/<id>/   where it is made
 */
export function createOwnImages(deps: OwnImagesDeps) {
  const { basesDir, dir, store } = deps
  const bases = baseFiles(basesDir)
  const recordPath = (id: string) => join(dir, `${id}.json`)
  const makingPath = (id: string) => join(dir, 'making', id)

  async function find(id: string): Promise<OwnRecord | null> {
    const text = await readFile(recordPath(id), 'utf8').catch(() => null)
    return text === null ? null : recordSchema.parse(JSON.parse(text))
  }

  async function ids(): Promise<string[]> {
    const names = await readdir(dir).catch(() => [])
    return names.flatMap(name => (name.endsWith('.json') ? [name.slice(0, -'.json'.length)] : []))
  }

  function mustBeId(id: string): void {
    if (!MACHINE_ID_PATTERN.test(id)) throw new ComputeError('unsupported', `not an image id: ${id}`)
  }

  /** Takes what an earlier try has left. */
  async function forgetMaking(id: string): Promise<void> {
    const { dir: folder, home } = flatteningPaths(makingPath(id))
    const owner = await ownerOf(home)
    if (owner) await deps.eraser.erase(home, owner.uid === process.getuid?.() ? null : owner.uid)
    await rm(folder, { recursive: true, force: true })
  }

  /** What a machine has written; null where it has never run. A link that it might have laid there leads nowhere. */
  async function overlayOf(id: string): Promise<{ path: string; bytes: number } | null> {
    const path = join(store.paths(id).home, basename(INSIDE.disk))
    const found = await lstat(path).catch(() => null)
    return found?.isFile() ? { path, bytes: await overlayBytes(path) } : null
  }

  /** Makes an image, alone. */
  async function make(
    what: { image_id: string; record: VmRecord; lock: number },
    onProgress: (progress: PullProgress) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { image_id, record, lock } = what
    const { base, kernel, initrd, cmdline } = record.vm
    const overlay = await overlayOf(record.spec.id)
    const bytes = overlay?.bytes ?? base.bytes
    const tell = (share: number) => onProgress({ bytes_done: Math.floor(bytes * share), bytes_total: bytes })
    tell(0)
    const paths = flatteningPaths(makingPath(image_id))
    await forgetMaking(image_id)
    try {
      await mkdir(paths.dir, { recursive: true, mode: 0o700 })
      const disk = {
        overlay: overlay?.path ?? null,
        base: { path: bases.path(base.name), format: base.format },
        bytes: Math.ceil(bytes * FORMAT_SHARE) + MB,
      }
      const work = { name: `own-${image_id}`, paths, uid: record.uid, lock }
      await flattenDisk(deps, disk, work, tell, signal)
      const flat = join(paths.home, FLAT_DISK)
      const name = `${OWN_PREFIX}${image_id}-${randomBytes(4).toString('hex')}`
      await seal(flat)
      const vm: VmImage = { base: { name, ...(await readDiskFacts(flat)) }, kernel, initrd, cmdline }
      await shared(async () => {
        await rename(flat, bases.path(name))
        await replaceFile(recordPath(image_id), JSON.stringify({ vm } satisfies OwnRecord))
      })
      tell(1)
    } finally {
      await forgetMaking(image_id)
    }
  }

  /** Takes the image of an archive in, alone. */
  async function take(id: string, archive: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    const folder = makingPath(id)
    await forgetMaking(id)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    try {
      const { disk, kernel, initrd, cmdline } = await loadVm(archive, { folder, room: deps.room, signal })
      const facts = await readDiskFacts(disk)
      if (facts.format !== 'qcow2') throw new LayoutError('unfit', 'its disk is no qcow2')
      for (const file of [disk, kernel?.path, initrd?.path]) if (file) await seal(file)
      const name = `${OWN_PREFIX}${id}-${randomBytes(4).toString('hex')}`
      const vm: VmImage = {
        base: { name, ...facts },
        kernel: kernel?.hex ?? null,
        initrd: initrd?.hex ?? null,
        cmdline,
      }
      await shared(async () => {
        for (const file of [kernel, initrd]) {
          if (!file) continue
          // What is there by that name has that content.
          await rename(file.path, bases.path(file.hex))
          await markUsed(basesDir, file.hex)
        }
        await rename(disk, bases.path(name))
        await replaceFile(recordPath(id), JSON.stringify({ vm } satisfies OwnRecord))
      })
    } finally {
      await forgetMaking(id)
    }
  }

  /** While the store removes nothing. */
  async function shared<T>(work: () => Promise<T>): Promise<T> {
    await makeBaseFolders(basesDir)
    const lock = await takeLock(bases.lock, { kind: 'shared', wait: true, signal: never })
    try {
      return await work()
    } finally {
      lock?.release()
    }
  }

  const facet: OwnImages = {
    async build({ machine_id, image_id }, onProgress, signal) {
      mustBeId(image_id)
      const known = MACHINE_ID_PATTERN.test(machine_id) ? await store.readRecord(machine_id) : null
      if (!known) throw new ComputeError('not_found', `no machine ${machine_id}`)
      if (signal.aborted) throw abortedError(signal)
      await mkdir(dir, { recursive: true, mode: 0o700 })
      const lock = await takeLock(join(dir, `${image_id}.lock`), { kind: 'exclusive', wait: true, signal })
      try {
        if (lock && !(await find(image_id)))
          await deps.whileStopped(machine_id, signal, () =>
            make({ image_id, record: known as VmRecord, lock: lock.fd }, onProgress, signal),
          )
      } finally {
        lock?.release()
      }
      const recipe: ImageRecipe = { id: image_id, parts: { qemu: { own: image_id } } }
      return recipe
    },

    async *save(imageId, signal) {
      mustBeId(imageId)
      mustGoOn(signal)
      const vm = (await find(imageId))?.vm
      if (!vm) throw new ComputeError('not_found', `no image ${imageId}`)
      for await (const piece of saveVm(vm, bases.path)) {
        mustGoOn(signal)
        yield piece
      }
    },

    async load(imageId, archive, signal) {
      mustBeId(imageId)
      mustGoOn(signal)
      await mkdir(dir, { recursive: true, mode: 0o700 })
      await makeBaseFolders(basesDir)
      const lock = await takeLock(join(dir, `${imageId}.lock`), { kind: 'exclusive', wait: true, signal })
      try {
        if (!(await find(imageId))) await take(imageId, archive, signal).catch(refusedArchive(imageId))
      } finally {
        lock?.release()
      }
      return { id: imageId, parts: { qemu: { own: imageId } } }
    },

    async delete(imageId) {
      mustBeId(imageId)
      await makeBaseFolders(basesDir)
      const lock = await takeLock(bases.lock, { kind: 'exclusive', wait: true, signal: never })
      try {
        const found = await find(imageId)
        if (!found) return
        for (const id of await store.ids()) {
          const record = (await store.readRecord(id)) as VmRecord | null
          if (record?.vm.base.name === found.vm.base.name)
            throw new ComputeError('failed', `the machine ${id} is made from the image ${imageId}`)
        }
        await rm(recordPath(imageId))
        await rm(bases.path(found.vm.base.name), { force: true })
        await rm(join(dir, `${imageId}.lock`), { force: true })
      } finally {
        lock?.release()
      }
    },

    async list() {
      const found = await Promise.all(
        (await ids()).map(async (id): Promise<OwnImage[]> => {
          const record = await find(id)
          const file = record && (await stat(bases.path(record.vm.base.name)).catch(() => null))
          return file ? [{ id, size_bytes: file.blocks * BLOCK_BYTES }] : []
        }),
      )
      return found.flat()
    },
  }

  return {
    facet,
    find: async (id: string): Promise<VmImage | null> => (await find(id))?.vm ?? null,
    /** What machines of these images would lie over. */
    all: async (): Promise<VmImage[]> => {
      const found = await Promise.all((await ids()).map(find))
      return found.flatMap(record => record?.vm ?? [])
    },
    /** Removes what killed gateways have begun to make. */
    async tidy(): Promise<void> {
      for (const id of await readdir(join(dir, 'making')).catch(() => [])) {
        const path = join(dir, `${id}.lock`)
        const lock = await takeLock(path, { kind: 'exclusive', wait: false, signal: never })
        if (!lock) continue
        await forgetMaking(id).finally(lock.release)
      }
    },
  }
}

/** Has a new disk be nobody's any more, and on the disk. */
async function seal(path: string): Promise<void> {
  const found = await lstat(path)
  if (!found.isFile()) throw new ComputeError('failed', 'no disk was made')
  if (process.getuid?.() === 0) await chown(path, 0, 0)
  await chmod(path, MODE)
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
