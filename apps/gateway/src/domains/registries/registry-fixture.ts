import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server that speaks as much of the distribution protocol as signing in takes. */
export interface TestRegistry {
  /** `localhost` and its port. */
  host: string
  /** What it was asked: method, path, and the scheme of the authorization. */
  asked: string[]
  close(): Promise<void>
}

export const LOGIN = { username: 'anna', password: 'p:ass wörd' }
const BASIC = `Basic ${Buffer.from(`${LOGIN.username}:${LOGIN.password}`).toString('base64')}`
const TOKEN = 'a.token-of_its.own'

type Answer = (request: IncomingMessage, response: ServerResponse, host: string) => void

/** How registries ask who it is. */
export const KINDS = {
  basic(request, response) {
    if (request.headers.authorization === BASIC) return ok(response)
    deny(response, 'Basic realm="the \\"yard\\", inner"')
  },
  token(request, response, host) {
    const url = new URL(request.url ?? '/', `http://${host}`)
    if (url.pathname === '/token') {
      const isKnown = request.headers.authorization === BASIC && url.searchParams.get('service') === 'yard'
      if (!isKnown) return deny(response, 'Basic realm="tokens"')
      return send(response, 200, JSON.stringify({ token: TOKEN, expires_in: 300 }))
    }
    if (request.headers.authorization === `Bearer ${TOKEN}`) return ok(response)
    deny(response, `Bearer realm="http://${host}/token",service="yard"`)
  },
  /** Everybody may pull; it still knows wrong logins. */
  open(request, response) {
    const { authorization } = request.headers
    if (authorization === undefined || authorization === BASIC) return ok(response)
    deny(response, 'Basic realm="yard"')
  },
  website: (_request, response) => send(response, 200, '<h1>Hello</h1>', { 'content-type': 'text/html' }),
  elsewhere: (request, response, host) =>
    send(response, 307, '', { location: `http://${host}/other${request.url}` }),
  negotiate: (_request, response) => deny(response, 'Negotiate'),
  broken: (_request, response) => send(response, 502, 'Bad Gateway'),
  endless(_request, response) {
    response.writeHead(200, { 'content-type': 'application/json' })
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(10_000)));
    }
    response.on('drain', more)
    more()
  },
  upgrade(_request, response) {
    response.socket?.end('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n')
  },
} satisfies Record<string, Answer>

/** Starts a registry of that kind on loopback. */
export async function startRegistry(kind: keyof typeof KINDS | Answer): Promise<TestRegistry> {
  const answer: Answer = typeof kind === 'string' ? KINDS[kind] : kind
  const asked: string[] = []
  let host = ''
  const server = createServer((request, response) => {
    const [scheme] = (request.headers.authorization ?? 'none').split(' ')
    asked.push(`${request.method} ${request.url?.split('?')[0]} ${scheme}`)
    answer(request, response, host)
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  host = `localhost:${(server.address() as AddressInfo).port}`
  return {
    host,
    asked,
    close: () =>
      new Promise(done => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
}

function ok(response: ServerResponse): void {
  send(response, 200, '{}', { 'docker-distribution-api-version': 'registry/2.0' })
}

function deny(response: ServerResponse, challenge: string): void {
  send(response, 401, '{"errors":[{"code":"UNAUTHORIZED"}]}', { 'www-authenticate': challenge })
}

function send(response: ServerResponse, status: number, text: string, headers: Record<string, string> = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
}
