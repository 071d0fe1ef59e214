import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'

interface HostOptions {
  /** The address that customers use, or null when none is set. */
  publicUrl: string | null
  /** The interface that the gateway listens on. */
  bindHost: string
  /** Names at which brands are shown. */
  brandHosts: readonly string[]
}

/** Host headers seen lately; there are few good ones. */
const CACHED_MAX = 200

/** What proxies add about the one they speak for. */
const PROXY_HEADERS = ['forwarded', 'x-forwarded-for', 'x-real-ip'] as const

/**
 * Makes the check of the Host header, which keeps a page of a foreign domain whose name was turned to our address
 * (DNS rebinding) from speaking to the console's origin.
 *
 * The console answers for the public address, for the hosts of brands and for loopback names. Where it listens beyond
 * loopback and no public address is set, it also answers for bare IP addresses: a name is what rebinding needs.
 * @returns Whether the console answers for this `Host`.
 */
export function createHostCheck({
  publicUrl,
  bindHost,
  brandHosts,
}: HostOptions): (host: string | undefined) => boolean {
  const names = new Set(['localhost', '127.0.0.1', '[::1]', ...brandHosts])
  if (publicUrl) names.add(new URL(publicUrl).hostname)
  const anyIp = !publicUrl && !isLoopback(bindHost)
  if (!isLoopback(bindHost) && !isAnyAddress(bindHost)) names.add(bindHost.toLowerCase())
  const known = new Map<string, boolean>()
  return host => {
    if (host === undefined) return false
    const cached = known.get(host)
    if (cached !== undefined) return cached
    const name = hostName(host)
    const ok = name !== null && (names.has(name) || (anyIp && isIP(name.replace(/^\[|\]$/g, '')) !== 0))
    if (known.size >= CACHED_MAX) known.clear()
    known.set(host, ok)
    return ok
  }
}

/**
 * The name in a Host header, without the port.
 * @returns Lower case; null when the header is no host.
 */
function hostName(host: string): string | null {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i.exec(host)
  return match?.[1]?.toLowerCase() ?? null
}

/** Whether an interface name or address is this computer's own. */
export function isLoopback(host: string): boolean {
  return (
    host === 'localhost' ||
    host === '::1' ||
    host === '[::1]' ||
    /^127(\.\d{1,3}){3}$/.test(host) ||
    /^::ffff:127(\.\d{1,3}){3}$/.test(host)
  )
}

/**
 * Whether only people at this computer are meant to use the gateway: then what is for them alone may be shown.
 * A public address means that others come through something in front, which may run right here.
 */
export function servesThisComputerOnly(place: { host: string; publicUrl: string | null }): boolean {
  return place.publicUrl === null && isLoopback(place.host)
}

/** Whether a request says that a proxy passes it on; then its sender is not who it was made by. */
export function wasForwarded(headers: IncomingHttpHeaders): boolean {
  return PROXY_HEADERS.some(name => headers[name] !== undefined)
}

/** Whether an interface stands for every address of this computer. */
export function isAnyAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::' || host === ''
}
