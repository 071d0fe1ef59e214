import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type DiskTaker, type DiskWatchDeps, watchDisk } from '../watch-disk.ts'

/** What takes longer to count than this is counted as very much. */
const COUNT_TIMEOUT_MS = 20_000
const COMPLAINTS_BYTES_MAX = 64 * 1024

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

/**
 * What lies below each folder, counted by a process of its own. A folder is not in the answer where counting it took
 * too long or was refused: whoever closes folders against being counted counts as having much.
 */
async function countKb(dirs: string[], counting: readonly string[]): Promise<Map<string, number>> {
  const counted = new Map<string, number>()
  if (dirs.length === 0) return counted
  const child = spawn('nice', ['-n', '5', ...counting, 'du', '-skx', '--', ...dirs], {
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C' },
    timeout: COUNT_TIMEOUT_MS,
    killSignal: 'SIGKILL',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let complaints = ''
  child.stdout.on('data', chunk => {
    out += chunk
  })
  child.stderr.on('data', chunk => {
    complaints += String(chunk).slice(0, COMPLAINTS_BYTES_MAX - complaints.length)
  })
  await once(child, 'close')
  for (const line of out.split('\n')) {
    const [kb = '', dir = ''] = line.split('\t')
    const refused = complaints
      .split('\n')
      .some(said => said.includes(dir) && said.includes('Permission denied'))
    if (dir !== '' && !refused) counted.set(dir, Number(kb))
  }
  return counted
}
