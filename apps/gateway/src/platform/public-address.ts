import ipaddr from 'ipaddr.js'

/** All that is handed out of IPv6 so far (RFC 4291, 2.4). */
const GLOBAL_V6 = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Whether an address is one of the public internet: not of this computer, a private network, a link (where clouds
 * answer for their machines' secrets), a provider's inside, a group, a tunnel or a reserved range. IPv6 addresses that
 * hold an IPv4 one are judged by what they hold, or refused.
 * @param address IPv4 or IPv6 without brackets, as a resolver gives it.
 */
export function isPublicAddress(address: string): boolean {
  // A zone belongs to a link.
  if (address.includes('%') || !ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  if (parsed.range() !== 'unicast') return false
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_V6)
}

/** Whether an address is this computer's own. */
export function isLoopbackAddress(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback'
}
