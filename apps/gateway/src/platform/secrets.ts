import { hkdfSync } from 'node:crypto'
import type { TokenKeys } from './installation/token-keys.ts'

/** What all gateways of this installation share and keep to themselves. None of it has a default or reaches a log. */
export interface Secrets {
  /** 32 bytes that keys for single purposes are derived from, by `deriveKey`. It is never replaced. */
  rootKey: Uint8Array
  /** The keys of access tokens, which the operator replaces now and then. */
  tokenKeys: TokenKeys
  /** Names this installation towards engines that it shares with others; not secret, but as lasting. */
  installationId: string
}

const DERIVED_KEY_BYTES = 32

/**
 * A key for one purpose, from a key that all gateways have: all of them derive the same, and none tells another.
 * @param key The installation's root key, or one of the operator's.
 * @param purpose Words of its own for each use.
 * @returns 32 bytes.
 */
export function deriveKey(key: Uint8Array, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', purpose, DERIVED_KEY_BYTES))
}
