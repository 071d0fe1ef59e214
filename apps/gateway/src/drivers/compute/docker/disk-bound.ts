import type Docker from 'dockerode'
import { orNull, statusCodeOf, translated } from './docker-errors.ts'
import { ensureGuardImage } from './guard-image.ts'

const BYTES_PER_GB = 1024 ** 3
/** What a machine gets at least that wrote all it may before its container was made anew: it could not start with none. */
const LEFT_BYTES_MIN = 64 * 1024 * 1024
const TRIAL_BYTES = 1024 ** 3

/**
 * By what an engine's storage bounds a container: what it writes itself, or all that it sees of its root, its image
 * included; or why by nothing.
 */
export type DiskBound = { counts: 'own_writes' | 'whole_root'; how: string } | { why: string }

/** What an engine tells of its storage. */
export interface StorageTold {
  /** Such as `overlay2`. */
  Driver?: string
  /** Pairs of name and value. */
  DriverStatus?: [string, string][] | null
}

/**
 * Finds out whether an engine bounds the disk of a container, by its word and by a container that is never started: the
 * options of mounts are known to the engine alone. Fails where the engine does not answer.
 * @param trial How that container is called, and what it is made from.
 */
export async function findDiskBound(
  docker: Docker,
  told: StorageTold,
  trial: { name: string; image: { repo: string; tag: string } },
): Promise<DiskBound> {
  const counts = countsOf(told)
  if (typeof counts !== 'string') return counts
  const { name, image } = trial
  return translated('asking whether Docker bounds disks', async () => {
    await ensureGuardImage(docker, image)
    const container = docker.getContainer(name)
    await orNull(container.remove({ force: true }))
    try {
      await docker.createContainer({
        name,
        Image: `${image.repo}:${image.tag}`,
        Cmd: ['/bin/true'],
        HostConfig: { NetworkMode: 'none', StorageOpt: { size: String(TRIAL_BYTES) } },
      })
    } catch (error) {
      if (statusCodeOf(error) === undefined) throw error
      const { message } = error as Error
      return { why: `Docker’s storage on ${told.Driver} does not bound disks: ${message.trim()}` }
    } finally {
      await orNull(container.remove({ force: true }))
    }
    return { counts, how: `quotas of Docker’s storage (${told.Driver})` }
  })
}

/** Others take the option and do nothing with it, or refuse every container that has it. */
function countsOf({ Driver = 'unknown', DriverStatus }: StorageTold) {
  const below = DriverStatus?.find(([name]) => name === 'Backing Filesystem')?.[1]
  if (Driver === 'btrfs') return 'whole_root'
  if (Driver === 'zfs' || (Driver === 'overlay2' && below === 'xfs')) return 'own_writes'
  const where = below ? `${Driver} on ${below}` : Driver
  return {
    why: `Docker’s storage (${where}) bounds no disk; overlay2 on XFS with pquota, Btrfs and ZFS do`,
  }
}

/**
 * How much the storage lets a container have.
 * @param diskGb What the machine was given, in GB of 1024 MB.
 * @param bytes.image Of the image that the machine was first made from.
 * @param bytes.before Of the image that holds its files now, with all layers; null where that is the same one.
 * @returns Bytes; null where nothing is bounded.
 */
export function boundedBytes(
  bound: DiskBound,
  diskGb: number,
  bytes: { image: number; before: number | null },
): number | null {
  if ('why' in bound) return null
  const given = Math.round(diskGb * BYTES_PER_GB)
  if (bound.counts === 'whole_root') return given + bytes.image
  // What it wrote before lies below now, and counts to its disk all the same.
  const written = bytes.before === null ? 0 : Math.max(0, bytes.before - bytes.image)
  return Math.max(given - written, LEFT_BYTES_MIN)
}
