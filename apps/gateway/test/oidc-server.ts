import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'

export const OIDC_CLIENT = { client_id: 'berth', client_secret: 'a-secret-of-the-tests' }

/** What the service says of somebody; a claim that is left out is not said. */
export interface OidcClaims {
  email?: string
  email_verified?: boolean
  name?: string
  preferred_username?: string
}

/**
 * The real `oidc-provider` with its own login pages, on a port of its own. Any login is let in with any password;
 * `people` says what is known of it, and a login that is an address is a proven one where nothing else is said.
 * @param wantedPort Any that is free when left out.
 */
export async function startOidcServer(wantedPort = 0) {
  const people = new Map<string, OidcClaims>()
  const server = createServer()
  await new Promise<void>(resolve => server.listen(wantedPort, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const issuer = `http://127.0.0.1:${port}`
  const provider = quietly(
    () =>
      new Provider(issuer, {
        clients: [
          {
            ...OIDC_CLIENT,
            // A native client may come back to any port of this computer, and gateways of tests take any.
            application_type: 'native',
            redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
            grant_types: ['authorization_code'],
            response_types: ['code'],
          },
        ],
        claims: {
          openid: ['sub'],
          email: ['email', 'email_verified'],
          profile: ['name', 'preferred_username'],
        },
        cookies: { keys: ['cookies-of-the-tests'] },
        features: { devInteractions: { enabled: true } },
        ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 600, IdToken: 600 },
        pkce: { required: () => true },
        findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...claimsOf(id) }) }),
      }),
  )
  server.on('request', provider.callback())

  function claimsOf(login: string): OidcClaims {
    return people.get(login) ?? (login.includes('@') ? { email: login, email_verified: true } : {})
  }

  return {
    issuer,
    people,
    async stop() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
export type OidcServer = Awaited<ReturnType<typeof startOidcServer>>

/** What somebody does at the service's pages. */
export interface AtTheService {
  login: string
  /** They turn back instead. */
  decline?: boolean
}

const STEPS_MAX = 20

/**
 * Goes through the service's own pages as a browser would: follows what it says, types in the login, agrees.
 * @param url Where the browser is sent.
 * @returns The address that it is sent back to.
 */
export async function passService(url: string, { login, decline = false }: AtTheService): Promise<URL> {
  const cookies = new Map<string, string>()
  let next: { url: URL; form?: URLSearchParams } = { url: new URL(url) }
  for (let step = 0; step < STEPS_MAX; step++) {
    const response = await fetch(next.url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(next.form && { method: 'POST', body: next.form }),
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    const location = response.headers.get('location')
    if (location !== null) {
      next = { url: new URL(location, next.url) }
      if (next.url.pathname === '/callback') return next.url
      continue
    }
    const page = await response.text()
    const target = (pattern: RegExp) =>
      new URL(pattern.exec(page)?.[1] ?? fail(response.status, page), next.url)
    if (decline) {
      next = { url: target(/href="([^"]+\/abort)"/) }
      continue
    }
    const isLogin = page.includes('name="login"')
    next = {
      url: target(/<form[^>]+action="([^"]+)"/),
      form: new URLSearchParams(
        isLogin ? { prompt: 'login', login, password: 'any' } : { prompt: 'consent' },
      ),
    }
  }
  throw new Error('the service sends the browser around in circles')
}

function fail(status: number, page: string): never {
  throw new Error(
    `the service answered ${status}: ${page.replace(/<style[\s\S]*<\/style>/, '').slice(0, 500)}`,
  )
}

/** The package says on the console that its login pages are for development, which is what they are used for. */
function quietly<T>(make: () => T): T {
  const { info, warn } = console
  console.info = () => {}
  console.warn = () => {}
  try {
    return make()
  } finally {
    Object.assign(console, { info, warn })
  }
}
