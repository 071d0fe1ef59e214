import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { GITHUB_CLIENT } from '../../../test/github-server.ts'
import { OIDC_CLIENT, startOidcServer } from '../../../test/oidc-server.ts'
import { systemClock } from '../../platform/clock.ts'
import { createIdentityProviders } from './create-providers.ts'
import { IdentityProviderError } from './port.ts'
import { providerFailure } from './provider-failure.ts'

const VISIT = {
  state: 's'.repeat(43),
  nonce: 'n'.repeat(43),
  codeVerifier: 'v'.repeat(43),
  redirectUri: 'http://127.0.0.1:8080/callback',
}

test('a service that is down holds up nothing, fails by its name, and works once it is up', async () => {
  const oidc = await startOidcServer()
  const { port } = new URL(oidc.issuer)
  await oidc.stop()
  const provider = oidcProvider(oidc.issuer)
  const failure = await provider?.authorizationUrl(VISIT).catch(error => error)
  expect(failure).toBeInstanceOf(IdentityProviderError)
  expect(failure.message).toMatch(/^acme: .*ECONNREFUSED/)
  const again = await startOidcServer(Number(port))
  expect(await provider?.authorizationUrl(VISIT)).toContain(`${again.issuer}/auth?`)
  await again.stop()
})

test('a service that names another issuer than the settings is not spoken to', async () => {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({ issuer: 'https://other.example', authorization_endpoint: 'https://other.example/a' }),
    )
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await expect(oidcProvider(issuer)?.authorizationUrl(VISIT)).rejects.toThrow(/issuer does not match/)
  server.close()
})

test('GitHub’s own addresses, and those of an Enterprise Server', async () => {
  const setting = { ...GITHUB_CLIENT, type: 'github' as const, name: 'github', display_name: 'GitHub' }
  const [own, enterprise] = createIdentityProviders(
    [
      { ...setting, base_url: 'https://github.com' },
      { ...setting, base_url: 'https://git.acme.example' },
    ],
    { clock: systemClock },
  )
  expect(await own?.authorizationUrl(VISIT)).toMatch(/^https:\/\/github\.com\/login\/oauth\/authorize\?/)
  expect(await enterprise?.authorizationUrl(VISIT)).toMatch(
    /^https:\/\/git\.acme\.example\/login\/oauth\/auth/,
  )
})

test('what is logged of a failure holds the words and never what came with them', () => {
  const body = {
    error: 'invalid_grant',
    error_description: 'grant request is invalid',
    access_token: 'top-secret',
  }
  const inner = Object.assign(new Error('unexpected JWT claim'), {
    code: 'X',
    cause: { claims: 'top-secret', body },
  })
  const { message, cause } = providerFailure('acme', new Error('invalid response', { cause: inner }))
  expect(message).toBe(
    'acme: invalid response; unexpected JWT claim (X); invalid_grant; grant request is invalid',
  )
  expect(cause).toBeUndefined()
})

function oidcProvider(issuer: string) {
  const setting = { ...OIDC_CLIENT, type: 'oidc' as const, name: 'acme', issuer, scopes: 'openid' }
  return createIdentityProviders([setting], { clock: systemClock })[0]
}
