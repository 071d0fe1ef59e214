import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { createAtOnce } from '../../../platform/at-once.ts'
import { MACHINE_ID_PATTERN } from '../machine-id.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { Part } from '../port/part.ts'
import type { CopyOrder, VolumeSpec, VolumeUse } from '../port/volumes.ts'
import { copyFolder } from './copy-folder.ts'
import { countKb } from './count-folders.ts'
import type { DiskRoom } from './disk-room.ts'
import { eraseWithPatience } from './erase-with-patience.ts'
import type { Eraser } from './eraser.ts'
import { giveTo } from './machine-users.ts'
import { giveVolume } from './volume-owners.ts'

const KB = 1024

/** A copy that is not whole, with who owns it: of one that was cut off nothing else says so. */
const PARTIAL = /^copy-(own|\d+)-[0-9a-f]+(\.going)?$/
/** Copies at the same time: running machines need the disk more. */
const COPIES_MAX = 2

const NOT_HELD = {
  enforced: false,
  why: 'volumes are plain folders on this computer’s disk, without a quota',
} as const

/**
 * Volumes as folders under `<dataDir>/volumes`:
 *
 *   <id>/data     what machines see
 *   <id>/owner    the user id that all of it belongs to, or the first of a range of them, once that is certain
 *   <id>/copy-*   what is to become `data`, while another volume is copied; `data` is whole as soon as it is there
 */
export function createVolumeFolders(deps: {
  dataDir: string
  eraser: Eraser
  /** Words that go before what counts folders, where those are closed to the gateway. */
  counting: readonly string[]
  /** What is left on the disk. */
  room(): Promise<DiskRoom>
  log: Logger
}) {
  const { dataDir, eraser, counting, log } = deps
  const copying = createAtOnce(COPIES_MAX)
  const root = join(dataDir, 'volumes')
  const folderOf = (id: string) => {
    if (!MACHINE_ID_PATTERN.test(id)) throw new ComputeError('unsupported', `not a volume id: ${id}`)
    return join(root, id)
  }

  async function mustExist(id: string): Promise<string> {
    const data = join(folderOf(id), 'data')
    const found = await stat(data).catch(() => null)
    if (!found?.isDirectory()) throw new ComputeError('not_found', `no volume ${id}`)
    return data
  }

  const ownerOf = async (id: string) => {
    const owner = await readFile(join(folderOf(id), 'owner'), 'utf8').catch(() => '')
    return owner === '' ? null : Number(owner)
  }

  /** Erases what copies that were cut off have left of a volume. */
  async function erasePartial(folder: string): Promise<void> {
    for (const name of await readdir(folder)) {
      const owner = PARTIAL.exec(name)?.[1]
      if (owner === undefined) continue
      await eraser.erase(join(folder, name.replace(/\.going$/, '')), owner === 'own' ? null : Number(owner))
    }
  }

  /** Removes what a copy that has failed has left; nothing of a volume that is whole. */
  async function leaveNothing(id: string): Promise<void> {
    const folder = folderOf(id)
    if (!(await stat(folder).catch(() => null)) || (await stat(join(folder, 'data')).catch(() => null)))
      return
    await erasePartial(folder)
    await rm(join(folder, 'owner'), { force: true })
    await rmdir(folder)
  }

  async function use(id: string): Promise<VolumeUse | null> {
    const data = await mustExist(id)
    const kb = (await countKb([data], counting)).get(data)
    return kb === undefined ? null : { used_bytes: kb * KB }
  }

  /** Copies into a folder of its own, which takes its name when it is whole. */
  async function copyNow({ from, id, bytes_max }: CopyOrder, signal: AbortSignal): Promise<VolumeUse> {
    const source = await mustExist(from)
    const folder = folderOf(id)
    const data = join(folder, 'data')
    if (await stat(data).catch(() => null)) {
      const found = await use(id)
      if (!found) throw new ComputeError('failed', `what ${id} holds could not be counted`)
      return found
    }
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await erasePartial(folder)
    const { isShort, freeBytes, left } = await deps.room()
    if (isShort) throw new ComputeError('failed', `the disk has no room for a copy (${left} left)`)
    const uid = await ownerOf(from)
    const made = join(folder, `copy-${uid ?? 'own'}-${randomBytes(8).toString('hex')}`)
    await mkdir(made, { mode: 0o755 })
    await giveTo(uid, [made])
    const bytesMax = Math.min(bytes_max, freeBytes)
    const used_bytes = await copyFolder({ from: source, to: made, uid, bytesMax }, signal)
    if (uid !== null) await writeFile(join(folder, 'owner'), String(uid), { mode: 0o600 })
    await rename(made, data)
    return { used_bytes }
  }

  return {
    /** Where what a volume holds lies. */
    pathOf: (id: string) => join(folderOf(id), 'data'),

    mustExist,

    said: {
      size_limit: NOT_HELD,
      fixed_size_limit: NOT_HELD,
      sharing: {
        offered: false,
        why: 'each sandbox has users of its own, to whom all that a volume holds is given when it starts',
      },
    } as const,

    async make({ id }: VolumeSpec): Promise<void> {
      await mkdir(folderOf(id), { recursive: true, mode: 0o700 })
      // A machine's users come to it as to any folder.
      await mkdir(join(folderOf(id), 'data'), { recursive: true, mode: 0o755 })
    },

    async grow({ id }: VolumeSpec): Promise<void> {
      await mustExist(id)
    },

    /**
     * Readies a volume for a machine that is about to start, and gives the folder to bind. No other machine may
     * run with it meanwhile. `uid` is who the machine is outside; null for the gateway's own user.
     */
    async give(id: string, uid: number | null): Promise<string> {
      const data = await mustExist(id)
      const note = join(folderOf(id), 'owner')
      const owner = await readFile(note, 'utf8').catch(() => '')
      if (owner === (uid === null ? '' : String(uid))) return data
      // Where it is not known whose all of it is, it is given away once more.
      if (uid !== null) await rm(note, { force: true })
      await giveVolume(data, uid, owner === '' ? null : Number(owner))
      if (uid === null) await rm(note, { force: true })
      else await writeFile(note, String(uid), { mode: 0o600 })
      return data
    },

    /**
     * Removes a volume. It is listed until it is gone.
     * @throws ComputeError `failed` where that takes a while or does not work; another call goes on with the rest.
     */
    async delete(id: string): Promise<void> {
      const folder = folderOf(id)
      if (!(await stat(folder).catch(() => null))) return
      const owner = await ownerOf(id)
      const removing = (async () => {
        await erasePartial(folder)
        await eraser.erase(join(folder, 'data'), owner)
        await rm(join(folder, 'owner'), { force: true })
        await rmdir(folder)
      })()
      await eraseWithPatience(removing, { log })
    },

    measure: use,

    copies: {
      copy: (order: CopyOrder, signal: AbortSignal): Promise<VolumeUse> =>
        copying(async () => {
          if (signal.aborted) throw new ComputeError('failed', 'the copy was given up')
          try {
            return await copyNow(order, signal)
          } catch (error) {
            await leaveNothing(order.id).catch(err =>
              log.warn({ err, volume: order.id }, 'a copy left something'),
            )
            throw error
          }
        }),
    },

    /** Where its files lie. What users of machines own only root may write. @throws ComputeError `not_found`. */
    async folder(id: string): Promise<Part<{ path: string }>> {
      const path = await mustExist(id)
      const { uid } = await stat(path)
      const own = process.getuid?.()
      if (own === 0 || own === uid) return { path }
      return { lacks: 'its files belong to users of a machine, and this gateway does not run as root' }
    },

    async list(): Promise<string[]> {
      const entries = await readdir(root, { withFileTypes: true }).catch(() => [])
      return entries.flatMap(entry =>
        entry.isDirectory() && MACHINE_ID_PATTERN.test(entry.name) ? [entry.name] : [],
      )
    },
  }
}

export type VolumeFolders = ReturnType<typeof createVolumeFolders>
