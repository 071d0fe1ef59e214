import { createCipheriv, createDecipheriv } from 'node:crypto'
import type { Ids } from './ids.ts'
import { deriveKey } from './secrets.ts'

/** A secret as it is kept: of no use without the key, and at any other place than its own. */
export interface Sealed {
  /** Nonce, ciphertext and tag. */
  box: Buffer
  /** Names the key; tells nothing about it. */
  keyId: string
}

/** Seals what must be read again, such as a password that is sent on to somebody else. */
export interface Sealer {
  /** Names the key that is sealed under now. */
  readonly keyId: string
  /**
   * @param text The secret.
   * @param place What it belongs to, such as the ids of its row and its customer: it opens only with the same.
   */
  seal(text: string, place: readonly string[]): Sealed
  /** @throws Error where the key is not known, or the box is damaged or stood at another place. */
  open(sealed: Sealed, place: readonly string[]): string
  /** Whether the key of that name is known. */
  knows(keyId: string): boolean
}

const CIPHER = 'aes-256-gcm'
/** The length that GCM is made for. At random, 2^32 of them under one key are safe. */
const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_ID_BYTES = 8

/**
 * A sealer by AES-256-GCM.
 * @param options.keys The first seals, all of them open: 32 bytes each, from the operator or the installation.
 * @param options.purpose Words of its own for each use: a box of one use does not open in another.
 */
export function createSealer({
  keys,
  purpose,
  ids,
}: {
  keys: readonly [Uint8Array, ...Uint8Array[]]
  purpose: string
  ids: Pick<Ids, 'secret'>
}): Sealer {
  const known = new Map<string, Buffer>()
  for (const key of keys) known.set(keyIdOf(key, purpose), deriveKey(key, purpose))
  const keyId = keyIdOf(keys[0], purpose)

  function keyOf(id: string): Buffer {
    const key = known.get(id)
    if (!key) throw new Error(`The key ${id} that a secret is sealed under is not set.`)
    return key
  }

  return {
    keyId,
    seal(text, place) {
      const nonce = Buffer.from(ids.secret(NONCE_BYTES), 'base64url')
      const cipher = createCipheriv(CIPHER, keyOf(keyId), nonce, { authTagLength: TAG_BYTES })
      cipher.setAAD(bytesOf(place))
      const box = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return { box, keyId }
    },
    open({ box, keyId: id }, place) {
      const key = keyOf(id)
      const nonce = box.subarray(0, NONCE_BYTES)
      const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(bytesOf(place))
      decipher.setAuthTag(box.subarray(-TAG_BYTES))
      const text = decipher.update(box.subarray(NONCE_BYTES, -TAG_BYTES))
      return Buffer.concat([text, decipher.final()]).toString('utf8')
    },
    knows: id => known.has(id),
  }
}

function keyIdOf(key: Uint8Array, purpose: string): string {
  return deriveKey(key, `${purpose}: name of the key`).subarray(0, KEY_ID_BYTES).toString('hex')
}

/** No two places have the same bytes, whatever their parts hold. */
function bytesOf(place: readonly string[]): Buffer {
  return Buffer.from(JSON.stringify(place))
}
