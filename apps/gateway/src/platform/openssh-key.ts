import { createPublicKey, type KeyObject } from 'node:crypto'
import { tokenKeyOf } from './installation/token-keys.ts'

/** A key of SSH in both of its halves, each as files of OpenSSH hold it. */
export interface SshKeyPair {
  private: string
  /** One line of type and base64, without a comment. */
  public: string
}

const TYPE = 'ssh-ed25519'
const CHECK_BYTES = 8
const BLOCK_BYTES = 8
const LINE_CHARS = 70

/**
 * An Ed25519 key from its seed.
 * @param seed 32 bytes.
 */
export function ed25519Pair(seed: Uint8Array): SshKeyPair {
  const key = tokenKeyOf(seed).privateKey
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' })
  return { private: openSshForm(key), public: `${TYPE} ${publicBlob(x).toString('base64')}` }
}

/** OpenSSH's own form of an Ed25519 key without a passphrase, which is the one that it and its like read. */
export function openSshForm(privateKey: KeyObject): string {
  const { x = '', d = '' } = privateKey.export({ format: 'jwk' })
  const point = Buffer.from(x, 'base64url')
  const none = Buffer.from('none')
  const secret = Buffer.concat([
    Buffer.alloc(CHECK_BYTES),
    field(Buffer.from(TYPE)),
    field(point),
    field(Buffer.concat([Buffer.from(d, 'base64url'), point])),
    field(Buffer.alloc(0)),
  ])
  const padding = Buffer.from(
    Array.from({ length: -secret.length & (BLOCK_BYTES - 1) }, (_, index) => index + 1),
  )
  const one = Buffer.from([0, 0, 0, 1])
  const all = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    field(none),
    field(none),
    field(Buffer.alloc(0)),
    one,
    field(publicBlob(x)),
    field(Buffer.concat([secret, padding])),
  ])
  const lines = all.toString('base64').match(new RegExp(`.{1,${LINE_CHARS}}`, 'g')) ?? []
  return `-----BEGIN OPENSSH PRIVATE KEY-----\n${lines.join('\n')}\n-----END OPENSSH PRIVATE KEY-----\n`
}

/** The public half as SSH sends it. */
function publicBlob(x: string): Buffer {
  return Buffer.concat([field(Buffer.from(TYPE)), field(Buffer.from(x, 'base64url'))])
}

/** Bytes behind their length (RFC 4251, 5). */
function field(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}
