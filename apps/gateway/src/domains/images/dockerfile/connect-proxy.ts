import { randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Outbound } from '../../registries/registries.ts'

const LOOK_MS = 10_000
const CONNECTIONS_MAX = 8
const IDLE_MS = 60_000

/** By what a program of ours reaches the public internet and nothing else. */
export interface ConnectProxy {
  /** With a password that nobody else on this computer knows. */
  url: string
  /** Ends it, with all that goes through it. */
  close(): void
}

/**
 * Opens a proxy on this computer's loopback for TLS alone: each connection goes to the addresses that were looked at, so
 * neither a redirect nor a name that changes leads into the operator's network.
 * @param bytesMax Of all that comes in by it; more ends it.
 * @param onTooMuch Told when it was ended for that.
 */
export async function openConnectProxy(
  outbound: Pick<Outbound, 'addressesOf'>,
  bytesMax: number,
  onTooMuch: () => void,
): Promise<ConnectProxy> {
  const password = randomBytes(16).toString('hex')
  const wanted = Buffer.from(`Basic ${Buffer.from(`berth:${password}`).toString('base64')}`)
  const open = new Set<Duplex>()
  let received = 0
  const server = createServer((_, answer) => void answer.writeHead(405).end())
  server.on('connect', (asked: IncomingMessage, client: Duplex) => {
    keep(client)
    lead(asked, client).catch(() => client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'))
  })
  server.maxConnections = CONNECTIONS_MAX
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0

  function keep(socket: Duplex): void {
    open.add(socket)
    socket.on('error', () => socket.destroy()).once('close', () => open.delete(socket))
  }

  function close(): void {
    for (const socket of open) socket.destroy()
    server.closeAllConnections()
    server.close()
  }

  async function lead(asked: IncomingMessage, client: Duplex): Promise<void> {
    const given = Buffer.from(asked.headers['proxy-authorization'] ?? '')
    if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) {
      client.end(
        'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="berth"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
      )
      return
    }
    const [, host = '', to = ''] = /^([\w.-]+|\[[\da-fA-F:.]+\]):(\d{1,5})$/.exec(asked.url ?? '') ?? []
    const [target] = await outbound.addressesOf(host, Number(to), AbortSignal.timeout(LOOK_MS))
    const far: Socket = connect({ host: target ?? '', port: Number(to), timeout: IDLE_MS })
    keep(far)
    await once(far, 'connect')
    far.on('timeout', () => far.destroy())
    far.on('data', (piece: Buffer) => {
      received += piece.length
      if (received <= bytesMax) return
      onTooMuch()
      close()
    })
    client.write('HTTP/1.1 200 Connection established\r\n\r\n')
    far.pipe(client).pipe(far)
    far.once('close', () => client.destroy())
    client.once('close', () => far.destroy())
  }

  return { url: `http://berth:${password}@127.0.0.1:${port}`, close }
}
