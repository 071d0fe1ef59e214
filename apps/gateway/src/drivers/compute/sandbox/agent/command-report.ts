import { writeSync } from 'node:fs'

/** Longer than any report, so that each is written over the one before in one go. */
const REPORT_CHARS = 32

/**
 * Says where the gateway looks for it how the machine's command ended.
 * @param fd The file for it, open.
 */
export function reportCommandEnd(
  fd: number,
  { code, count, againS }: { code: number; count: number; againS: number | null },
): void {
  try {
    writeSync(fd, `${code} ${count} ${againS ?? '-'}`.padEnd(REPORT_CHARS), 0)
  } catch {
    // A full disk, or a machine of the version before, which has no such file: nobody hears how it ended.
  }
}
