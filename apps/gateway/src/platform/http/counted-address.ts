import ipaddr from 'ipaddr.js'

/** An IPv6 customer has a whole network. */
const IPV6_NETWORK_BYTES = 8

/**
 * A network address as what comes from it is counted: of IPv6 its network.
 * @param address As a socket or a proxy says it; what is none stands for itself.
 */
export function countedAddress(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  const bytes = parsed.toByteArray()
  return (parsed.kind() === 'ipv4' ? bytes : bytes.slice(0, IPV6_NETWORK_BYTES)).join('.')
}
