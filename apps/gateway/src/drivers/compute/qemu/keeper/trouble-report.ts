import { writeSync } from 'node:fs'

/** Where the gateway looks, behind how the command ended: see `port/guest-trouble.ts`. */
const OFFSET_BYTES = 128
const FIELD_BYTES = 512
/** Between the two are blanks: the other one is read as a line of text. */
const BEFORE_BYTES = 32

/**
 * Says where the gateway looks for it what is amiss in the guest, or that nothing is any more.
 * @param fd The file for it, open.
 * @param trouble A code and, in one line, words.
 */
export function reportTrouble(fd: number, trouble: { code: string; words: string } | null): void {
  const field = Buffer.alloc(FIELD_BYTES, ' ')
  if (trouble) field.write(`${trouble.code} ${trouble.words}`.slice(0, FIELD_BYTES / 4))
  field.write('\n', FIELD_BYTES - 1)
  try {
    writeSync(
      fd,
      Buffer.alloc(OFFSET_BYTES - BEFORE_BYTES, ' '),
      0,
      OFFSET_BYTES - BEFORE_BYTES,
      BEFORE_BYTES,
    )
    writeSync(fd, field, 0, FIELD_BYTES, OFFSET_BYTES)
  } catch {
    // A full disk: nobody hears of it.
  }
}
