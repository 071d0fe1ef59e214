import { createHash } from 'node:crypto'

/**
 * The SHA-256 of a text, or of bytes.
 * @param text Any text, which is hashed as UTF-8, or bytes as they are.
 * @param more What follows on it; long bytes are not copied for that.
 * @returns 64 lower-case hexadecimal digits.
 */
export function sha256Hex(text: string | Uint8Array, more: string | Uint8Array = ''): string {
  return createHash('sha256').update(text).update(more).digest('hex')
}
