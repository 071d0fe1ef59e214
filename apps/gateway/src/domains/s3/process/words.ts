import type { AddressInfo } from 'node:net'
import type { KnownKey } from '../gateway-side.ts'

/** What the process is to do. */
export interface Orders {
  host: string
  port: number
  hostName: string | null
  trustedProxies: readonly string[]
}

/** What the gateway tells the process. */
export type ToProcess =
  | { tells: 'orders'; orders: Orders }
  | { tells: 'key'; id: number; key: KnownKey | null }
  /** The question could not be answered. */
  | { tells: 'fault'; id: number; why: string }
  | { tells: 'keys_changed' }
  | { tells: 'stop' }

/** What the process tells the gateway. */
export type FromProcess =
  | { says: 'find_key'; id: number; asked: { accessKeyId: string; date: string; region: string } }
  | { says: 'used'; accessKeyId: string; from: string }
  | { says: 'listening'; address: AddressInfo }
  | { says: 'deaf'; code: string; message: string }
  | { says: 'log'; level: 'warn' | 'error'; about: Record<string, unknown>; text: string }
