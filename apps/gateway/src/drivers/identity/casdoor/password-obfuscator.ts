import { createCipheriv } from 'node:crypto'
import type { Ids } from '../../../platform/ids.ts'

/** What an organization may demand of the password in a login call. */
export interface Obfuscator {
  passwordObfuscatorType: string
  /** In hexadecimal. */
  passwordObfuscatorKey: string
}

/**
 * Wraps a password as the organization's setting demands: hexadecimal of a fresh IV and the CBC ciphertext. It hides
 * nothing from anybody who can ask for the application, since the key is public; but a login fails without it.
 * @param ids Makes the IV.
 * @throws Error for a kind that is not known, or a key that does not fit.
 */
export function obfuscatePassword(
  password: string,
  obfuscator: Obfuscator,
  ids: Pick<Ids, 'secret'>,
): string {
  const { passwordObfuscatorType: type, passwordObfuscatorKey } = obfuscator
  if (type === '' || type === 'Plain') return password
  const key = Buffer.from(passwordObfuscatorKey, 'hex')
  if (type === 'AES') return encrypt('aes-128-cbc', key, ids.secret(16), password)
  // Plain DES is gone from OpenSSL; its triple form with the same key three times is the same cipher.
  if (type === 'DES') return encrypt('des-ede3-cbc', Buffer.concat([key, key, key]), ids.secret(8), password)
  throw new Error(`Casdoor's organization has a password obfuscator of an unknown kind: ${type}`)
}

function encrypt(algorithm: string, key: Buffer, random: string, password: string): string {
  const iv = Buffer.from(random, 'base64url')
  const cipher = createCipheriv(algorithm, key, iv)
  return Buffer.concat([iv, cipher.update(password, 'utf8'), cipher.final()]).toString('hex')
}
