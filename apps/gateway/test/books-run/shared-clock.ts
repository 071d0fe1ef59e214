import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import type { Clock } from '../../src/platform/clock.ts'

const BYTES = 8

/** A clock that several processes share: it moves for all of them at the same moment. */
export interface SharedClock extends Clock {
  /** Moves it on by so many seconds. */
  advance(seconds: number): void
  close(): void
}

/**
 * Opens the clock of a file, which holds by how much it is ahead of the computer's.
 * @param file Made where there is none, by the first who opens it.
 */
export function openSharedClock(file: string): SharedClock {
  const held = openSync(file, 'a+')
  closeSync(held)
  const fd = openSync(file, 'r+')
  const bytes = Buffer.alloc(BYTES)
  const aheadMs = () => (readSync(fd, bytes, 0, BYTES, 0) === BYTES ? bytes.readDoubleLE() : 0)
  return {
    now: () => new Date(Date.now() + aheadMs()),
    advance(seconds) {
      bytes.writeDoubleLE(aheadMs() + seconds * 1_000)
      writeSync(fd, bytes, 0, BYTES, 0)
    },
    close: () => closeSync(fd),
  }
}
