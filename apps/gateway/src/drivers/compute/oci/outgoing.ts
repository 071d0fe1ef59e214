import { promises as dns } from 'node:dns'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP } from 'node:net'
import { isLoopbackAddress, isPublicAddress } from '../../../platform/public-address.ts'
import { OciFailure } from './oci-failure.ts'

/** Patience with registries. Tests have less. */
export interface Patience {
  /** Without a word for so long, a connection is given up. */
  silenceMs: number
  /** In each stretch of this length a body must bring so much, or it counts as broken off. */
  stretchMs: number
  stretchBytesMin: number
  /** Before what broke off is gone on with; each further pause is twice as long. */
  pauseMs: number
}

export const PATIENCE: Patience = {
  silenceMs: 30_000,
  stretchMs: 60_000,
  stretchBytesMin: 256 * 1024,
  pauseMs: 500,
}

const HEADER_BYTES_MAX = 16_384

/** By which Node tells that a certificate is not believed. */
const CERTIFICATE_CODES = /^(CERT_|ERR_TLS_CERT|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO_SELF_SIGNED)/

/** Whether somewhere that a registry sends to may be asked, by where it leads. */
export type MayVisit = (url: URL, addresses: readonly string[]) => boolean

/** By TLS, on the public internet: a registry must not be a way into the operator's network. */
export const mayVisitStranger: MayVisit = (url, addresses) =>
  url.protocol === 'https:' && addresses.every(isPublicAddress)

/** What the operator named: anywhere by TLS, on this computer also without. */
export const mayVisitNamed: MayVisit = (url, addresses) =>
  url.protocol === 'https:' || addresses.every(isLoopbackAddress)

/**
 * Sends a GET and gives the answer when its head is there. Redirects are answers like any other. The addresses that
 * were looked at are those that are connected to, whatever the name leads to a moment later.
 * @param options.ca Authorities that vouch for it in place of the public ones.
 * @throws OciFailure `unreachable`; `leads_astray` where it leads to what may not be visited.
 */
export async function get(
  url: URL,
  options: {
    headers: Record<string, string>
    may: MayVisit
    patience: Patience
    signal: AbortSignal
    ca?: string | null
  },
): Promise<IncomingMessage> {
  const addresses = await addressesOf(url)
  if (addresses.length === 0 || !options.may(url, addresses)) {
    throw new OciFailure('leads_astray', url.host)
  }
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown) => {
      const isStranger = CERTIFICATE_CODES.test((cause as NodeJS.ErrnoException).code ?? '')
      const detail = isStranger ? 'nobody who is trusted here vouches for its certificate' : undefined
      reject(new OciFailure('unreachable', detail, { cause }))
    }
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest
    const request = send(url, {
      headers: { 'user-agent': 'berth', ...options.headers },
      signal: options.signal,
      ...(options.ca && { ca: options.ca }),
      agent: false,
      maxHeaderSize: HEADER_BYTES_MAX,
      timeout: options.patience.silenceMs,
      lookup: (_name, { all }, done) => {
        const found = addresses.map(address => ({ address, family: isIP(address) }))
        const [first] = found
        if (all) done(null, found)
        else done(null, first?.address ?? '', first?.family)
      },
    })
    // The head, too, may come in drops.
    const head = setTimeout(() => request.destroy(new Error('silent')), options.patience.silenceMs)
    request.on('timeout', () => request.destroy(new Error('silent')))
    request.on('error', fail)
    request.on('upgrade', (_response, socket) => socket.destroy())
    request.on('close', () => {
      clearTimeout(head)
      fail(new Error('closed'))
    })
    request.on('response', response => {
      clearTimeout(head)
      resolve(response)
    })
    request.end()
  })
}

async function addressesOf(url: URL): Promise<string[]> {
  const name = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(name)) return [name]
  try {
    return (await dns.lookup(name, { all: true })).map(({ address }) => address)
  } catch (cause) {
    throw new OciFailure('unreachable', undefined, { cause })
  }
}

/**
 * The pieces of a body, as they come.
 * @throws OciFailure `unreachable` where it breaks off; `too_slow`; `too_large` beyond the limit.
 */
export async function* piecesOf(
  response: IncomingMessage,
  bytesMax: number,
  patience: Patience,
): AsyncGenerator<Buffer> {
  let bytes = 0
  let stretch = { until: Date.now() + patience.stretchMs, bytes: 0 }
  try {
    for await (const piece of response as AsyncIterable<Buffer>) {
      bytes += piece.length
      stretch.bytes += piece.length
      if (bytes > bytesMax) throw new OciFailure('too_large')
      if (Date.now() > stretch.until) {
        if (stretch.bytes < patience.stretchBytesMin) throw new OciFailure('too_slow')
        stretch = { until: Date.now() + patience.stretchMs, bytes: 0 }
      }
      yield piece
    }
  } catch (cause) {
    throw cause instanceof OciFailure ? cause : new OciFailure('unreachable', undefined, { cause })
  } finally {
    response.destroy()
  }
}

/** All of a body. */
export async function bodyOf(
  response: IncomingMessage,
  bytesMax: number,
  patience: Patience,
): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of piecesOf(response, bytesMax, patience)) pieces.push(piece)
  return Buffer.concat(pieces)
}
