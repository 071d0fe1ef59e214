import { createCipheriv, createDecipheriv } from 'node:crypto'
import type { Ids } from '../../../platform/ids.ts'
import { deriveKey } from '../../../platform/secrets.ts'

const ALGORITHM = 'aes-256-gcm'
/** Of AES-GCM: a nonce and a tag, in bytes. */
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Seals the tokens that an identity service gave, so that who reads the database cannot use them. A sealed token is
 * good for the session that it was sealed for alone.
 */
export function createTokenSeal(deps: { signingKey: Uint8Array; ids: Pick<Ids, 'secret'> }) {
  const key = deriveKey(deps.signingKey, 'berth identity source token')
  return {
    /** @returns Nonce, ciphertext and tag in base64url. */
    seal(token: string, sessionId: string): string {
      const nonce = Buffer.from(deps.ids.secret(NONCE_BYTES), 'base64url')
      const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(sessionId))
      const text = Buffer.concat([cipher.update(token, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, text, cipher.getAuthTag()]).toString('base64url')
    },

    /** @returns The token; null for what was sealed by another key, or for another session. */
    open(sealed: string, sessionId: string): string | null {
      const bytes = Buffer.from(sealed, 'base64url')
      const text = bytes.subarray(NONCE_BYTES, -TAG_BYTES)
      try {
        const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES))
          .setAAD(Buffer.from(sessionId))
          .setAuthTag(bytes.subarray(-TAG_BYTES))
        return Buffer.concat([decipher.update(text), decipher.final()]).toString('utf8')
      } catch {
        return null
      }
    },
  }
}
export type TokenSeal = ReturnType<typeof createTokenSeal>
