import type { Logger } from 'pino'
import { createLoop } from '../../platform/loop.ts'

/** A disk takes a few GB a second at most, and what is kept free is at least one. */
const LOOK_MS = 1_000

/** A machine that runs, and what it takes of the disk. */
export interface DiskTaker {
  id: string
  /** In any unit, the same for all; endless where it cannot be counted. */
  taken: number
  /** What it was given; 0 is taken for 1. */
  diskGb: number
}

export interface DiskWatchDeps {
  log: Logger
  room(): Promise<{ isShort: boolean; left: string }>
  /** All machines that run. Asked only when room is short. */
  takers(): Promise<DiskTaker[]>
  /** Ends a machine at once, so that it is known why. */
  stop(id: string): Promise<void>
}

/**
 * Keeps machines from filling a disk that they share with others: where too little is left, the machine that takes most
 * of what it was given is stopped, one after the other until there is room again.
 */
export function watchDisk(deps: DiskWatchDeps) {
  const { log } = deps

  async function look(): Promise<void> {
    const { isShort, left } = await deps.room()
    if (!isShort) return
    const [first, ...others] = await deps.takers()
    if (!first) return log.error({ left }, 'the disk is nearly full, and no machine is running on it')
    const worst = others.reduce((most, one) => (shareOf(one) > shareOf(most) ? one : most), first)
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

const shareOf = ({ taken, diskGb }: DiskTaker) => taken / (diskGb || 1)
