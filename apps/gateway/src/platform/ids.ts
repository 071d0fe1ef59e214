import { randomBytes, randomInt } from 'node:crypto'
import { type Clock, systemClock } from './clock.ts'

/** The one source of ids and randomness; everything else is handed one. */
export interface Ids {
  /** A UUID of version 7: sorts by the time at which it was made. */
  uuid(): string
  /** An instance's id: `i-` and seven characters that are not mistaken for each other. */
  instanceId(): string
  /** A network volume's id: `v-` and as many of them. */
  volumeId(): string
  /** A snapshot's id: `s-` and as many of them. */
  snapshotId(): string
  /** An image's id: `im-` and as many of them. */
  imageId(): string
  /** So many characters by chance that are not mistaken for each other. */
  readable(chars: number): string
  /** A secret of that many random bytes, as base64url. */
  secret(bytes: number): string
  /** A secret that fits a DNS label: 20 lower-case letters and digits. */
  hostSecret(): string
}

/** Without `i`, `l`, `o`, `0` and `1`. */
const READABLE = 'abcdefghjkmnpqrstuvwxyz23456789'
const HOST = 'abcdefghijklmnopqrstuvwxyz0123456789'
const READABLE_ID_CHARS = 7
/** 20 of 36 characters are 103 bits. */
const HOST_SECRET_CHARS = 20

/**
 * Ids from the system's randomness.
 * @param clock Gives the time part of UUIDs.
 */
export function createIds(clock: Clock): Ids {
  return {
    uuid: createUuidSource(clock),
    instanceId: () => `i-${pick(READABLE, READABLE_ID_CHARS)}`,
    volumeId: () => `v-${pick(READABLE, READABLE_ID_CHARS)}`,
    snapshotId: () => `s-${pick(READABLE, READABLE_ID_CHARS)}`,
    imageId: () => `im-${pick(READABLE, READABLE_ID_CHARS)}`,
    readable: chars => pick(READABLE, chars),
    secret: bytes => randomBytes(bytes).toString('base64url'),
    hostSecret: () => pick(HOST, HOST_SECRET_CHARS),
  }
}

/** Ids of this process. */
export const systemIds: Ids = createIds(systemClock)

const VOLUME_ID = new RegExp(`^[vs]-[${READABLE}]{${READABLE_ID_CHARS}}$`)
/** Whether a text is an id of a network volume or of a snapshot, as those are made here. */
export const isVolumeId = (text: string): boolean => VOLUME_ID.test(text)

/** RFC 9562, method 1: twelve bits count within a millisecond, so that ids of one process always grow. */
function createUuidSource(clock: Clock): () => string {
  let lastMs = 0
  let counter = 0
  return () => {
    const nowMs = clock.now().getTime()
    if (nowMs > lastMs) {
      lastMs = nowMs
      counter = randomInt(0x400)
    } else if (++counter > 0xfff) {
      // More than the counter holds, or a clock that stands: borrow from the next millisecond.
      lastMs++
      counter = 0
    }
    const bytes = randomBytes(16)
    bytes.writeUIntBE(lastMs, 0, 6)
    bytes.writeUInt16BE(0x7000 | counter, 6)
    bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8)
    const hex = bytes.toString('hex')
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
  }
}

function pick(alphabet: string, count: number): string {
  return Array.from({ length: count }, () => alphabet[randomInt(alphabet.length)]).join('')
}
