import type { IncomingMessage } from 'node:http'
import ipaddr from 'ipaddr.js'

/** More hops than any real way has; what stands before them nobody of ours has written. */
const HOPS_MAX = 16

/** Whose word is taken for where a request comes from. */
export interface Proxies {
  /** Whether an address is one of them. */
  has(address: string): boolean
  /**
   * The address of who made a request: that of the connection, or what the proxies say behind which it is. What stands
   * before their own words anybody may have written, and does not count.
   */
  senderOf(request: Pick<IncomingMessage, 'headers' | 'socket'>): string
}

/** @param networks Addresses and networks, as `BERTH_TRUSTED_PROXIES` takes them. */
export function createProxies(networks: readonly string[]): Proxies {
  const known = networks.map(networkOf)

  function has(address: string): boolean {
    if (known.length === 0 || !ipaddr.isValid(address)) return false
    const parsed = ipaddr.process(address)
    return known.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits))
  }

  return {
    has,
    senderOf({ headers, socket }) {
      const said = String(headers['x-forwarded-for'] ?? '').split(',')
      let address = socket.remoteAddress ?? ''
      for (const hop of said.slice(-HOPS_MAX).reverse()) {
        const before = hop.trim()
        if (!has(address) || !ipaddr.isValid(before)) break
        address = before
      }
      return address
    },
  }
}

type Network = ReturnType<typeof ipaddr.parseCIDR>

function networkOf(text: string): Network {
  if (text.includes('/')) return ipaddr.parseCIDR(text)
  const address = ipaddr.process(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}
