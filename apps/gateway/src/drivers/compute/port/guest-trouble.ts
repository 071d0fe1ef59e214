import { inOneLine } from './guest-words.ts'
import type { GuestTrouble } from './machines.ts'

/** Where in a machine's report its trouble stands: behind how its command ended. */
export const TROUBLE_OFFSET_BYTES = 128
/** The longest trouble that is read. */
export const TROUBLE_BYTES_MAX = 512

const DETAIL_CHARS_MAX = 300
const TROUBLE = /^(guest_silent|guest_unprepared) ([^\n]*)\n/

/**
 * Reads what is amiss in a machine, by what it says itself.
 * @param report What stands where it is reported: whatever its customer likes.
 * @returns Null where that is nothing of sense.
 */
export function readGuestTrouble(report: string): GuestTrouble | null {
  const [, code, words = ''] = TROUBLE.exec(report) ?? []
  if (code === undefined) return null
  return { code: code as GuestTrouble['code'], detail: inOneLine(words, DETAIL_CHARS_MAX) }
}
