import { asTranslated, DENIED_4, DENIED_6, isOfSix } from '../denied-networks.ts'

/** What a machine may send in a second, and be sent. */
export const NETWORK_RATE_MIB_PER_S = 64
/** What may pass at once beyond that, after a pause. */
const NETWORK_BURST_MIB = 16
/** Conversations by datagrams that a machine may have at a time; the kernel keeps some 150 bytes for each. */
const ASKED_MAX = 4_096
/** As long as the helper keeps a machine's socket for datagrams. */
const ASKED_KEPT_MINUTES = 4

/**
 * The helper's end of a machine's network: addresses for documentation, which should be nobody's.
 * IPv6 is slirp4netns' own choice.
 */
export const INNER_NETWORK = { ipv4: '198.51.100.0/24', ipv6: 'fd00::/64' }
/** Where a machine asks for names; the helper asks its computer's own name server. */
export const INNER_NAME_SERVERS = { ipv4: '198.51.100.3', ipv6: 'fd00::3' }

/**
 * The rules of one machine's own network, for `nft -f`. What is not asked for does not come in; what goes out is TCP or
 * a datagram, and goes neither to this computer nor to a private network. They are put before the machine begins, by
 * root of a user namespace that the machine is not in.
 * @param opened Addresses and networks that machines may reach all the same.
 * @param local What is this computer's own.
 */
export function networkRules(opened: readonly string[], local: readonly string[]): string {
  const rate = `limit rate over ${NETWORK_RATE_MIB_PER_S} mbytes/second burst ${NETWORK_BURST_MIB} mbytes drop`
  return `
table inet berth {
${Object.entries(listsOf(opened, local)).map(namedList).join('\n')}
${askedList(4)}
${askedList(6)}
  chain come {
    type filter hook input priority 0; policy drop;
    iifname "lo" accept
    ${rate}
    tcp flags & (syn | ack) != syn accept
    udp dport . ip saddr . udp sport @asked4 accept
    udp dport . ip6 saddr . udp sport @asked6 accept
    icmp type { destination-unreachable, time-exceeded, parameter-problem } accept
    icmpv6 type { destination-unreachable, packet-too-big, time-exceeded, parameter-problem } accept
    icmpv6 type { nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert } accept
  }
  chain go {
    type filter hook output priority 0; policy drop;
    oifname "lo" accept
    ${rate}
    icmpv6 type { nd-router-solicit, nd-neighbor-solicit, nd-neighbor-advert } accept
    ip daddr ${INNER_NAME_SERVERS.ipv4} th dport 53 goto pass
    ip6 daddr ${INNER_NAME_SERVERS.ipv6} th dport 53 goto pass
    ip daddr ${INNER_NETWORK.ipv4} goto refuse
    ip6 daddr ${INNER_NETWORK.ipv6} goto refuse
    ip daddr @opened4 goto pass
    ip6 daddr @opened6 goto pass
    ip daddr @local4 goto refuse
    ip6 daddr @local6 goto refuse
    ip daddr @denied4 goto refuse
    ip6 daddr @denied6 goto refuse
    goto pass
  }
  chain pass {
    meta l4proto tcp accept
    update @asked4 { udp sport . ip daddr . udp dport } accept
    update @asked6 { udp sport . ip6 daddr . udp dport } accept
    goto refuse
  }
  chain refuse {
    reject with icmpx admin-prohibited
  }
}
`
}

/** What brings the rules of a machine up to date where this computer got other addresses, for `nft -f`. */
export function localRules(local: readonly string[]): string {
  const { local4, local6 } = listsOf([], local)
  return Object.entries({ local4, local6 })
    .map(([name, networks]) =>
      [
        `flush set inet berth ${name}`,
        networks.length === 0 ? '' : `add element inet berth ${name} { ${networks.join(', ')} }`,
      ].join('\n'),
    )
    .join('\n')
}

function listsOf(opened: readonly string[], local: readonly string[]) {
  const four = local.filter(network => !isOfSix(network))
  return {
    opened4: opened.filter(network => !isOfSix(network)),
    opened6: opened.filter(isOfSix),
    local4: four,
    local6: [...local.filter(isOfSix), ...four.map(asTranslated)],
    denied4: DENIED_4,
    denied6: DENIED_6,
  }
}

function namedList([name, networks]: [string, readonly string[]]): string {
  const type = name.endsWith('4') ? 'ipv4_addr' : 'ipv6_addr'
  const elements = networks.length === 0 ? '' : `elements = { ${networks.join(', ')} }`
  return `  set ${name} { type ${type}; flags interval; auto-merge; ${elements} }`
}

/** Whom a machine has sent datagrams to, by its own port: they and nobody else may answer. Where it is full, none go. */
function askedList(family: 4 | 6): string {
  const type = `inet_service . ipv${family}_addr . inet_service`
  return `  set asked${family} { type ${type}; size ${ASKED_MAX}; flags dynamic, timeout; timeout ${ASKED_KEPT_MINUTES}m; }`
}
