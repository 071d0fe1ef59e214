import type { Socket } from 'node:net'
import type { Clock } from '../clock.ts'
import { countedAddress } from './counted-address.ts'
import { createProxies, type Proxies } from './proxies.ts'

/** Connections that have not said yet what they want, and how many of them there may be. */
export interface WaitingSockets {
  /** A connection is new, or begins a request that takes a while to come. */
  add(socket: Socket): void
  /** Its request has come, or it is closed. */
  remove(socket: Socket): void
}

/** An office with hundreds of browsers, each with a connection in stock, shares one address. */
const PER_ADDRESS_MAX = 200
/** Of all addresses together: each holds some 20 kB here, and a descriptor. */
const ALL_MAX = 5_000
/** Whoever connects many times at once has that long to say what for. */
const GRACE_MS = 2_000

interface Waiting {
  from: string
  sinceMs: number
}

/**
 * Makes the count of connections that wait. Above what one address, or all, may have, those that have been silent longest
 * are cut: so whoever is at the same address and does say something gets through.
 * @param options `trustedProxies` are networks that hold connections for others, and are not counted by address.
 */
export function createWaitingSockets(options: {
  clock: Clock
  trustedProxies: readonly string[]
}): WaitingSockets {
  const proxies = createProxies(options.trustedProxies)
  /** In the order in which they came, as are those of each address. */
  const all = new Map<Socket, Waiting>()
  const byAddress = new Map<string, Set<Socket>>()
  let isLooking = false

  function remove(socket: Socket): void {
    const known = all.get(socket)
    if (!known) return
    all.delete(socket)
    const beside = byAddress.get(known.from)
    beside?.delete(socket)
    if (beside?.size === 0) byAddress.delete(known.from)
  }

  function cut(sockets: Iterable<Socket>, count: number): void {
    const before = options.clock.now().getTime() - GRACE_MS
    let left = count
    for (const socket of sockets) {
      if (left-- <= 0 || (all.get(socket)?.sinceMs ?? 0) > before) return
      socket.destroy()
      remove(socket)
    }
  }

  function look(): void {
    isLooking = false
    for (const [from, sockets] of byAddress) {
      if (from !== '') cut(sockets, sockets.size - PER_ADDRESS_MAX)
    }
    cut(all.keys(), all.size - ALL_MAX)
  }

  return {
    add(socket) {
      if (all.has(socket)) return
      const from = addressOf(socket, proxies)
      const beside = byAddress.get(from) ?? new Set()
      byAddress.set(from, beside.add(socket))
      all.set(socket, { from, sinceMs: options.clock.now().getTime() })
      const isOver = (from !== '' && beside.size > PER_ADDRESS_MAX) || all.size > ALL_MAX
      if (!isOver || isLooking) return
      isLooking = true
      // First what has arrived is read: a busy gateway may be behind, not they.
      setImmediate(look)
    },
    remove,
  }
}

/** Empty for proxies and for connections that are over already: neither is anybody's own. */
function addressOf({ remoteAddress }: Socket, proxies: Proxies): string {
  return remoteAddress === undefined || proxies.has(remoteAddress) ? '' : countedAddress(remoteAddress)
}
