import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export const GITHUB_CLIENT = { client_id: 'Iv1.berth', client_secret: 'a-secret-of-the-tests' }

/** Who is logged in at the server; the addresses as its API lists them. */
export interface GithubPerson {
  id: number
  login: string
  name: string | null
  emails: { email: string; primary: boolean; verified: boolean; visibility: string | null }[]
}

interface Grant {
  challenge: string
  redirectUri: string
}

/**
 * A small server that speaks what GitHub documents of its web application flow and of its two calls about a user,
 * with the addresses of an Enterprise Server. It agrees to everything at once.
 */
export async function startGithubServer() {
  const grants = new Map<string, Grant>()
  const tokens = new Set<string>()
  let person: GithubPerson | null = null
  const server = createServer((request, response) => {
    answer(request, response).catch(error => {
      response.writeHead(500).end(String(error))
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', `http://${request.headers.host}`)
    const route = `${request.method} ${url.pathname}`
    if (route === 'GET /login/oauth/authorize') return authorize(url.searchParams, response)
    if (route === 'POST /login/oauth/access_token') return await trade(request, response)
    if (route === 'GET /api/v3/user')
      return tell(request, response, ({ id, login, name }) => ({ id, login, name }))
    if (route === 'GET /api/v3/user/emails') return tell(request, response, ({ emails }) => emails)
    response.writeHead(404).end()
  }

  function authorize(query: URLSearchParams, response: ServerResponse): void {
    const code = randomBytes(10).toString('hex')
    const redirectUri = query.get('redirect_uri') ?? ''
    const isPkce = query.get('code_challenge_method') === 'S256'
    if (query.get('client_id') !== GITHUB_CLIENT.client_id || !isPkce) {
      response.writeHead(404).end()
      return
    }
    if (!query.get('scope')?.includes('user:email')) throw new Error('the scope does not hold the addresses')
    grants.set(code, { challenge: query.get('code_challenge') ?? '', redirectUri })
    const back = new URL(redirectUri)
    back.searchParams.set('code', code)
    back.searchParams.set('state', query.get('state') ?? '')
    response.writeHead(302, { location: back.href }).end()
  }

  async function trade(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await text(request))
    const code = form.get('code') ?? ''
    const grant = grants.get(code)
    grants.delete(code)
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const { client_id, client_secret } = GITHUB_CLIENT
    const isClient = form.get('client_id') === client_id && form.get('client_secret') === client_secret
    const isGood = grant?.challenge === challenge && grant.redirectUri === form.get('redirect_uri')
    // GitHub says what is wrong with the status 200, and answers a form unless JSON is asked for.
    if (request.headers.accept !== 'application/json') throw new Error('no JSON was asked for')
    if (!isClient) return json(response, { error: 'incorrect_client_credentials' })
    if (!isGood)
      return json(response, { error: 'bad_verification_code', error_description: 'The code is incorrect.' })
    const token = `gho_${randomBytes(18).toString('hex')}`
    tokens.add(token)
    json(response, { access_token: token, scope: 'read:user,user:email', token_type: 'bearer' })
  }

  function tell(
    request: IncomingMessage,
    response: ServerResponse,
    read: (who: GithubPerson) => unknown,
  ): void {
    const token = request.headers.authorization?.replace('Bearer ', '') ?? ''
    if (!request.headers['user-agent'])
      response.writeHead(403).end('Request forbidden by administrative rules.')
    else if (!person || !tokens.has(token)) json(response, { message: 'Bad credentials' }, 401)
    else json(response, read(person))
  }

  return {
    baseUrl: `http://127.0.0.1:${port}`,
    /** Says who is logged in; nobody: its API refuses every token. */
    logIn(who: GithubPerson | null) {
      person = who
    },
    async stop() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

function json(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body))
}
