import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'

/** What answers a WebSocket on the console's origin. */
export interface Upgrade {
  /** The path that it answers, such as `/gateway/terminal`. */
  path: string
  handle(request: IncomingMessage, socket: Duplex, head: Buffer): void
}

/**
 * Passes a request to become a WebSocket on to what answers its path. A page of another origin is refused: browsers
 * let any page open a socket anywhere.
 * @param upgrades What there is.
 */
export function dispatchUpgrade(
  upgrades: readonly Upgrade[],
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  const path = request.url?.split('?')[0]
  const found = upgrades.find(upgrade => upgrade.path === path)
  if (!found) refuseUpgrade(socket, '404 Not Found')
  else if (!isSameOrigin(request)) refuseUpgrade(socket, '403 Forbidden')
  else found.handle(request, socket, head)
}

/** Answers with a bare status and ends the connection. */
export function refuseUpgrade(socket: Duplex, status: string): void {
  socket.on('error', () => {})
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
}

function isSameOrigin({ headers }: IncomingMessage): boolean {
  if (headers.origin === undefined) return true
  try {
    return new URL(headers.origin).host === headers.host?.toLowerCase()
  } catch {
    return false
  }
}
