import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** A proxy in front of gateways that sends each request to the next one, and knows nothing of who asked before. */
export interface RoundRobin {
  /** `http://127.0.0.1:<port>` */
  origin: string
  port: number
  /** How many requests and WebSockets each gateway was given, by its port. */
  given: Map<number, number>
  close(): Promise<void>
}

/**
 * Starts a proxy. A gateway that does not take the connection is passed over, as load balancers do; what breaks later
 * is broken for the client, too.
 * @param ports Where the gateways listen, on loopback.
 */
export async function startRoundRobin(ports: readonly number[]): Promise<RoundRobin> {
  const given = new Map<number, number>(ports.map(port => [port, 0]))
  const sockets = new Set<Duplex>()
  let turn = 0

  /** A connection to the next gateway that takes one; null when none does. */
  async function next(): Promise<Socket | null> {
    const first = turn++
    for (let tries = 0; tries < ports.length; tries++) {
      const port = ports[(first + tries) % ports.length] ?? 0
      const socket = await open(port)
      if (!socket) continue
      given.set(port, (given.get(port) ?? 0) + 1)
      track(socket)
      return socket
    }
    return null
  }

  function track(socket: Duplex): void {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
  }

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const socket = await next()
    if (!socket) return void response.destroy()
    const { method, url, headers } = request
    const onward = httpRequest({ createConnection: () => socket, method, path: url, headers })
    onward.on('response', answer => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
      answer.pipe(response)
      answer.once('error', () => response.destroy())
    })
    onward.once('error', () => response.destroy())
    response.once('close', () => onward.destroy())
    request.pipe(onward)
  }

  async function passUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    track(socket)
    const onward = await next()
    if (!onward) return void socket.destroy()
    const lines = [`${request.method} ${request.url} HTTP/1.1`]
    for (let at = 0; at < request.rawHeaders.length; at += 2) {
      lines.push(`${request.rawHeaders[at]}: ${request.rawHeaders[at + 1]}`)
    }
    onward.write(`${lines.join('\r\n')}\r\n\r\n`)
    onward.write(head)
    socket.pipe(onward).pipe(socket)
    onward.once('close', () => socket.destroy())
    socket.once('close', () => onward.destroy())
  }

  const server = createServer((request, response) => void pass(request, response))
  server.on('upgrade', (request, socket, head) => void passUpgrade(request, socket, head))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    given,
    async close() {
      const closed = new Promise(resolve => server.close(resolve))
      server.closeAllConnections()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

function open(port: number): Promise<Socket | null> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    const onError = () => resolve(null)
    socket.once('error', onError)
    socket.once('connect', () => {
      socket.off('error', onError)
      resolve(socket)
    })
  })
}
