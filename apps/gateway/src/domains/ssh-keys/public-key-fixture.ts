import { generateKeyPairSync, type JsonWebKey } from 'node:crypto'

/** One field of a key: its length, then its bytes. */
export function field(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}

/** A line of that type from fields; the name inside is the type unless told otherwise. */
export function lineOf(type: string, fields: (string | Buffer)[], inside = type): string {
  const blob = Buffer.concat([inside, ...fields].map(field))
  return `${type} ${blob.toString('base64')}`
}

/** A positive number as its field holds it: with a zero before it where the first bit is set. */
export function positive(number: Buffer): Buffer {
  return (number[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), number]) : number
}

/** The 32 bytes of a new ed25519 key. */
export function ed25519Bytes(): Buffer {
  return part(generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }), 'x')
}

/** The uncompressed point of a new key on that curve. */
export function ecPoint(namedCurve: 'P-256' | 'P-384' | 'P-521'): Buffer {
  const jwk = generateKeyPairSync('ec', { namedCurve }).publicKey.export({ format: 'jwk' })
  return Buffer.concat([Buffer.of(4), part(jwk, 'x'), part(jwk, 'y')])
}

/** Exponent and modulus of a new RSA key, as their fields hold them. */
export function rsaFields(modulusLength: number): [Buffer, Buffer] {
  const jwk = generateKeyPairSync('rsa', { modulusLength }).publicKey.export({ format: 'jwk' })
  return [positive(part(jwk, 'e')), positive(part(jwk, 'n'))]
}

/** A line of each type that is taken, without a comment. */
export function oneOfEach(): Record<string, string> {
  const p256 = ecPoint('P-256')
  const lines: [string, (string | Buffer)[]][] = [
    ['ssh-ed25519', [ed25519Bytes()]],
    ['ecdsa-sha2-nistp256', ['nistp256', p256]],
    ['ecdsa-sha2-nistp384', ['nistp384', ecPoint('P-384')]],
    ['ecdsa-sha2-nistp521', ['nistp521', ecPoint('P-521')]],
    ['ssh-rsa', rsaFields(2_048)],
    ['sk-ssh-ed25519@openssh.com', [ed25519Bytes(), 'ssh:']],
    ['sk-ecdsa-sha2-nistp256@openssh.com', ['nistp256', p256, 'ssh:']],
  ]
  return Object.fromEntries(lines.map(([type, fields]) => [type, lineOf(type, fields)]))
}

function part(jwk: JsonWebKey, name: 'x' | 'y' | 'n' | 'e'): Buffer {
  return Buffer.from(jwk[name] ?? '', 'base64url')
}
