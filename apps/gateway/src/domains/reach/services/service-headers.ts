import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'

/** They are for one connection, not for the message (RFC 9110, 7.6.1), and `Expect` was answered already. */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'expect',
]

/** Only the gateway knows who asked, so what a caller says of it is dropped. */
const FORWARDING = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip']

/**
 * What would reach past the service's own origin: `Clear-Site-Data` wipes the cookies of the whole site, the
 * console's among them; the others bind a host name to a transport or a port that is not the service's to choose.
 */
const REACHING_OUT = ['clear-site-data', 'strict-transport-security', 'alt-svc', 'public-key-pins']

/** Longest list of raw header entries (names and values) that is passed on. */
const HEADER_ENTRIES_MAX = 400

/**
 * The headers with which a request goes on to the service, as a flat list of names and values.
 * @param sender The address of who asks. @param scheme Under which the customer sees the service.
 */
export function requestHeaders(
  request: IncomingMessage,
  { sender, scheme }: { sender: string; scheme: 'http' | 'https' },
): string[] {
  const dropped = new Set([...HOP_BY_HOP, ...FORWARDING, ...named(request.headers)])
  const headers = keep(request.rawHeaders, dropped)
  // Without a length the body came in chunks and must go on so, whatever the method is.
  if (request.headers['transfer-encoding'] !== undefined) headers.push('Transfer-Encoding', 'chunked')
  headers.push('X-Forwarded-For', sender)
  headers.push('X-Forwarded-Host', request.headers.host ?? '')
  headers.push('X-Forwarded-Proto', scheme)
  return headers
}

/** The headers with which a service's answer goes back: its cookies stay on its own origin. */
export function responseHeaders(response: IncomingMessage): string[] {
  const dropped = new Set([...HOP_BY_HOP, ...REACHING_OUT, ...named(response.headers)])
  const headers = keep(response.rawHeaders, dropped)
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at]?.toLowerCase() === 'set-cookie') headers[at + 1] = hostOnly(headers[at + 1] ?? '')
  }
  // The secret in the host name is what opens the service: it does not go to whoever a page links to.
  if (!('referrer-policy' in response.headers)) headers.push('Referrer-Policy', 'same-origin')
  return headers
}

/**
 * A cookie without its `Domain`, so that it belongs to the service's host alone.
 * @param cookie Value of a `Set-Cookie` header.
 */
export function hostOnly(cookie: string): string {
  const [pair = '', ...attributes] = cookie.split(';')
  return [pair, ...attributes.filter(attribute => !/^\s*domain\s*(=|$)/i.test(attribute))].join(';')
}

/** Headers that `Connection` names are for one connection too. */
function named(headers: IncomingHttpHeaders): string[] {
  return (headers.connection ?? '').split(',').map(name => name.trim().toLowerCase())
}

function keep(raw: string[], dropped: ReadonlySet<string>): string[] {
  const kept: string[] = []
  for (let at = 0; at + 1 < Math.min(raw.length, HEADER_ENTRIES_MAX); at += 2) {
    const name = raw[at] ?? ''
    if (!dropped.has(name.toLowerCase())) kept.push(name, raw[at + 1] ?? '')
  }
  return kept
}
