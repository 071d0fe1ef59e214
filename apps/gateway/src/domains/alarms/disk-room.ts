import { statfs } from 'node:fs/promises'
import type { AlarmReading } from './alarms.ts'

/** Below both a disk counts as nearly full: a tenth of a large one is still much. */
const FREE_SHARE_MIN = 0.1
const FREE_BYTES_MIN = 20e9

/**
 * Looks how much room is left on the disks that folders lie on.
 * @param folders Of this computer; one that is not there is passed over, and two on one disk count once each.
 * @returns Which of them are nearly full.
 */
export async function disksLow(folders: readonly string[]): Promise<AlarmReading> {
  const looks = await Promise.all(folders.map(roomOf))
  const about = looks.filter(look => look !== null)
  return { value: about.length, about }
}

async function roomOf(folder: string): Promise<string | null> {
  const room = await statfs(folder).catch(() => null)
  if (room === null) return null
  const free = room.bavail * room.bsize
  const share = room.blocks === 0 ? 1 : room.bavail / room.blocks
  if (share >= FREE_SHARE_MIN || free >= FREE_BYTES_MIN) return null
  return `${folder}: ${(free / 1e9).toFixed(1)} GB left, ${Math.floor(share * 100)} % of its disk`
}
