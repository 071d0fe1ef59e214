import { createHash } from 'node:crypto'

/**
 * The SHA-256 of a text.
 * @param text Any text; it is hashed as UTF-8.
 * @returns 64 lower-case hexadecimal digits.
 */
export function sha256Hex(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
