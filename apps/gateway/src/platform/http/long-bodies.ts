import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { ApiError } from './api-error.ts'

/** Shorter ones are read of anybody. */
const SHORT_BYTES_MAX = 1_000_000
/** What a gateway holds of long bodies at a time, and what it holds of one customer's. */
const BYTES_MAX = 512_000_000
const BYTES_EACH_MAX = 128_000_000

/** @returns How long a body will be at the most, where that is long; null for a short one. */
export function longBytes(headers: IncomingHttpHeaders, bodyBytesMax: number): number | null {
  // What comes in pieces does not say how long it is.
  const bytes = 'transfer-encoding' in headers ? bodyBytesMax : Number(headers['content-length'] ?? 0)
  return bytes > SHORT_BYTES_MAX ? Math.min(bytes, bodyBytesMax) : null
}

/**
 * Bounds the memory of bodies that are read whole: before one is read, room for it is taken, and given back once it is
 * answered.
 */
export function createLongBodies(limits = { bytesMax: BYTES_MAX, bytesEachMax: BYTES_EACH_MAX }) {
  const held = new Map<string, number>()
  let all = 0

  return {
    /**
     * @param who Whose body it is.
     * @param response By which it is answered.
     * @throws ApiError `too_many_requests` where there is no room.
     */
    take(who: string, bytes: number, response: ServerResponse): void {
      // Who has left is not read any more, and would never give it back.
      if (response.closed || response.destroyed) return
      const own = (held.get(who) ?? 0) + bytes
      if (own > limits.bytesEachMax || all + bytes > limits.bytesMax) {
        throw new ApiError('too_many_requests', { values: { seconds: 1 } })
      }
      held.set(who, own)
      all += bytes
      response.once('close', () => {
        const left = (held.get(who) ?? 0) - bytes
        if (left > 0) held.set(who, left)
        else held.delete(who)
        all -= bytes
      })
    },
  }
}
export type LongBodies = ReturnType<typeof createLongBodies>
