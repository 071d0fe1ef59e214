import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto'
import { readWire, WireError } from './wire-reader.ts'

const ED25519 = 'sk-ssh-ed25519@openssh.com'
const COORDINATE_BYTES = 32
/** Behind a token's signature stand a byte of flags and a counter of four. */
const TAIL_BYTES = 5
/** The flag that says that somebody touched it. */
const TOUCHED = 0x01

/**
 * Whether a security key (FIDO) signed something, and was touched for it, as OpenSSH's servers want it too.
 * @param blob The public key as SSH sends it: one that is stored, so it was checked.
 * @param data What was to be signed.
 * @param signature What stands behind the name of its kind; whatever it holds.
 */
export function isSignedBySecurityKey(blob: Buffer, data: Buffer, signature: Buffer): boolean {
  const tail = signature.subarray(-TAIL_BYTES)
  if (signature.length <= TAIL_BYTES || ((tail[0] ?? 0) & TOUCHED) === 0) return false
  try {
    const wire = readWire(blob)
    const isEd25519 = wire.text() === ED25519
    if (!isEd25519) wire.text()
    const point = wire.bytes()
    // A token signs hashes of whom it signs for and of what, around its own words (U2F, raw messages).
    const said = Buffer.concat([sha256(wire.bytes()), tail, sha256(data)])
    const own = signature.subarray(0, -TAIL_BYTES)
    return isEd25519
      ? verify(null, said, ed25519Of(point), own)
      : verify('sha256', said, { key: p256Of(point), dsaEncoding: 'ieee-p1363' }, numbersOf(own))
  } catch (error) {
    if (error instanceof WireError) return false
    throw error
  }
}

function sha256(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest()
}

function ed25519Of(point: Buffer): KeyObject {
  return createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: point.toString('base64url') },
    format: 'jwk',
  })
}

/** Of an uncompressed point. */
function p256Of(point: Buffer): KeyObject {
  const x = point.subarray(1, 1 + COORDINATE_BYTES).toString('base64url')
  const y = point.subarray(1 + COORDINATE_BYTES).toString('base64url')
  return createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' })
}

/** The two numbers of a signature, each as long as a coordinate. */
function numbersOf(signature: Buffer): Buffer {
  const wire = readWire(signature)
  return Buffer.concat(
    [wire.positive(), wire.positive()].map(number => {
      if (number.length > COORDINATE_BYTES) throw new WireError('a number is too long')
      return Buffer.concat([Buffer.alloc(COORDINATE_BYTES - number.length), number])
    }),
  )
}
