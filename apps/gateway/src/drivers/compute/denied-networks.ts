import { isIPv6 } from 'node:net'

/**
 * Where no machine may go by itself, whatever makes it. Addresses of the engine's own computer are denied besides; the
 * metadata services of clouds are among these (169.254.169.254, fd00:ec2::254, 100.100.100.200), but for Azure's.
 */
export const DENIED_4: readonly string[] = [
  ...['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', '169.254.0.0/16', '168.63.129.16/32'],
  // This network, loopback, protocols, measurements, multicast and what is kept for later.
  ...['0.0.0.0/8', '127.0.0.0/8', '192.0.0.0/24', '198.18.0.0/15', '224.0.0.0/4', '240.0.0.0/4'],
]

export const DENIED_6: readonly string[] = [
  ...['::/127', 'fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8'],
  // Ways to an IPv4 address within one of IPv6: mapped, 6to4, Teredo, and a translator of the network's own.
  ...['::ffff:0:0/96', '2002::/16', '2001::/32', '64:ff9b:1::/48'],
  ...DENIED_4.map(asTranslated),
]

/** An IPv4 network as a translator (NAT64) on the way makes it reachable by IPv6. */
export function asTranslated(network: string): string {
  const [address = '', length = '32'] = network.split('/')
  const bytes = Buffer.from(address.split('.').map(Number))
  // Dots within an IPv6 address are not understood by all that read these.
  return `64:ff9b::${bytes.toString('hex', 0, 2)}:${bytes.toString('hex', 2)}/${96 + Number(length)}`
}

/** Whether an address or network is one of IPv6. */
export function isOfSix(network: string): boolean {
  return isIPv6(network.split('/')[0] ?? '')
}
