import { readFile } from 'node:fs/promises'

/** What the kernel takes for this computer itself. */
export interface LocalAddresses {
  /** Addresses and networks, such as `192.0.2.1/32`, in an order that stays while nothing changes. */
  networks: string[]
  /** Whether there is a way to the internet by IPv6. */
  reaches_ipv6: boolean
}

/** Flags of a route, as in Linux' `ipv6_route.h` and `route.h`. */
const RTF_LOCAL = 0x80000000
const RTF_ANYCAST = 0x00100000
const RTF_REJECT = 0x0200

/**
 * Asks the kernel for every address that is this computer's own. Its routes say more than its interfaces do: also what
 * is bound to none of them, and what is sent to all on a link.
 */
export async function readLocalAddresses(): Promise<LocalAddresses> {
  const [four, six] = await Promise.all(
    // A kernel without IPv6 has no such file.
    ['fib_trie', 'ipv6_route'].map(name => readFile(`/proc/self/net/${name}`, 'utf8').catch(() => '')),
  )
  const routes = parseIpv6Routes(six ?? '')
  const networks = [
    ...parseFibTrie(four ?? ''),
    ...routes.filter(({ flags }) => (flags & (RTF_LOCAL | RTF_ANYCAST)) !== 0).map(({ network }) => network),
  ]
  const reaches_ipv6 = routes.some(
    ({ network, flags, device }) =>
      network.endsWith('/0') && device !== 'lo' && (flags & (RTF_LOCAL | RTF_REJECT)) === 0,
  )
  return { networks: [...new Set(networks)].sort(), reaches_ipv6 }
}

/** Each address stands on a line of its own, and what it is on those that follow. */
function parseFibTrie(text: string): string[] {
  const found: string[] = []
  let address = ''
  for (const line of text.split('\n')) {
    address = /\|-- ([0-9.]+)/.exec(line)?.[1] ?? address
    const length = /\/(\d+) \S+ (?:LOCAL|BROADCAST)/.exec(line)?.[1]
    if (length !== undefined) found.push(`${address}/${length}`)
  }
  return found
}

function parseIpv6Routes(text: string): { network: string; flags: number; device: string }[] {
  return text.split('\n').flatMap(line => {
    const fields = line.trim().split(/\s+/)
    const [address = '', length = ''] = fields
    if (!/^[0-9a-f]{32}$/.test(address)) return []
    const groups = address.match(/.{4}/g) ?? []
    return {
      network: `${groups.join(':')}/${Number.parseInt(length, 16)}`,
      flags: Number.parseInt(fields[8] ?? '', 16),
      device: fields[9] ?? '',
    }
  })
}
