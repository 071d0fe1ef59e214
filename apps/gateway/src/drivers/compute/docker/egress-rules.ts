import { createHash } from 'node:crypto'
import { DENIED_4, DENIED_6, isOfSix } from '../denied-networks.ts'

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
  const family = (before: string[], denied: readonly string[], open: readonly string[]) => ({
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
  return {
    chain,
    ipv4: family(
      [],
      DENIED_4,
      opened.filter(network => !isOfSix(network)),
    ),
    ipv6: family(neighbours, DENIED_6, opened.filter(isOfSix)),
  }
}
