import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'

/** A key that access tokens are signed with. */
export interface TokenKey {
  /** Names it in a token; made from its public half. */
  id: string
  privateKey: KeyObject
  publicKey: KeyObject
}

/** The keys of access tokens: one signs, and one that was replaced is believed as long as its tokens last. */
export interface TokenKeys {
  signing(): TokenKey
  /**
   * Keys that a token may be signed with.
   * @param id The token's; left out by tokens of a version before, which any key of then may have signed.
   * @returns None when no key by that name is good.
   */
  verifying(id: string | undefined): Promise<TokenKey[]>
  /** Calls back when a key was replaced or is believed no more: what was checked before is to be checked again. */
  onChange(heard: () => void): void
}

/** RFC 8410: what stands before the 32 bytes of an Ed25519 private key in PKCS #8. */
const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex')
const ID_CHARS = 16

/**
 * A token key from its seed.
 * @param seed 32 bytes.
 */
export function tokenKeyOf(seed: Uint8Array): TokenKey {
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8_ED25519, seed]),
    format: 'der',
    type: 'pkcs8',
  })
  const publicKey = createPublicKey(privateKey)
  const der = publicKey.export({ format: 'der', type: 'spki' })
  return { id: createHash('sha256').update(der).digest('hex').slice(0, ID_CHARS), privateKey, publicKey }
}

/** Keys of which none is ever replaced: one signs. */
export function fixedTokenKeys(seed: Uint8Array): TokenKeys {
  const key = tokenKeyOf(seed)
  return {
    signing: () => key,
    verifying: async id => (id === undefined || id === key.id ? [key] : []),
    onChange() {},
  }
}
