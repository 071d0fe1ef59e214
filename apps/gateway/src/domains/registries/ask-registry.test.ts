import { afterEach, describe, expect, test } from 'vitest'
import { parseChallenges } from '../../platform/http/parse-challenges.ts'
import { askRegistry } from './ask-registry.ts'
import { createOutbound, OutboundError } from './outbound.ts'
import { KINDS, LOGIN, startRegistry, type TestRegistry } from './registry-fixture.ts'

const started: TestRegistry[] = []
afterEach(async () => {
  await Promise.all(started.splice(0).map(registry => registry.close()))
})

async function start(kind: Parameters<typeof startRegistry>[0]): Promise<TestRegistry> {
  const registry = await startRegistry(kind)
  started.push(registry)
  return registry
}

/** Asks a registry that the operator lists. */
async function ask(registry: TestRegistry, login = LOGIN, privateHosts = [registry.host]) {
  return askRegistry(createOutbound({ privateHosts }), { registry: registry.host, ...login })
}

describe('[R3.12] a registry is asked as Docker signs in', () => {
  test.each(['basic', 'token', 'open'] as const)('%s: the right login is accepted', async kind => {
    expect(await ask(await start(kind))).toBe('accepted')
  })

  test.each(['basic', 'token', 'open'] as const)('%s: a wrong one is refused', async kind => {
    expect(await ask(await start(kind), { ...LOGIN, password: 'wrong' })).toBe('refused')
  })

  test('the first question tells nothing of the login, and the token is tried', async () => {
    const registry = await start('token')
    await ask(registry)
    expect(registry.asked).toEqual(['GET /v2/ none', 'GET /token Basic', 'GET /v2/ Bearer'])
  })

  test.each(['website', 'elsewhere', 'negotiate', 'endless'] as const)(
    '%s is not a registry, and is not told the login',
    async kind => {
      const registry = await start(kind)
      expect(await ask(registry)).toBe('not_a_registry')
      expect(registry.asked).toEqual(['GET /v2/ none'])
    },
  )

  test.each(['broken', 'upgrade'] as const)('%s does not answer', async kind => {
    expect(await ask(await start(kind))).toBe('unreachable')
  })

  test('nobody there does not answer', async () => {
    const registry = await start('basic')
    await registry.close()
    expect(await ask(registry)).toBe('unreachable')
  })

  test('a name that nobody has does not answer', async () => {
    const outbound = createOutbound({ privateHosts: [], resolve: async () => [] })
    expect(await askRegistry(outbound, { registry: 'gone.example', ...LOGIN })).toBe('unreachable')
  })

  test.each(['nowhere', 'ftp://localhost/', 'http://a:b@localhost/'])(
    'tokens by %s are no tokens',
    async realm => {
      const registry = await start((_request, response) => {
        response.writeHead(401, { 'www-authenticate': `Bearer realm="${realm}"` }).end()
      })
      expect(await ask(registry)).toBe('not_a_registry')
    },
  )

  test.each(['{}', 'no JSON', '{"token":"a\\r\\nx: y"}', '{"token":7}'])('%s is no token', async text => {
    const registry = await start((request, response, host) => {
      if (request.url?.startsWith('/token')) response.end(text)
      else KINDS.token(request, response, host)
    })
    expect(await ask(registry)).toBe('not_a_registry')
  })
})

describe('[R3.12] a customer’s registry is no way into the operator’s network', () => {
  test('a host on this computer is not asked unless the operator lists it', async () => {
    const registry = await start('basic')
    const outbound = createOutbound({ privateHosts: [], resolve: async () => ['127.0.0.1'] })
    await expect(askRegistry(outbound, { registry: registry.host, ...LOGIN })).rejects.toMatchObject({
      fault: 'private',
    })
    const byAddress = registry.host.replace('localhost', '127.0.0.1')
    await expect(askRegistry(outbound, { registry: byAddress, ...LOGIN })).rejects.toBeInstanceOf(
      OutboundError,
    )
    expect(registry.asked).toEqual([])
  })

  test.each(['10.0.0.7', '169.254.169.254', '8.8.8.8 127.0.0.1', '::ffff:10.0.0.7', 'fd00::1'])(
    'a name that leads to %s is not asked',
    async addresses => {
      const resolve = async () => addresses.split(' ')
      const outbound = createOutbound({ privateHosts: ['other.example'], resolve })
      await expect(askRegistry(outbound, { registry: 'evil.example', ...LOGIN })).rejects.toMatchObject({
        fault: 'private',
      })
    },
  )

  test('what is checked is what is connected to: a name is looked up once for each question', async () => {
    const registry = await start('basic')
    const [, port] = registry.host.split(':')
    let lookups = 0
    const outbound = createOutbound({
      privateHosts: [`yard.example:${port}`],
      resolveListed: async () => {
        lookups++
        return ['127.0.0.1']
      },
    })
    // No name server knows this name: only the address that was given can have been connected to.
    expect(await askRegistry(outbound, { registry: `yard.example:${port}`, ...LOGIN })).toBe('accepted')
    // Over TLS in vain, then without and with the login.
    expect(lookups).toBe(3)
  })

  test('a registry that sends for tokens to a private host does not make us ask there', async () => {
    const secret = await start('open')
    const address = secret.host.replace('localhost', '127.0.0.1')
    const registry = await start((_request, response) => {
      response.writeHead(401, { 'www-authenticate': `Bearer realm="https://${address}/token"` }).end()
    })
    await expect(ask(registry)).rejects.toMatchObject({ fault: 'private' })
    expect(secret.asked).toEqual([])
  })

  test('a login is never sent in the clear over a network', async () => {
    const registry = await start((_request, response) => {
      response.writeHead(401, { 'www-authenticate': 'Bearer realm="http://public.example/token"' }).end()
    })
    const outbound = createOutbound({ privateHosts: [registry.host], resolve: async () => ['8.8.8.8'] })
    expect(await askRegistry(outbound, { registry: registry.host, ...LOGIN })).toBe('not_a_registry')
  })
})

test('challenges are read with their parameters', () => {
  const read = (...headers: string[]) =>
    parseChallenges(headers).map(({ scheme, parameters }) => [scheme, Object.fromEntries(parameters)])
  expect(read('Bearer realm="https://a.example/t?x=1,2",service="a \\"b\\"", Basic realm=plain')).toEqual([
    ['bearer', { realm: 'https://a.example/t?x=1,2', service: 'a "b"' }],
    ['basic', { realm: 'plain' }],
  ])
  expect(read('BASIC Realm="one"', 'Negotiate')).toEqual([
    ['basic', { realm: 'one' }],
    ['negotiate', {}],
  ])
  expect(read('', '"', '= = ="')).toEqual([])
})
