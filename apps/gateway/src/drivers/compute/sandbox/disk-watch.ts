import { type DiskTaker, type DiskWatchDeps, watchDisk } from '../watch-disk.ts'
import { countKb } from './count-folders.ts'

/** A machine that runs. */
export interface DiskWriter {
  id: string
  /** All that it writes lies below these folders. */
  dirs: string[]
  /** What it was given; 0 is taken for 1. */
  diskGb: number
}

export interface SandboxDiskDeps extends Pick<DiskWatchDeps, 'log' | 'room' | 'stop'> {
  writers(): Promise<DiskWriter[]>
  /** Words that go before what counts folders, where those are closed to the gateway. */
  counting?: readonly string[]
}

/** Keeps machines from filling the disk that they share with the gateway and its database. */
export function createDiskWatch({ writers, counting = [], ...deps }: SandboxDiskDeps) {
  return watchDisk({ ...deps, takers: async () => takersOf(await writers(), counting) })
}

async function takersOf(machines: DiskWriter[], counting: readonly string[]): Promise<DiskTaker[]> {
  const counted = await countKb([...new Set(machines.flatMap(({ dirs }) => dirs))], counting)
  const kbOf = (dir: string) => counted.get(dir) ?? Number.POSITIVE_INFINITY
  return machines.map(({ id, dirs, diskGb }) => ({
    id,
    taken: dirs.reduce((sum, dir) => sum + kbOf(dir), 0),
    diskGb,
  }))
}
