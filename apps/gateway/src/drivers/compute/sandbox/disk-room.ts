import { statfs } from 'node:fs/promises'

const MB = 1024 * 1024
const KEPT_SHARE = 0.05
const KEPT_MB_MIN = 1024
const KEPT_MB_MAX = 10 * 1024
/** Of all the files that a file system can hold; one that has no such number says 0. */
const KEPT_FILES_SHARE = 0.02

/** What is left on the disk that machines share with the gateway, and often with its database. */
export interface DiskRoom {
  /** Whether machines have used up all but what is kept for the gateway and its database. */
  isShort: boolean
  /** What images may still take of what is not kept, in bytes. */
  freeBytes: number
  /** What is kept, in bytes and in files. */
  kept: { bytes: number; files: number }
  /** All that is left, what is kept included; no files where the file system counts none. */
  leftBytes: number
  leftFiles: number
  /** In words for operators. */
  left: string
}

/**
 * Looks at the file system that a folder lies on.
 * @param keptFreeMb What machines are to leave free; left out: a twentieth of the disk, from 1 to 10 GB.
 */
export async function diskRoom(folder: string, keptFreeMb?: number): Promise<DiskRoom> {
  const { bsize, blocks, bavail, files, ffree } = await statfs(folder)
  const usual = Math.min(KEPT_MB_MAX, Math.max(KEPT_MB_MIN, (blocks * bsize * KEPT_SHARE) / MB))
  const freeMb = Math.floor((bavail * bsize) / MB)
  const keptMb = keptFreeMb ?? usual
  const kept = { bytes: keptMb * MB, files: files * KEPT_FILES_SHARE }
  const isShort = freeMb < keptMb || ffree < kept.files
  const freeBytes = Math.max(0, freeMb - keptMb) * MB
  const all = { leftBytes: bavail * bsize, leftFiles: ffree }
  return {
    isShort,
    freeBytes,
    kept,
    ...all,
    left: files > 0 ? `${freeMb} MB and ${ffree} files` : `${freeMb} MB`,
  }
}
