import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '../clock.ts'
import { type Brand, brandHostNames } from '../config/brands.ts'
import { createHostCheck } from './hosts.ts'
import { dispatchUpgrade, refuseUpgrade, type Upgrade } from './upgrades.ts'
import { createWaitingSockets, type WaitingSockets } from './waiting-sockets.ts'

/** Origins of customers' HTTP services; their requests never reach the console's server. */
export interface ServiceOrigin<Target = unknown> {
  /** Null when this host is no service's. */
  match(host: string | undefined): Target | null
  request(target: Target, request: IncomingMessage, response: ServerResponse): void
  upgrade(target: Target, request: IncomingMessage, socket: Duplex, head: Buffer): void
}

export interface FrontDoorOptions {
  clock: Clock
  /** The address that customers use; null when none is set. */
  publicUrl: string | null
  bindHost: string
  /** Networks of proxies whose forwarding headers are believed. */
  trustedProxies: string[]
  /** What each host shows; one of them is for all others. */
  brands: readonly Brand[]
  upgrades?: Upgrade[]
  serviceOrigin?: ServiceOrigin
  /** Tests hand in a shorter one than `STALLED_MS`. */
  stalledMs?: number
}

/** Header lines must have come by then, and a whole body by then: a megabyte in a minute is a slow line. */
const HEADERS_TIMEOUT_MS = 20_000
const BODY_TIMEOUT_MS = 60_000
/** How often it is looked who is over the first of these. */
const HEADERS_LOOK_MS = 5_000
/** Longer than load balancers keep theirs, so that it is not we who close under a request. */
const KEEP_ALIVE_MS = 75_000
/**
 * A connection on which a request is under way and no byte passes for so long is cut: whoever asks and does not read would
 * hold it, and the answer, for ever. Longer than any call takes, or waits for a machine.
 */
const STALLED_MS = 180_000

/** What no page of ours asks a browser for: a script that found its way in, or a frame, is not to ask either. */
const FEATURES_OFF = [
  'accelerometer',
  'camera',
  'display-capture',
  'encrypted-media',
  'geolocation',
  'gyroscope',
  'hid',
  'idle-detection',
  'magnetometer',
  'microphone',
  'midi',
  'payment',
  'screen-wake-lock',
  'serial',
  'usb',
  'xr-spatial-tracking',
]

/** On whatever the console's origin answers, whoever makes the answer, and on our own pages at other origins. */
export const HEADERS_EVERYWHERE = {
  'x-content-type-options': 'nosniff',
  'permissions-policy': FEATURES_OFF.map(feature => `${feature}=()`).join(', '),
} as const

/**
 * Makes the first look at every request: one that names no single host is refused, services' hosts go their own way,
 * foreign hosts are turned away, the rest is the console's.
 * @param handler What answers the console's requests.
 * @param upgraded Is kept filled with the connections that became WebSockets.
 */
export function createFrontDoor(
  options: FrontDoorOptions,
  handler: (request: IncomingMessage, response: ServerResponse) => void,
  upgraded: Set<Duplex>,
): Server {
  const { serviceOrigin, upgrades = [], stalledMs = STALLED_MS } = options
  const isConsole = createHostCheck({ ...options, brandHosts: brandHostNames(options.brands) })
  const waiting = createWaitingSockets(options)
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: HEADERS_LOOK_MS,
      // Services of instances take uploads that last; the console's own bodies have a limit below.
      requestTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    (request, response) => {
      const { host } = request.headers
      if (namesSeveralHosts(request)) return refuse(response, 400, 'A request names one host.')
      if (isConsole(host)) {
        awaitBody(request, waiting)
        request.socket.setTimeout(stalledMs)
        for (const [name, value] of Object.entries(HEADERS_EVERYWHERE)) response.setHeader(name, value)
        return handler(request, response)
      }
      const target = serviceOrigin?.match(host) ?? null
      if (target === null) return refuse(response, 421, FOREIGN_HOST)
      waiting.remove(request.socket)
      // What a service takes its time for is its own business.
      request.socket.setTimeout(0)
      serviceOrigin?.request(target, request, response)
    },
  )
  server.on('connection', socket => {
    waiting.add(socket)
    socket.once('close', () => waiting.remove(socket))
  })
  server.on('upgrade', (request, socket, head) => {
    waiting.remove(request.socket)
    request.socket.setTimeout(0)
    upgraded.add(socket)
    socket.once('close', () => upgraded.delete(socket))
    const { host } = request.headers
    if (namesSeveralHosts(request)) return refuseUpgrade(socket, '400 Bad Request')
    if (isConsole(host)) return dispatchUpgrade(upgrades, request, socket, head)
    const target = serviceOrigin?.match(host) ?? null
    if (target !== null) return serviceOrigin?.upgrade(target, request, socket, head)
    refuseUpgrade(socket, '421 Misdirected Request')
  })
  return server
}

/** Node keeps the first of several hosts, where a proxy in front may have gone by another. */
function namesSeveralHosts({ rawHeaders }: IncomingMessage): boolean {
  let count = 0
  // Names and values take turns.
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]?.toLowerCase() === 'host') count++
  return count > 1
}

/** A body that trickles in would hold its connection for ever, whatever the method that it comes with. */
function awaitBody(request: IncomingMessage, waiting: WaitingSockets): void {
  const { headers, socket } = request
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) {
    waiting.remove(socket)
    return
  }
  waiting.add(socket)
  const timer = setTimeout(() => request.destroy(), BODY_TIMEOUT_MS)
  request.once('end', () => waiting.remove(socket))
  request.once('close', () => {
    waiting.remove(socket)
    clearTimeout(timer)
  })
}

const FOREIGN_HOST = 'Berth does not answer to this host name. Its operator can set BERTH_PUBLIC_URL to it.'

function refuse(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    ...HEADERS_EVERYWHERE,
    'content-type': 'text/plain; charset=utf-8',
    connection: 'close',
  })
  response.end(`${text}\n`)
}
