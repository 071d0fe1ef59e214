import { promises as dns } from 'node:dns'
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP } from 'node:net'
import { isLoopbackAddress, isPublicAddress } from '../../platform/public-address.ts'

/** Why an address that somebody else chose was not asked, or gave no answer. */
export type OutboundFault = 'private' | 'insecure' | 'unreachable' | 'too_large'

export class OutboundError extends Error {
  readonly fault: OutboundFault

  constructor(fault: OutboundFault, cause?: unknown) {
    super(fault, { cause })
    this.name = 'OutboundError'
    this.fault = fault
  }
}

export interface OutboundAnswer {
  status: number
  /** Names in lower case; several of one name stand in one list. */
  headers: NodeJS.Dict<string[]>
  text: string
}

/** Asks addresses that customers choose, without becoming their way into the operator's network. */
export interface Outbound {
  /**
   * Sends a GET. Redirects are answers like any other. All addresses of the name are checked, and it is these that are
   * connected to: a name that leads elsewhere a moment later changes nothing.
   * @throws OutboundError.
   */
  get(
    url: URL,
    options: { authorization?: string; signal: AbortSignal; accept?: string; bytesMax?: number },
  ): Promise<OutboundAnswer>
  /**
   * Looks where a host leads, and asks it nothing.
   * @throws OutboundError `private` or `unreachable`.
   */
  requirePublic(host: string, signal: AbortSignal): Promise<void>
  /**
   * Where a host and port lead, for whoever connects to those addresses and no other.
   * @throws OutboundError `private` or `unreachable`.
   */
  addressesOf(host: string, port: number, signal: AbortSignal): Promise<string[]>
  /** Whether the operator says that a host, such as `localhost:5000`, may be private. */
  mayBePrivate(host: string): boolean
}

/** Names to addresses. The list may be empty, which is an answer too. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<string[]>

interface OutboundDeps {
  /** Hosts with or without a port that may be private; those on loopback may also speak plain HTTP. */
  privateHosts: readonly string[]
  /** Resolves the names of anybody. */
  resolve?: Resolve
  /** Resolves the names that the operator listed. */
  resolveListed?: Resolve
}

const HEADER_BYTES_MAX = 16_384
/** Tokens of registries have a few thousand characters. */
const BODY_BYTES_MAX = 65_536
/** One question to one name server. */
const DNS_TIMEOUT_MS = 2_500
const DNS_TRIES = 2

export function createOutbound({
  privateHosts,
  resolve = resolveByDns,
  resolveListed = resolveAsSystem,
}: OutboundDeps): Outbound {
  const listed = new Set(privateHosts)
  const isListed = (url: URL) => listed.has(url.hostname) || listed.has(`${url.hostname}:${portOf(url)}`)

  async function addressesOf(url: URL, signal: AbortSignal): Promise<string[]> {
    const name = url.hostname.replace(/^\[|\]$/g, '')
    if (isIP(name)) return [name]
    const resolveName = isListed(url) ? resolveListed : resolve
    const addresses = await Promise.race([resolveName(name, signal), abortOf(signal)]).catch(error => {
      throw new OutboundError('unreachable', error)
    })
    if (addresses.length === 0) throw new OutboundError('unreachable')
    return addresses
  }

  async function allowedAddressesOf(url: URL, signal: AbortSignal): Promise<string[]> {
    const addresses = await addressesOf(url, signal)
    if (!isListed(url) && !addresses.every(isPublicAddress)) throw new OutboundError('private')
    return addresses
  }

  return {
    async requirePublic(host, signal) {
      await allowedAddressesOf(new URL(`https://${host}/`), signal)
    },
    addressesOf: (host, port, signal) => allowedAddressesOf(new URL(`https://${host}:${port}/`), signal),
    async get(url, { authorization, signal, accept = 'application/json', bytesMax = BODY_BYTES_MAX }) {
      const addresses = await allowedAddressesOf(url, signal)
      const isSecure = url.protocol === 'https:'
      const maybePlain = url.protocol === 'http:' && isListed(url) && addresses.every(isLoopbackAddress)
      if (!isSecure && !maybePlain) throw new OutboundError('insecure')
      const options: RequestOptions = {
        signal,
        headers: {
          accept,
          'user-agent': 'berth',
          ...(authorization && { authorization }),
        },
        // A connection of its own: one that is kept may lead to an address that was checked for another.
        agent: false,
        maxHeaderSize: HEADER_BYTES_MAX,
        lookup: (_name, options, done) => {
          const all = addresses.map(address => ({ address, family: isIP(address) }))
          const [first] = all
          if (options.all) done(null, all)
          else done(null, first?.address ?? '', first?.family)
        },
      }
      return send(url, options, bytesMax)
    },
    mayBePrivate: host => listed.has(host) || listed.has(host.replace(/:\d+$/, '')),
  }
}

function send(url: URL, options: RequestOptions, bytesMax: number): Promise<OutboundAnswer> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) =>
      reject(error instanceof OutboundError ? error : new OutboundError('unreachable', error))
    let isAnswered = false
    const request = url.protocol === 'https:' ? httpsRequest : httpRequest
    request(url, options, response => {
      isAnswered = true
      readAnswer(response, bytesMax).then(resolve, fail)
    })
      .on('error', fail)
      // A connection that is closed, or would be turned into another protocol, ends without an error.
      .on('upgrade', (_response, socket) => socket.destroy())
      .on('close', () => isAnswered || fail(new Error('the connection was closed')))
      .end()
  })
}

async function readAnswer(response: IncomingMessage, bytesMax: number): Promise<OutboundAnswer> {
  const chunks: Buffer[] = []
  let size = 0
  // Leaving the loop by an error closes the connection.
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > bytesMax) throw new OutboundError('too_large')
    chunks.push(chunk)
  }
  return {
    status: response.statusCode ?? 0,
    headers: response.headersDistinct,
    text: Buffer.concat(chunks).toString('utf8'),
  }
}

/**
 * By name servers alone, not by this computer's own list of hosts, and without its thread pool: slow name servers of
 * strangers hold up nobody.
 */
async function resolveByDns(name: string, signal: AbortSignal): Promise<string[]> {
  const resolver = new dns.Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES })
  const stop = () => resolver.cancel()
  signal.addEventListener('abort', stop)
  try {
    const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    const addresses = found.flatMap(result => (result.status === 'fulfilled' ? result.value : []))
    if (addresses.length === 0 && found[0].status === 'rejected') throw found[0].reason
    return addresses
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function portOf(url: URL): string {
  return url.port || (url.protocol === 'https:' ? '443' : '80')
}

/** Rejects when the time is over. */
function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.throwIfAborted()
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

async function resolveAsSystem(name: string): Promise<string[]> {
  const found = await dns.lookup(name, { all: true })
  return found.map(({ address }) => address)
}
