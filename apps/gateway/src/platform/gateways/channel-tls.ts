import { constants } from 'node:crypto'
import type { SecureContextOptions } from 'node:tls'
import { deriveKey } from '../secrets.ts'

/**
 * TLS with a key that both sides hold and no certificates: each proves to the other that it knows the key, what is
 * recorded is of no use later, neither to read nor to send again. Node offers pre-shared keys up to TLS 1.2 only.
 */
export const CHANNEL_TLS = {
  ciphers: 'ECDHE-PSK-CHACHA20-POLY1305',
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.2',
  secureOptions: constants.SSL_OP_NO_TICKET,
} as const satisfies SecureContextOptions

/**
 * The key for one gateway: who was meant to be reached is part of what is proven.
 * @param key The installation's key for its gateways.
 */
export function keyTowards(key: Uint8Array, gatewayId: string): Buffer {
  return deriveKey(key, `berth gateway ${gatewayId}`)
}

/** How soon a peer that vanished without a word is noticed where nothing is sent. */
export const KEEP_ALIVE_MS = 10_000
