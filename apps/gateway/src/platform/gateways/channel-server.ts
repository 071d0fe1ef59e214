import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { createServer, type TLSSocket } from 'node:tls'
import * as z from 'zod'
import { ApiError } from '../http/api-error.ts'
import type { Logger } from '../log.ts'
import { spanned } from '../tracing/spans.ts'
import { CHANNEL_TLS, KEEP_ALIVE_MS, keyTowards } from './channel-tls.ts'
import { readFrame, writeFrame } from './frames.ts'

/**
 * Carries out what another gateway asks for.
 * @param request What it sent, unchecked but for its size.
 * @param accept Begins the stream; called at most once, and at the latest when the handler's promise settles. A
 *   handler that throws an `ApiError` before refuses with its code.
 */
export type ChannelHandler = (request: unknown, accept: () => Duplex) => Promise<void> | void

/** From the first byte to the whole request; a stranger holds a socket for no longer. */
const HANDSHAKE_MS = 5_000
/** Connections that have proven nothing yet; above it the oldest are cut, so that strangers keep nobody out. */
const UNPROVEN_MAX = 64
/** Streams from all other gateways together: terminals and service connections. */
const STREAMS_IN_MAX = 2_000

const head = z.object({
  from: z.uuid(),
  kind: z.string().max(50),
  request: z.unknown(),
  /** The `traceparent` of what it is asked for by. */
  trace: z.string().max(100).optional(),
})

interface ChannelServerOptions {
  selfId: string
  key: Uint8Array
  handlers: ReadonlyMap<string, ChannelHandler>
  log: Pick<Logger, 'warn' | 'error' | 'debug'>
}

/** The listening end of the channel between gateways. */
export function createChannelServer({ selfId, key, handlers, log }: ChannelServerOptions) {
  const mine = keyTowards(key, selfId)
  const unproven = new Map<string, Socket>()
  /** Open streams by the gateway at their other end; null until it has said who it is. */
  const streams = new Map<TLSSocket, string | null>()

  /** Who waits until no stream is open. */
  const awaiting: (() => void)[] = []

  const server = createServer({
    ...CHANNEL_TLS,
    allowHalfOpen: true,
    handshakeTimeout: HANDSHAKE_MS,
    pskCallback: (_socket, identity) => (identity === selfId ? mine : null),
  })
  server.on('connection', (raw: Socket) => {
    const place = placeOf(raw)
    raw.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS)
    unproven.set(place, raw)
    raw.once('close', () => unproven.delete(place))
    if (unproven.size <= UNPROVEN_MAX) return
    const [oldest] = unproven.values()
    oldest?.destroy()
  })
  server.on('secureConnection', socket => {
    unproven.delete(placeOf(socket))
    // A consumer hears of it by `close`; unheard, the event would end the process.
    socket.on('error', error => log.debug({ err: error }, 'a stream from another gateway broke'))
    streams.set(socket, null)
    socket.once('close', () => {
      streams.delete(socket)
      if (streams.size === 0) for (const resolve of awaiting.splice(0)) resolve()
    })
    void admit(socket)
  })
  // Whoever comes without the key is nobody; it is not even worth a line.
  server.on('tlsClientError', () => {})
  server.on('error', error => log.error({ err: error }, 'the port for other gateways failed'))

  async function admit(socket: TLSSocket): Promise<void> {
    let asked: z.infer<typeof head>
    try {
      asked = head.parse(await readFrame(socket, HANDSHAKE_MS))
    } catch (error) {
      log.warn({ err: error }, 'another gateway sent something that is no request')
      socket.destroy()
      return
    }
    const handler = handlers.get(asked.kind)
    if (!handler) return refuse(socket, new ApiError('not_found'))
    if (streams.size > STREAMS_IN_MAX) return refuse(socket, new ApiError('unavailable'))
    if (socket.destroyed) return
    streams.set(socket, asked.from)
    let begun = false
    try {
      const accept = () => {
        begun = true
        writeFrame(socket, { ok: true })
        return socket
      }
      const serve = async () => handler(asked.request, accept)
      await spanned(`serve ${asked.kind}`, {}, serve, asked.trace)
    } catch (error) {
      if (!(error instanceof ApiError)) {
        log.error({ err: error, kind: asked.kind }, 'what another gateway asked for failed')
      }
      if (begun) socket.destroy()
      else refuse(socket, error instanceof ApiError ? error : new ApiError('internal'))
      return
    }
    if (!begun) refuse(socket, new ApiError('internal'))
  }

  return {
    /** Begins to listen. @returns The port. */
    async listen(host: string, port: number): Promise<number> {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen({ host, port }, () => {
          server.off('error', reject)
          resolve()
        })
      })
      return (server.address() as AddressInfo).port
    },
    /** Gateways that have streams open to here. */
    peers: (): string[] => [...new Set(streams.values())].filter(peer => peer !== null),
    count: (): number => streams.size,
    /** Resolves once no stream is open. */
    emptied: (): Promise<void> =>
      streams.size === 0 ? Promise.resolve() : new Promise(resolve => void awaiting.push(resolve)),
    /** Cuts the streams of a gateway that is gone. */
    cut(gatewayId: string): void {
      for (const [socket, from] of streams) if (from === gatewayId) socket.destroy()
    },
    /** Stops to listen and cuts what is open. */
    async close(): Promise<void> {
      const closed = server.listening ? new Promise(resolve => server.close(resolve)) : null
      for (const socket of streams.keys()) socket.destroy()
      for (const raw of unproven.values()) raw.destroy()
      await closed
    },
  }
}

function refuse(socket: TLSSocket, { code, values, fields }: ApiError): void {
  writeFrame(socket, { ok: false, code, values, fields })
  socket.end()
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), HANDSHAKE_MS)
  socket.once('close', () => clearTimeout(timer))
}

/** Names one connection; the socket under TLS and the one above it have the same. */
function placeOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}
