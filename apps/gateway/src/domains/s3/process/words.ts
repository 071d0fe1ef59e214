import type { AddressInfo } from 'node:net'
import type { KnownKey, KnownVolume } from '../gateway-side.ts'

/** What the process is to do. */
export interface Orders {
  host: string
  port: number
  hostName: string | null
  trustedProxies: readonly string[]
  hops: HopSockets
}

/** Sockets in a folder that nobody else may enter. */
export interface HopSockets {
  /** Where the process asks for another gateway: `HOP_HEAD_BYTES` first, then a request as it came. */
  asks: string
  /** Where it is asked by others: requests that a gateway took here, which go no further. */
  asked: string
}

/** Ids of the gateway that is asked, and of the customer who asks: a UUID each, as text. */
export const HOP_HEAD_BYTES = 2 * 36

/** What the gateway tells the process. */
export type ToProcess =
  | { tells: 'orders'; orders: Orders }
  | { tells: 'key'; id: number; key: KnownKey | null }
  | { tells: 'volume'; id: number; volume: KnownVolume | null }
  /** The question could not be answered. */
  | { tells: 'fault'; id: number; why: string }
  | { tells: 'keys_changed' }
  /** Null: any may have. */
  | { tells: 'volume_changed'; volumeId: string | null }
  /** Leftovers in these folders of volumes are to be removed. */
  | { tells: 'sweep'; paths: readonly string[] }
  /** What is under way then goes on; the process ends with it. */
  | { tells: 'leave' }

/** What the process tells the gateway. */
export type FromProcess =
  | { says: 'find_key'; id: number; asked: { accessKeyId: string; date: string; region: string } }
  | { says: 'find_volume'; id: number; asked: { userId: string; volumeId: string } }
  | { says: 'used'; accessKeyId: string; from: string }
  | { says: 'listening'; address: AddressInfo }
  | { says: 'deaf'; code: string; message: string }
  | { says: 'log'; level: 'warn' | 'error'; about: Record<string, unknown>; text: string }
