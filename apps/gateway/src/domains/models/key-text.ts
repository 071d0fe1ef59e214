import { crc32 } from 'node:zlib'
import type { Ids } from '../../platform/ids.ts'

/** What our keys begin with, so that people and scanners of secrets know them. */
const MARK = 'bk-'
/** 232 bits are beyond guessing, and with the checksum the text has no characters to spare. */
const SECRET_BYTES = 29
const CHECKSUM_BYTES = 4
const KEY = /^bk-[A-Za-z0-9_-]{44}$/
/** Tells keys apart in a list, and leaves 196 bits unknown. */
const PREFIX_CHARS = MARK.length + 6

/** A new key: `bk-` and 44 characters of base64url, the last of which are a checksum of the others. */
export function makeKeyText(ids: Pick<Ids, 'secret'>): string {
  const secret = Buffer.from(ids.secret(SECRET_BYTES), 'base64url')
  return MARK + Buffer.concat([secret, checksumOf(secret)]).toString('base64url')
}

/**
 * Whether a text can be one of our keys. A mistyped one cannot, so it costs no look at the database.
 * @param text Anything.
 */
export function isKeyText(text: string): boolean {
  if (!KEY.test(text)) return false
  const bytes = Buffer.from(text.slice(MARK.length), 'base64url')
  return checksumOf(bytes.subarray(0, SECRET_BYTES)).equals(bytes.subarray(SECRET_BYTES))
}

/** The characters of a key that may be shown. */
export function prefixOf(key: string): string {
  return key.slice(0, PREFIX_CHARS)
}

function checksumOf(secret: Buffer): Buffer {
  const checksum = Buffer.alloc(CHECKSUM_BYTES)
  checksum.writeUInt32BE(crc32(secret))
  return checksum
}
