import {
  type ClientRequest,
  type RequestOptions as HttpOptions,
  type IncomingMessage,
  request as requestUpstream,
  type ServerResponse,
} from 'node:http'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import { ComputeError } from '../../../drivers/compute/port/compute-error.ts'
import type { ServiceOrigin } from '../../../platform/http/front-door.ts'
import { createProxies, type Proxies } from '../../../platform/http/proxies.ts'
import { carry } from '../../../platform/streams/carry.ts'
import { joinStreams } from '../../../platform/streams/join-streams.ts'
import type { MachineWays } from '../machine-ways.ts'
import { requestHeaders, responseHeaders } from './service-headers.ts'
import { type RenderedPage, renderServicePage, type ServicePage } from './service-pages.ts'

/** What a service's host name says. */
export interface ServiceTarget {
  secret: string
  port: number
}

export interface ServiceProxyDeps {
  /** The name under which every service has its own, such as `localhost`. */
  serviceHost: string
  /** Under which customers see services: `https` where something in front of the gateway ends TLS. */
  scheme: 'http' | 'https'
  /** What stands in front of the gateway, and is believed about who asks. */
  trustedProxies: readonly string[]
  ways: Pick<MachineWays, 'connect'>
  instances: {
    findService(secret: string): Promise<{ instanceId: string; httpPorts: number[]; running: boolean } | null>
  }
  log: Pick<Logger, 'warn'>
  limits?: Partial<ServiceLimits>
}

export interface ServiceLimits {
  /** From the end of a request to the first byte of its answer: models may think for long. */
  answerMs: number
  /** From the request of a WebSocket to its answer: nobody thinks before saying yes or no. */
  upgradeAnswerMs: number
}

const SERVICE_LIMITS: ServiceLimits = {
  answerMs: 10 * 60_000,
  upgradeAnswerMs: 30_000,
}

/** Answers that only announce the answer: a service that says every ten seconds that it is busy has time to finish. */
const INFORMATION_MAX = 64

/** What a client may send before it is a WebSocket; beyond this it is not read until then. */
const EARLY_BYTES_MAX = 64 * 1024

/** A refusal that is shown as a page. */
class Refusal extends Error {
  readonly page: ServicePage
  constructor(page: ServicePage, options?: ErrorOptions) {
    super(page, options)
    this.page = page
  }
}

/**
 * Passes requests for `<secret>-<port>.<serviceHost>` on to that port of the instance with that secret, WebSockets
 * included. What is under way is one piece in either direction: whoever reads slowly slows the other end down.
 */
export function createServiceProxy(deps: ServiceProxyDeps): ServiceOrigin<ServiceTarget> {
  const limits = { ...SERVICE_LIMITS, ...deps.limits }
  const connect = createConnector(deps)
  const seen = { scheme: deps.scheme, proxies: createProxies(deps.trustedProxies) }

  async function pass(target: ServiceTarget, request: IncomingMessage, response: ServerResponse) {
    // A caller that gives up must not leave a request behind in the machine.
    const gone = new Promise<never>((_, reject) => {
      response.once('close', () => reject(new Refusal('broken')))
    })
    gone.catch(() => undefined)
    const stream = await connect(target)
    if (response.destroyed) return void stream.destroy()
    const upstream = requestUpstream(optionsOf(request, stream, seen))
    response.once('close', () => upstream.destroy())
    // A service may answer before it has read everything; what still comes is read to nowhere.
    const stopUpload = carry(request, upstream)
    response.once('finish', () => {
      stopUpload()
      request.resume()
    })
    const answer = await Promise.race([answerTo(upstream, limits.answerMs, request), gone])
    response.writeHead(answer.statusCode ?? 502, reasonOf(answer), responseHeaders(answer))
    // An answer that breaks off must not look like one that ended.
    answer.on('error', () => response.destroy())
    carry(answer, response)
  }

  async function join(target: ServiceTarget, request: IncomingMessage, socket: Duplex, head: Buffer) {
    const watch = watchForLeaving(socket)
    const stream = await connect(target)
    if (socket.destroyed) return void stream.destroy()
    const options = optionsOf(request, stream, seen)
    options.headers = [
      ...(options.headers as string[]),
      'Connection',
      'Upgrade',
      'Upgrade',
      request.headers.upgrade ?? 'websocket',
    ]
    const upstream = requestUpstream(options)
    socket.once('close', () => upstream.destroy())
    const upgraded = new Promise<{ answer: IncomingMessage; rest: Buffer }>(resolve => {
      upstream.once('upgrade', (answer, _, rest) => resolve({ answer, rest }))
    })
    upstream.end()
    const won = await Promise.race([upgraded, answerTo(upstream, limits.upgradeAnswerMs)])
    const early = watch.stop()
    if (!('rest' in won)) {
      socket.write(headOf(won, ['Connection', 'close']))
      won.on('error', () => socket.destroy())
      carry(won, socket)
      socket.resume()
      return
    }
    socket.write(headOf(won.answer, ['Connection', 'Upgrade', 'Upgrade', won.answer.headers.upgrade ?? '']))
    if (won.rest.length > 0) socket.write(won.rest)
    for (const bytes of [head, ...early]) if (bytes.length > 0) stream.write(bytes)
    joinStreams(socket, stream)
  }

  const pageFor = (error: unknown): ServicePage => {
    if (error instanceof Refusal) return error.page
    deps.log.warn({ err: error }, 'a service could not be reached')
    return 'unavailable'
  }

  return {
    match: host => matchHost(host, deps.serviceHost),
    request: (target, request, response) => {
      pass(target, request, response).catch(error => {
        if (response.headersSent || response.destroyed) return void response.destroy()
        const { status, headers, body } = renderServicePage(pageFor(error), target.port, request)
        response.writeHead(status, headers).end(request.method === 'HEAD' ? '' : body)
        request.resume()
      })
    },
    upgrade: (target, request, socket, head) => {
      socket.on('error', () => socket.destroy())
      join(target, request, socket, head).catch(error => {
        if (!socket.destroyed) socket.end(textOf(renderServicePage(pageFor(error), target.port, request)))
      })
    },
  }
}

/** Reads `<secret>-<port>.<serviceHost>[:port]`; null for every other host. */
function matchHost(host: string | undefined, serviceHost: string): ServiceTarget | null {
  const name = host?.toLowerCase().replace(/:\d{1,5}$/, '') ?? ''
  if (!name.endsWith(`.${serviceHost.toLowerCase()}`)) return null
  const label = name.slice(0, -serviceHost.length - 1)
  const [, secret, digits] = /^([a-z0-9]{20})-([1-9]\d{0,4})$/.exec(label) ?? []
  const port = Number(digits)
  return secret && port <= 65_535 ? { secret, port } : null
}

/** Opens streams to services. Only ports that were declared are reached. */
function createConnector({ ways, instances }: ServiceProxyDeps): (target: ServiceTarget) => Promise<Duplex> {
  return async target => {
    const service = await instances.findService(target.secret)
    if (!service?.httpPorts.includes(target.port)) throw new Refusal('unknown')
    const { instanceId: id } = service
    if (!service.running) throw new Refusal('stopped')
    const stream = await ways.connect(id, target.port).catch(error => {
      throw refusalFor(error)
    })
    // Without a listener a reset would end the process; whoever uses the stream hears of its close.
    stream.on('error', () => stream.destroy())
    return stream
  }
}

function refusalFor(error: unknown): unknown {
  if (!(error instanceof ComputeError)) return error
  if (error.code === 'port_closed') return new Refusal('nothing_listens')
  if (error.code === 'exhausted') return new Refusal('busy')
  if (error.code === 'not_running' || error.code === 'not_found') return new Refusal('stopped')
  return error
}

function optionsOf(
  request: IncomingMessage,
  stream: Duplex,
  { scheme, proxies }: { scheme: 'http' | 'https'; proxies: Proxies },
): HttpOptions {
  return {
    method: request.method ?? 'GET',
    path: request.url ?? '/',
    headers: requestHeaders(request, { sender: proxies.senderOf(request), scheme }),
    // Host is among the headers already: the service sees the name that the customer typed.
    setHost: false,
    createConnection: () => stream as never,
  }
}

/**
 * Waits for the answer's head, for `waitMs`.
 * @param request Its body is on its way upstream: the time runs from its end, however long that takes. Without one
 *   the time runs at once.
 */
function answerTo(
  upstream: ClientRequest,
  waitMs: number,
  request?: IncomingMessage,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | null = null
    const wait = () => {
      timer = setTimeout(() => {
        reject(new Refusal('too_slow'))
        upstream.destroy()
      }, waitMs)
    }
    const settle = () => {
      if (timer) clearTimeout(timer)
      request?.off('end', wait)
    }
    let informed = 0
    upstream.on('information', () => {
      if (++informed <= INFORMATION_MAX) return
      reject(new Refusal('broken'))
      upstream.destroy()
    })
    if (request) request.once('end', wait)
    else wait()
    upstream.once('response', answer => {
      settle()
      resolve(answer)
    })
    upstream.once('upgrade', settle)
    upstream.on('error', cause => {
      settle()
      reject(new Refusal('broken', { cause }))
    })
    upstream.once('close', () => {
      settle()
      reject(new Refusal('broken'))
    })
  })
}

/**
 * Destroys a socket whose client leaves while it waits to become a WebSocket: one that nobody reads would not tell.
 * @returns `stop`, which ends the watch and gives what the client sent meanwhile.
 */
function watchForLeaving(socket: Duplex): { stop(): Buffer[] } {
  const early: Buffer[] = []
  let bytes = 0
  const onData = (chunk: Buffer) => {
    early.push(chunk)
    bytes += chunk.length
    if (bytes > EARLY_BYTES_MAX) socket.pause()
  }
  const onEnd = () => socket.destroy()
  socket.on('data', onData).once('end', onEnd)
  return {
    stop: () => {
      socket.off('data', onData).off('end', onEnd)
      return early
    },
  }
}

function headOf(answer: IncomingMessage, connection: string[]): string {
  const headers = [...responseHeaders(answer), ...connection]
  let head = `HTTP/1.1 ${answer.statusCode ?? 502} ${reasonOf(answer)}\r\n`
  for (let at = 0; at < headers.length; at += 2) head += `${headers[at]}: ${headers[at + 1]}\r\n`
  return `${head}\r\n`
}

/** The service's own words after the status, as far as they may stand in a head. */
function reasonOf(answer: IncomingMessage): string {
  return (answer.statusMessage ?? '').replace(/[^\x20-\x7e]/g, '')
}

function textOf({ status, statusText, headers, body }: RenderedPage): string {
  const lines = Object.entries({ ...headers, Connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}`,
  )
  return `HTTP/1.1 ${status} ${statusText}\r\n${lines.join('\r\n')}\r\n\r\n${body}`
}
