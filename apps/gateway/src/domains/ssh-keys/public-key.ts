import { createHash, createPublicKey } from 'node:crypto'
import type { FieldRule } from '@berth/contract/errors'
import { SSH_RSA_BITS_MIN } from '@berth/contract/limits'
import { holdsPrivateKey } from '@berth/contract/private-key'
import { readWire, WireError, type WireReader } from './wire-reader.ts'

/** A public key as a customer's line says it, checked. */
export interface PublicKey {
  type: string
  /** Bits of an RSA key; null for the types whose name says how long they are. */
  bits: number | null
  /** `SHA256:` and 43 characters of base64. */
  fingerprint: string
  /** Empty where the line has none. */
  comment: string
  /** Type, key and comment with one space between. */
  line: string
}

/** Which rule a text breaks that is no key that we take. */
export class PublicKeyFault extends Error {
  readonly rule: FieldRule

  constructor(rule: FieldRule) {
    super(rule)
    this.name = 'PublicKeyFault'
    this.rule = rule
  }
}

/** Comments are `user@host`, at times an e-mail address or a sentence. */
export const COMMENT_CHARS_MAX = 255
/** What OpenSSH takes; longer ones only cost whoever checks them. */
const RSA_BITS_MAX = 16_384
/** Of a security key, such as `ssh:`. */
const APPLICATION_CHARS_MAX = 255
const ED25519_BYTES = 32

/** The curves by the name in the key, with the name that JSON Web Keys have for them and the bytes of a coordinate. */
const CURVES = {
  nistp256: { jwk: 'P-256', bytes: 32 },
  nistp384: { jwk: 'P-384', bytes: 48 },
  nistp521: { jwk: 'P-521', bytes: 66 },
} as const
type Curve = keyof typeof CURVES

/** The types that are taken; each reads what follows its name, and gives the bits where they differ. */
const TYPES: Readonly<Record<string, (wire: WireReader) => number | null>> = {
  'ssh-ed25519': readEd25519,
  'ecdsa-sha2-nistp256': wire => readEcdsa(wire, 'nistp256'),
  'ecdsa-sha2-nistp384': wire => readEcdsa(wire, 'nistp384'),
  'ecdsa-sha2-nistp521': wire => readEcdsa(wire, 'nistp521'),
  'ssh-rsa': readRsa,
  'sk-ssh-ed25519@openssh.com': wire => readSecurityKey(wire, readEd25519),
  'sk-ecdsa-sha2-nistp256@openssh.com': wire => readSecurityKey(wire, one => readEcdsa(one, 'nistp256')),
}

/** A type that is not taken: dss, certificates, and what is to come. */
const TYPE_NAME = /^(ssh|ecdsa|sk|rsa|webauthn)-[a-z0-9@.-]+$/
/** Type, base64, and whatever else stands in the line. */
const LINE = /^(\S+)[ \t]+([A-Za-z0-9+/]+={0,2})(?:[ \t]+(.*))?$/s
/** Control characters, line ends of Unicode, and marks that turn the direction of a text around. */
const UNSHOWABLE = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

/**
 * Reads a public key in OpenSSH's form of one line. Strict: the name inside the key is the one before it, nothing
 * is missing and nothing left over, points lie on their curve, and there are no options before the type.
 * @param text The line, without space around it.
 * @throws PublicKeyFault with the rule that it breaks. The text is in no message.
 */
export function parsePublicKey(text: string): PublicKey {
  if (holdsPrivateKey(text)) throw new PublicKeyFault('ssh_key_private')
  const [, type = '', base64 = '', rest = ''] = LINE.exec(text) ?? []
  const read = Object.hasOwn(TYPES, type) ? TYPES[type] : undefined
  if (!read) throw new PublicKeyFault(TYPE_NAME.test(type) ? 'ssh_key_type' : 'ssh_key')
  const comment = rest.trim()
  if (UNSHOWABLE.test(comment)) throw new PublicKeyFault('ssh_key')
  if (comment.length > COMMENT_CHARS_MAX) throw new PublicKeyFault('too_long')
  const blob = Buffer.from(base64, 'base64')
  if (blob.toString('base64') !== base64) throw new PublicKeyFault('ssh_key')
  return {
    type,
    bits: readBlob(blob, type, read),
    fingerprint: fingerprintOf(blob),
    comment,
    line: comment === '' ? `${type} ${base64}` : `${type} ${base64} ${comment}`,
  }
}

function readBlob(blob: Buffer, type: string, read: (wire: WireReader) => number | null): number | null {
  const wire = readWire(blob)
  try {
    check(wire.text() === type)
    const bits = read(wire)
    check(wire.isDone())
    return bits
  } catch (error) {
    if (error instanceof WireError) throw new PublicKeyFault('ssh_key')
    throw error
  }
}

function readEd25519(wire: WireReader): null {
  check(wire.bytes().length === ED25519_BYTES)
  return null
}

function readEcdsa(wire: WireReader, curve: Curve): null {
  check(wire.text() === curve)
  const { jwk, bytes } = CURVES[curve]
  const point = wire.bytes()
  // 4 stands before a point with both coordinates; the shorter forms are not allowed in SSH keys.
  check(point.length === 1 + 2 * bytes && point[0] === 4)
  const x = point.subarray(1, 1 + bytes).toString('base64url')
  const y = point.subarray(1 + bytes).toString('base64url')
  try {
    createPublicKey({ key: { kty: 'EC', crv: jwk, x, y }, format: 'jwk' })
  } catch {
    throw new WireError('the point is not on the curve')
  }
  return null
}

function readRsa(wire: WireReader): number {
  const exponent = wire.positive()
  const modulus = wire.positive()
  check(wire.isDone())
  const bits = bitsOf(modulus)
  if (bits < SSH_RSA_BITS_MIN) throw new PublicKeyFault('ssh_key_weak')
  check(bits <= RSA_BITS_MAX && isOdd(modulus))
  check(isOdd(exponent) && bitsOf(exponent) > 1 && exponent.length < modulus.length)
  return bits
}

function readSecurityKey(wire: WireReader, read: (wire: WireReader) => null): null {
  read(wire)
  const application = wire.text()
  check(application.length > 0 && application.length <= APPLICATION_CHARS_MAX)
  return null
}

function check(isRight: boolean): void {
  if (!isRight) throw new WireError('a field is not as its type wants it')
}

function bitsOf(number: Buffer): number {
  return number.length * 8 - Math.clz32(number[0] ?? 0) + 24
}

function isOdd(number: Buffer): boolean {
  return ((number.at(-1) ?? 0) & 1) === 1
}

/** A key's fingerprint, as `ssh-keygen -l` prints it. @param blob The key as SSH sends it. */
export function fingerprintOf(blob: Buffer): string {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`
}
