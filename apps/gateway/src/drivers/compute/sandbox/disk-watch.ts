import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Logger } from 'pino'
import { createLoop } from '../../../platform/loop.ts'
import type { DiskRoom } from './disk-room.ts'

/** A disk takes a few GB a second at most, and what is kept free is at least one. */
const LOOK_MS = 1_000
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

export interface DiskWatchDeps {
  log: Logger
  room(): Promise<DiskRoom>
  writers(): Promise<DiskWriter[]>
  /** Ends a machine at once. */
  stop(id: string): Promise<void>
}

/**
 * Keeps machines from filling the disk that they share with the gateway and its database: where too little is left,
 * the machine that takes most of what it was given is stopped, one after the other until there is room again.
 */
export function createDiskWatch(deps: DiskWatchDeps) {
  const { log } = deps

  async function look(): Promise<void> {
    const { isShort, left } = await deps.room()
    if (!isShort) return
    const worst = await greediestOf(await deps.writers())
    if (worst === null) return log.error({ left }, 'the disk is nearly full, and no machine is running on it')
    log.error(
      { machine: worst.id, left },
      'the disk is nearly full: the machine that takes most of it is stopped',
    )
    await deps.stop(worst.id)
  }

  const loop = createLoop({ name: 'disk-watch', pauseMs: LOOK_MS, mayEnd: true, log, run: look })
  loop.start()
  return { close: loop.stop }
}

/** The machine that takes the largest share of what it was given; null where there are none. */
async function greediestOf(machines: DiskWriter[]): Promise<DiskWriter | null> {
  const counted = await countKb([...new Set(machines.flatMap(({ dirs }) => dirs))])
  const kbOf = (dir: string) => counted.get(dir) ?? Number.POSITIVE_INFINITY
  const shareOf = ({ dirs, diskGb }: DiskWriter) =>
    dirs.reduce((sum, dir) => sum + kbOf(dir), 0) / (diskGb || 1)
  const [first, ...others] = machines
  if (!first) return null
  return others.reduce((worst, one) => (shareOf(one) > shareOf(worst) ? one : worst), first)
}

/**
 * What lies below each folder, counted by a process of its own. A folder is not in the answer where counting it took
 * too long or was refused: whoever closes folders against being counted counts as having much.
 */
async function countKb(dirs: string[]): Promise<Map<string, number>> {
  const counted = new Map<string, number>()
  if (dirs.length === 0) return counted
  const child = spawn('nice', ['-n', '5', 'du', '-skx', '--', ...dirs], {
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
