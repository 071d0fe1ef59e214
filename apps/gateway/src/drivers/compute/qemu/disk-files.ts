import { chown, mkdir, open, readdir, rename, rm, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { MACHINE_ID_PATTERN } from '../machine-id.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { VolumeSpec } from '../port/volumes.ts'
import type { KeptVolumes } from '../sandbox/sandbox-volumes.ts'

const GB = 1024 ** 3
/** In which `stat` counts, whatever the file system's own. */
const STAT_BLOCK_BYTES = 512
const DISK = 'disk'
const HELD = { enforced: true, how: 'it is a disk of that size' } as const

/**
 * Volumes as block devices: `<dir>/<id>/disk` is one, bare, in a file that takes as much room as was ever written to it
 * and not discarded. What is in it is the guest's alone: nobody here reads it, makes a file system or mounts one.
 */
export function createDiskFiles(dir: string) {
  const folderOf = (id: string) => {
    if (!MACHINE_ID_PATTERN.test(id)) throw new ComputeError('unsupported', `not a volume id: ${id}`)
    return join(dir, id)
  }
  const fileOf = (id: string) => join(folderOf(id), DISK)
  const bytesOf = async (id: string) => (await stat(fileOf(id)).catch(() => null))?.size ?? null

  async function mustExist(id: string): Promise<number> {
    const bytes = await bytesOf(id)
    if (bytes === null) throw new ComputeError('not_found', `no volume ${id}`)
    return bytes
  }

  const kept: KeptVolumes = {
    said: {
      size_limit: HELD,
      fixed_size_limit: HELD,
      sharing: {
        offered: false,
        why: 'a file system on a disk belongs to the one kernel that has mounted it',
      },
    },
    async make({ id, size_gb }: VolumeSpec) {
      const folder = folderOf(id)
      if ((await bytesOf(id)) !== null) return
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const made = join(folder, `${DISK}.new`)
      const file = await open(made, 'w', 0o600)
      await file.truncate(size_gb * GB)
      await file.close()
      // One of the right name is always whole.
      await rename(made, fileOf(id))
    },
    /** A guest sees its new size when it starts next. */
    async grow({ id, size_gb }: VolumeSpec) {
      if ((await mustExist(id)) < size_gb * GB) await truncate(fileOf(id), size_gb * GB)
    },
    async delete(id: string) {
      await rm(folderOf(id), { recursive: true, force: true })
    },
    async measure(id: string) {
      const found = await stat(fileOf(id)).catch(() => null)
      if (!found) throw new ComputeError('not_found', `no volume ${id}`)
      return { used_bytes: found.blocks * STAT_BLOCK_BYTES }
    },
    async folder(id) {
      await mustExist(id)
      return { lacks: 'it is a disk with a file system of its virtual machine’s, which nobody else reads' }
    },
    copies: {
      lacks: 'its volumes are disks, parts of which the kernel of a virtual machine holds in its memory',
    },
    async list() {
      const entries = await readdir(dir, { withFileTypes: true }).catch(() => [])
      return entries.flatMap(entry =>
        entry.isDirectory() && MACHINE_ID_PATTERN.test(entry.name) ? [entry.name] : [],
      )
    },
  }
  return {
    kept,
    /** Where what a volume takes is counted. */
    pathOf: folderOf,
    /**
     * Gives a disk to the user that its hypervisor runs as; null: the gateway's own.
     * @returns The file.
     * @throws ComputeError `not_found`.
     */
    async give(id: string, uid: number | null): Promise<string> {
      await mustExist(id)
      if (uid !== null) await chown(fileOf(id), uid, uid)
      return fileOf(id)
    },
  }
}

export type DiskFiles = ReturnType<typeof createDiskFiles>
