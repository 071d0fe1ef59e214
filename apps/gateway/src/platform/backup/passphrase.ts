import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { BadBackup, type SealedByPassphrase } from './backup-format.ts'

const CIPHER = 'aes-256-gcm'
const TAG_BYTES = 16
const KEY_BYTES = 32
/** Some 64 MB and a tenth of a second for each guess. */
const COST = { N: 2 ** 16, r: 8, p: 1, maxmem: 128 * 2 ** 20 }

const derive = promisify<string, Buffer, number, typeof COST, Buffer>(scrypt)

/** Seals a key such that only who knows the passphrase opens it. */
export async function sealByPassphrase(secret: Uint8Array, passphrase: string): Promise<SealedByPassphrase> {
  const salt = randomBytes(16)
  const nonce = randomBytes(12)
  const cipher = createCipheriv(CIPHER, await derive(passphrase, salt, KEY_BYTES, COST), nonce, {
    authTagLength: TAG_BYTES,
  })
  const box = Buffer.concat([cipher.update(secret), cipher.final(), cipher.getAuthTag()])
  return {
    salt: salt.toString('base64url'),
    nonce: nonce.toString('base64url'),
    box: box.toString('base64url'),
  }
}

/** @throws BadBackup where it is another passphrase. */
export async function openByPassphrase(sealed: SealedByPassphrase, passphrase: string): Promise<Buffer> {
  const [salt, nonce, box] = [sealed.salt, sealed.nonce, sealed.box].map(text =>
    Buffer.from(text, 'base64url'),
  )
  if (!salt || !nonce || !box || box.length < TAG_BYTES) throw new BadBackup('The backup’s key is damaged.')
  const decipher = createDecipheriv(CIPHER, await derive(passphrase, salt, KEY_BYTES, COST), nonce, {
    authTagLength: TAG_BYTES,
  })
  decipher.setAuthTag(box.subarray(-TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(box.subarray(0, -TAG_BYTES)), decipher.final()])
  } catch {
    throw new BadBackup('That passphrase does not open the backup’s key.')
  }
}
