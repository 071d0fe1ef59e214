import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { createHostCheck, isLoopback } from '../http/hosts.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'

/** What is to be seen once the gateway is put together. */
export interface Managed {
  metrics: Metrics
  /** Resolves when the gateway can do its work. */
  ready(): Promise<void>
}

/** A port for what starts, watches and stops the gateway. Customers do not come here. */
export interface ManagementServer {
  /**
   * Begins to listen. On loopback it answers for loopback names alone: a page whose name was turned to 127.0.0.1 (DNS
   * rebinding) says its own, and browsers do not say that it is a page where it came by plain HTTP.
   * @returns The address.
   * @throws What listening throws.
   */
  listen(host: string, port: number): Promise<string>
  /** From now on the gateway is ready when `ready` resolves, and its metrics are shown. */
  show(managed: Managed): void
  /** Says not ready from now on, whatever else works: nothing new is to be sent here. */
  leave(): void
  close(): Promise<void>
}

/** A probe that hangs says as much as one that fails, and probes are impatient. */
const READY_MS = 2_000
/** Above it the oldest are cut, so that whoever opens many and says nothing keeps no probe out. */
const CONNECTIONS_MAX = 64
const HEADER_BYTES_MAX = 8_192
const REQUEST_MS = 5_000

interface Answer {
  status: number
  text: string
  type?: string
}

/**
 * Makes the management port: `/live`, `/ready` and `/metrics`. Beyond loopback it answers by any host name, since probes
 * use addresses and what a cluster calls it. It may listen before there is a database.
 */
export function createManagementServer({ log }: { log: Pick<Logger, 'warn' | 'error'> }): ManagementServer {
  let managed: Managed | null = null
  let leaving = false
  let asking: Promise<Answer> | null = null
  let isOurName = (_host: string) => true

  async function askReady(): Promise<Answer> {
    if (leaving) return { status: 503, text: 'stopping' }
    if (!managed) return { status: 503, text: 'starting' }
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error('it took too long')), READY_MS)
    })
    try {
      await Promise.race([managed.ready(), late])
      return leaving ? { status: 503, text: 'stopping' } : { status: 200, text: 'ready' }
    } catch (error) {
      log.warn({ err: error }, 'the gateway is not ready')
      return { status: 503, text: 'the database does not answer' }
    } finally {
      clearTimeout(timer)
    }
  }

  /** However many ask, the database is asked once at a time. */
  function ready(): Promise<Answer> {
    asking ??= askReady().finally(() => {
      asking = null
    })
    return asking
  }

  async function answer(path: string): Promise<Answer> {
    if (path === '/live') return { status: 200, text: 'alive' }
    if (path === '/ready') return await ready()
    if (path === '/metrics' && managed) {
      return { status: 200, text: await managed.metrics.text(), type: managed.metrics.contentType }
    }
    return { status: 404, text: 'There is /live, /ready and /metrics.' }
  }

  async function onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, headers } = request
    if (method !== 'GET' && method !== 'HEAD') return send(response, { status: 405, text: 'GET only' })
    // Nothing that probes is a page in a browser; a page that found its way here is a foreign one.
    const site = headers['sec-fetch-site']
    const isForeign = headers.host !== undefined && !isOurName(headers.host)
    if (isForeign || (site !== undefined && site !== 'none')) {
      return send(response, { status: 403, text: 'not for pages' })
    }
    try {
      send(response, await answer(request.url?.split('?')[0] ?? ''))
    } catch (error) {
      log.error({ err: error }, 'the management port failed')
      send(response, { status: 500, text: 'failed' })
    }
  }

  const server = createServer(
    { maxHeaderSize: HEADER_BYTES_MAX, headersTimeout: REQUEST_MS, requestTimeout: REQUEST_MS },
    (request, response) => void onRequest(request, response),
  )
  const sockets = new Set<Socket>()
  server.on('connection', socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    if (sockets.size <= CONNECTIONS_MAX) return
    const [oldest] = sockets
    oldest?.destroy()
  })

  return {
    async listen(host, port) {
      if (isLoopback(host)) isOurName = createHostCheck({ publicUrl: null, bindHost: host, brandHosts: [] })
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen({ host, port }, () => {
          server.off('error', reject)
          resolve()
        })
      })
      const { port: actualPort } = server.address() as AddressInfo
      return `http://${host.includes(':') ? `[${host}]` : host}:${actualPort}`
    },
    show(shown) {
      managed = shown
    },
    leave() {
      leaving = true
    },
    async close() {
      if (!server.listening) return
      const closed = new Promise(resolve => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

function send(response: ServerResponse, { status, text, type = 'text/plain; charset=utf-8' }: Answer): void {
  response.writeHead(status, {
    'content-type': type,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  response.end(`${text}${text.endsWith('\n') ? '' : '\n'}`)
}
