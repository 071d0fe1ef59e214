import { createHash } from 'node:crypto'
import { isIPv6 } from 'node:net'

/**
 * Where no machine may go by itself. Addresses of the engine's own computer are denied besides, whatever they are; the
 * metadata services of clouds are among these (169.254.169.254, fd00:ec2::254, 100.100.100.200), but for Azure's.
 */
const DENIED_4 = [
  ...['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', '169.254.0.0/16', '168.63.129.16/32'],
  // This network, loopback, protocols, measurements, multicast and what is kept for later.
  ...['0.0.0.0/8', '127.0.0.0/8', '192.0.0.0/24', '198.18.0.0/15', '224.0.0.0/4', '240.0.0.0/4'],
]
const DENIED_6 = [
  ...['::/127', 'fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8'],
  // Ways to an IPv4 address within one of IPv6: mapped, 6to4, Teredo, and a translator of the network's own.
  ...['::ffff:0:0/96', '2002::/16', '2001::/32', '64:ff9b:1::/48'],
  ...DENIED_4.map(translated),
]

/** What the filter of one cloud's network is made of. */
export interface EgressRules {
  /** The chain, which no other cloud on the engine has. */
  chain: string
  /**
   * Lines for `iptables-restore` and `ip6tables-restore`: before and after those for the engine's name servers, which
   * are known where the engine is.
   */
  ipv4: { head: string; tail: string }
  ipv6: { head: string; tail: string }
}

/**
 * The rules for what machines send. They stand where a packet has come in and nobody has decided yet where it goes, so
 * that one list holds for the engine's computer as for what lies behind it, and before Docker turns a published port
 * into another machine's. Answers of a machine pass: whoever asked has been let in.
 * @param cloudId Whose network it is.
 * @param opened Addresses and networks that machines may reach all the same.
 */
export function egressRules(cloudId: string, opened: readonly string[]): EgressRules {
  const chain = `BERTH-${createHash('sha256').update(cloudId).digest('hex').slice(0, 16)}`
  const add = (rule: string) => `-A ${chain} ${rule}`
  const family = (before: string[], denied: string[], open: string[]) => ({
    head: [
      '*mangle',
      `:${chain} - [0:0]`,
      add('-m conntrack --ctstate RELATED,ESTABLISHED --ctdir REPLY -j RETURN'),
      ...before.map(add),
      ...open.map(network => add(`-d ${network} -j RETURN`)),
    ].join('\n'),
    tail: [
      add('-m addrtype --dst-type LOCAL -j DROP'),
      ...denied.map(network => add(`-d ${network} -j DROP`)),
      'COMMIT',
    ].join('\n'),
  })
  // How neighbours on a link find each other's hardware addresses, which IPv4 does beside IP.
  const neighbours = ['neighbour-solicitation', 'neighbour-advertisement'].map(
    type => `-p icmpv6 --icmpv6-type ${type} -j RETURN`,
  )
  const isSix = (network: string) => isIPv6(network.split('/')[0] ?? '')
  return {
    chain,
    ipv4: family(
      [],
      DENIED_4,
      opened.filter(network => !isSix(network)),
    ),
    ipv6: family(neighbours, DENIED_6, opened.filter(isSix)),
  }
}

/** An IPv4 network as a translator (NAT64) on the way makes it reachable by IPv6. */
function translated(network: string): string {
  const [address = '', length = '32'] = network.split('/')
  return `64:ff9b::${address}/${96 + Number(length)}`
}
