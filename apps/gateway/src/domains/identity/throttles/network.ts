import { isIPv4, isIPv6 } from 'node:net'

/** Groups of an IPv6 address that name the network: a customer is given a /64 and may use all of it. */
const IPV6_NETWORK_GROUPS = 4
const IPV6_GROUPS = 8

/**
 * The network that an address stands for when attempts are counted: an IPv4 address itself, an IPv6 /64.
 * @param address As the server says it; IPv4 mapped into IPv6 counts as IPv4.
 */
export function networkOf(address: string): string {
  const plain = plainAddress(address)
  if (!isIPv6(plain)) return plain
  const [head = '', tail] = plain.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  // A dotted end stands for two groups.
  const afterCount = after.length + (after.at(-1)?.includes('.') ? 1 : 0)
  const zeros = tail === undefined ? 0 : Math.max(0, IPV6_GROUPS - before.length - afterCount)
  return [...before, ...Array<string>(zeros).fill('0'), ...after]
    .slice(0, IPV6_NETWORK_GROUPS)
    .map(group => Number.parseInt(group, 16).toString(16))
    .join(':')
}

/**
 * Whether an address is this machine's own.
 * @param address An IP address.
 */
export function isLoopback(address: string): boolean {
  const plain = plainAddress(address)
  return plain === '::1' || (isIPv4(plain) && plain.startsWith('127.'))
}

/**
 * Whether a caller reached the gateway by a name of this machine. A page of another site whose name was pointed
 * at this machine, or a proxy on it, comes with another host.
 * @param origin Scheme, host and port that the caller used.
 */
export function isLoopbackOrigin(origin: string): boolean {
  if (!URL.canParse(origin)) return false
  const host = new URL(origin).hostname.replace(/^\[|\]$/g, '')
  return host === 'localhost' || host.endsWith('.localhost') || isLoopback(host)
}

/** Without the zone, and without the wrapping that a dual-stack socket gives to IPv4. */
function plainAddress(address: string): string {
  const lower = address.toLowerCase().replace(/%.*$/, '')
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(lower)
  return mapped?.[1] ?? lower
}
