import type { Logger } from 'pino'
import { createLoop } from '../../platform/loop.ts'
import type { DiskRoom } from './sandbox/disk-room.ts'

/** A disk takes a few GB a second at most, and what is kept free is at least one. */
const LOOK_MS = 1_000
/**
 * What of the room must go after one was stopped until the next is: what a stopped machine stored stays there until it is
 * removed, and those who write nothing more have no part in it.
 */
const SPENT_BYTES = 64 * 1024 ** 2
const SPENT_FILES = 10_000

/** A machine that runs, and what it takes of the disk. */
export interface DiskTaker {
  id: string
  /** In any unit, the same for all; endless where it cannot be counted. */
  taken: number
  /** What it was given; 0 is taken for 1. */
  diskGb: number
}

type Room = Pick<DiskRoom, 'isShort' | 'left' | 'leftBytes' | 'leftFiles'>

export interface DiskWatchDeps {
  log: Logger
  room(): Promise<Room>
  /** All machines that run. Asked only when room is short. */
  takers(): Promise<DiskTaker[]>
  /** Ends a machine at once, so that it is known why. */
  stop(id: string): Promise<void>
}

/**
 * Keeps machines from filling a disk that they share with others: where too little is left, the machine that takes most
 * of what it was given is stopped; another one only where the room goes on shrinking. Where it is short from the
 * beginning on, as for a gateway that comes back, the first look stops nobody.
 */
export function watchDisk(deps: DiskWatchDeps) {
  const { log } = deps
  /** The room as it was when one was stopped, or was seen first; while there is enough, the last look. */
  let before: Room | null = null

  async function look(): Promise<void> {
    const room = await deps.room()
    const { isShort, left } = room
    if (!isShort || !before) {
      before = room
      return
    }
    if (before.isShort && !isSpent(before, room)) return
    const [first, ...others] = await deps.takers()
    if (!first) return log.error({ left }, 'the disk is nearly full, and no machine is running on it')
    const worst = others.reduce((most, one) => (shareOf(one) > shareOf(most) ? one : most), first)
    log.error(
      { machine: worst.id, left },
      'the disk is nearly full: the machine that takes most of it is stopped',
    )
    await deps.stop(worst.id)
    before = await deps.room()
  }

  const loop = createLoop({
    name: 'disk-watch',
    pauseMs: LOOK_MS,
    atOnce: true,
    mayEnd: true,
    log,
    run: look,
  })
  loop.start()
  return { close: loop.stop }
}

function isSpent(before: Room, now: Room): boolean {
  return before.leftBytes - now.leftBytes >= SPENT_BYTES || before.leftFiles - now.leftFiles >= SPENT_FILES
}

const shareOf = ({ taken, diskGb }: DiskTaker) => taken / (diskGb || 1)
