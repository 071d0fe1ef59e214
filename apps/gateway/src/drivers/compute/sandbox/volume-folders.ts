import { mkdir, readdir, readFile, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { MACHINE_ID_PATTERN } from '../machine-id.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { Part } from '../port/part.ts'
import type { VolumeSpec, VolumeUse } from '../port/volumes.ts'
import { countKb } from './count-folders.ts'
import { eraseWithPatience } from './erase-with-patience.ts'
import type { Eraser } from './eraser.ts'
import { giveVolume } from './volume-owners.ts'

const KB = 1024

const NOT_HELD = {
  enforced: false,
  why: 'volumes are plain folders on this computer’s disk, without a quota',
} as const

/**
 * Volumes as folders under `<dataDir>/volumes`:
 *
 *   <id>/data     what machines see
 *   <id>/owner    the user id that all of it belongs to, or the first of a range of them, once that is certain
 */
export function createVolumeFolders(deps: {
  dataDir: string
  eraser: Eraser
  /** Words that go before what counts folders, where those are closed to the gateway. */
  counting: readonly string[]
  log: Logger
}) {
  const { dataDir, eraser, counting, log } = deps
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
      const data = join(folder, 'data')
      const note = join(folder, 'owner')
      const owner = await readFile(note, 'utf8').catch(() => '')
      if (!(await stat(folder).catch(() => null))) return
      const removing = eraser.erase(data, owner === '' ? null : Number(owner)).then(async () => {
        await rm(note, { force: true })
        await rmdir(folder)
      })
      await eraseWithPatience(removing, { log })
    },

    async measure(id: string): Promise<VolumeUse | null> {
      const data = await mustExist(id)
      const kb = (await countKb([data], counting)).get(data)
      return kb === undefined ? null : { used_bytes: kb * KB }
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
