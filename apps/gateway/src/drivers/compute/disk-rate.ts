import { access, readFile, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** What one machine may read from its computer's disk in a second, and write to it: others use the same disk. */
export const DISK_RATE_BYTES_PER_S = 200 * 1024 * 1024

/** Why a limit is set and does not hold. */
export const VERSION_1_LACKS =
  'control groups of version 1 count what is read, and not what is written through the cache'

/** The whole disk that a file system lies on, as the kernel's limits want it named. */
export interface Disk {
  /** `<major>:<minor>`. */
  numbers: string
  /** Such as `/dev/vda`. */
  node: string
}

/**
 * Finds the disk below a folder of this computer.
 * @param at Where the kernel lists its block devices.
 * @returns The disk, or why what is stored there has none that could be limited, as with a network's file system.
 */
export async function findDisk(folder: string, at = '/sys/dev/block'): Promise<Disk | { why: string }> {
  const { dev } = await stat(folder)
  try {
    const place = await realpath(join(at, numbersOf(dev)))
    const isPart = await access(join(place, 'partition')).then(
      () => true,
      () => false,
    )
    // The kernel limits whole disks, and not the parts of one.
    const disk = isPart ? dirname(place) : place
    const numbers = (await readFile(join(disk, 'dev'), 'utf8')).trim()
    // The kernel writes a `/` of a name as `!`.
    const node = join('/dev', basename(disk).replaceAll('!', '/'))
    await access(node)
    return { numbers, node }
  } catch {
    return { why: 'what machines store lies on no disk of this computer whose rate the kernel could limit' }
  }
}

/** As Linux packs the two into one number. */
function numbersOf(dev: number): string {
  const packed = BigInt(dev)
  const major = ((packed >> 8n) & 0xfffn) | ((packed >> 32n) & ~0xfffn)
  const minor = (packed & 0xffn) | ((packed >> 12n) & ~0xffn)
  return `${major}:${minor}`
}
