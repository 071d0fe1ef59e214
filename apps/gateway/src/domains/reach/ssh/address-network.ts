import { isIPv6 } from 'node:net'

const IPV6_PARTS = 8
const NETWORK_PARTS = 4

/** What an address is counted as: an IPv4 address by itself, an IPv6 customer's whole network (/64) as one. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i.exec(address)
  if (mapped) return mapped[1] ?? address
  if (!isIPv6(address)) return address
  const [head = '', tail = ''] = address.split('%')[0]?.split('::') ?? []
  const before = head.split(':').filter(part => part !== '')
  const after = tail.split(':').filter(part => part !== '')
  const zeros = Array.from({ length: Math.max(0, IPV6_PARTS - before.length - after.length) }, () => '0')
  return `${[...before, ...zeros, ...after].slice(0, NETWORK_PARTS).join(':')}::/64`
}
