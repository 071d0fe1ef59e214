import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { MACHINE_ID_PATTERN } from '../machine-id.ts'
import { ComputeError } from '../port/compute-error.ts'

/** How long giving a volume to another machine's user may take; it walks over every file. */
const CHOWN_TIMEOUT_MS = 120_000

/**
 * Volumes as folders under `<dataDir>/volumes`:
 *
 *   <id>/data     what machines see
 *   <id>/owner    the user id that all of it belongs to, once that is certain
 */
export function createVolumeFolders(dataDir: string) {
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
    mustExist,

    async make(id: string): Promise<void> {
      await mkdir(join(folderOf(id), 'data'), { recursive: true, mode: 0o700 })
    },

    /**
     * Readies a volume for a machine that is about to start, and gives the folder to bind. No other machine may
     * run with it meanwhile. `uid` is who the machine is outside; null for the gateway's own user.
     */
    async give(id: string, uid: number | null): Promise<string> {
      const data = await mustExist(id)
      if (uid === null) return data
      const note = join(folderOf(id), 'owner')
      const owner = await readFile(note, 'utf8').catch(() => '')
      if (owner === String(uid)) return data
      await rm(note, { force: true })
      // Never through a link: what lies in there was put there by a customer.
      await promisify(execFile)('chown', ['-R', '-P', '-h', `${uid}:${uid}`, '--', data], {
        timeout: CHOWN_TIMEOUT_MS,
      })
      await writeFile(note, String(uid), { mode: 0o600 })
      return data
    },

    async delete(id: string): Promise<void> {
      const folder = folderOf(id)
      // Out of the list at once, and gone when it is: no machine id holds a dot.
      const going = `${folder}.going`
      await rm(going, { recursive: true, force: true, maxRetries: 3 })
      try {
        await rename(folder, going)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
        throw error
      }
      await rm(going, { recursive: true, force: true, maxRetries: 3 })
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
