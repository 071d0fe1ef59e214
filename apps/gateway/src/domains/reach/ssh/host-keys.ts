import { createHash, createPrivateKey, type KeyObject } from 'node:crypto'
import ssh2 from 'ssh2'
import { tokenKeyOf } from '../../../platform/installation/token-keys.ts'
import { openSshForm } from '../../../platform/openssh-key.ts'
import { deriveKey } from '../../../platform/secrets.ts'

/** A key by which the SSH server is known. */
export interface HostKey {
  type: string
  /** `SHA256:` and 43 characters of base64, as `ssh-keygen -l` prints it. */
  fingerprint: string
  /** The private key, as the library reads it. */
  text: string
}

const PURPOSE = 'berth ssh host key'
/** The order of P-256's base point. */
const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
const P256_BYTES = 32
/** PKCS #8 has the curve and, in SEC 1, the number alone: the point is made from it. */
const PKCS8_P256 = Buffer.from(
  '3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420',
  'hex',
)

/**
 * The server's keys: Ed25519, and P-256 for clients that may use no other. All gateways make the same ones from the
 * installation's root key, which is sealed in the database, so they survive restarts and stand nowhere else.
 * @param rootKey 32 bytes.
 */
export function createHostKeys(rootKey: Uint8Array): HostKey[] {
  const ed25519 = tokenKeyOf(deriveKey(rootKey, `${PURPOSE} ed25519`)).privateKey
  return [hostKeyOf(openSshForm(ed25519)), hostKeyOf(sec1Form(p256Of(rootKey)))]
}

function hostKeyOf(text: string): HostKey {
  const key = ssh2.utils.parseKey(text)
  if (key instanceof Error) throw key
  const digest = createHash('sha256').update(key.getPublicSSH()).digest('base64')
  return { type: key.type, fingerprint: `SHA256:${digest.replace(/=+$/, '')}`, text }
}

/** A number of 64 bytes brought below the order: no value is noticeably likelier than another. */
function p256Of(rootKey: Uint8Array): KeyObject {
  const parts = ['high', 'low'].map(part => deriveKey(rootKey, `${PURPOSE} p256 ${part}`))
  const wide = BigInt(`0x${Buffer.concat(parts).toString('hex')}`)
  const scalar = (wide % (P256_ORDER - 1n)) + 1n
  const bytes = Buffer.from(scalar.toString(16).padStart(2 * P256_BYTES, '0'), 'hex')
  return createPrivateKey({ key: Buffer.concat([PKCS8_P256, bytes]), format: 'der', type: 'pkcs8' })
}

function sec1Form(key: KeyObject): string {
  return String(key.export({ format: 'pem', type: 'sec1' })).trim()
}
