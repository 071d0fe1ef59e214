import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually, expectCode, never } from '../conformance/tools.ts'
import { makeCertificates } from '../docker/dockerd-fixture.ts'
import { createRegistryAccess, registryDescriptionSchema } from '../registry-access.ts'
import { createImageStore } from './image-store.ts'
import type { Patience } from './outgoing.ts'
import { pullImage } from './pull-image.ts'
import { digestOf, hasRealRegistry, makeImage, startRealRegistry, startRegistry } from './registry-fixture.ts'

/** Images are not unpacked here. */
const unlaid = {
  room: async () => ({ freeBytes: Number.MAX_SAFE_INTEGER, kept: { bytes: 0 } }),
  lay: async () => undefined,
}

const USERNAME = 'me'
const PASSWORD = 'open sesame'
const BASIC = basic(PASSWORD)
/** The same for Debian's registry, which believes bcrypt alone. */
const HTPASSWD = `${USERNAME}:$2b$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy\n`
const layer = randomBytes(5_000)
const image = makeImage([{ bytes: layer, packing: '' }], { User: 'mine' })
const patience: Patience = { silenceMs: 10_000, stretchMs: 100_000, stretchBytesMin: 1, pauseMs: 1 }
const folder = mkdtempSync(join(tmpdir(), 'berth-login-'))
let registry: Awaited<ReturnType<typeof startRegistry>>
/** Where the registry sends for tokens and blobs, and what it was told there. */
let elsewhere: Awaited<ReturnType<typeof startElsewhere>>
let dir = ''
let count = 0

beforeAll(async () => {
  registry = await startRegistry(image)
  elsewhere = await startElsewhere()
})
afterAll(() => {
  registry.close()
  elsewhere.close()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(() => {
  dir = join(folder, `${++count}`)
  elsewhere.told.length = 0
  elsewhere.gives = authorization => authorization === BASIC
})

function basic(password: string): string {
  return `Basic ${Buffer.from(`${USERNAME}:${password}`).toString('base64')}`
}

const loginWith = (password: string | null) => ({
  login: password === null ? null : { username: USERNAME, password },
  ca: null,
  also: [] as string[],
})

async function startElsewhere() {
  const told: { path: string; authorization: string | undefined }[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    const { authorization } = request.headers
    told.push({ path, authorization })
    if (path === '/asks')
      response.writeHead(401, { 'www-authenticate': `Bearer realm="${origin()}/token"` }).end()
    else if (!path.startsWith('/token')) response.end(image.blobs.get(path.slice(1)))
    else if (made.gives(authorization)) response.end('{"token":"t-1"}')
    else response.writeHead(401).end()
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const address = server.address()
  const host = `127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  const origin = () => `http://${host}`
  const made = {
    host,
    origin,
    told,
    /** To whom there is a token. */
    gives: (authorization?: string) => authorization === BASIC,
    close: () => server.close(),
  }
  return made
}

/** Lets nobody in without that, and sends whoever is in elsewhere for blobs. */
function lock(challenge: string, wanted: string, blobsAt = (digest: string) => `/${digest}`): void {
  registry.does(({ url = '', headers }: IncomingMessage, response: ServerResponse) => {
    if (headers.authorization !== wanted) {
      response.writeHead(401, { 'www-authenticate': challenge }).end()
      return true
    }
    const digest = url.split('/').at(-1) ?? ''
    if (!url.includes('/blobs/')) return false
    response.writeHead(307, { location: `${elsewhere.origin()}${blobsAt(digest)}` }).end()
    return true
  })
}

const bearer = () => `Bearer realm="${elsewhere.origin()}/token",service="s",scope="ignored"`

function pull(password: string | null, also = [elsewhere.host]) {
  const terms = { ...loginWith(password), also }
  return pullImage(dir, registry.reference, { onProgress: () => undefined, terms, patience })
}

test('a host that the registry’s entry names may have its tokens and blobs, and nobody else’s entry counts', async () => {
  const described = { host: registry.host, also: [elsewhere.host] }
  const access = createRegistryAccess([registryDescriptionSchema.parse(described)], folder)
  elsewhere.gives = () => true
  lock(bearer(), 'Bearer t-1')
  const store = createImageStore(dir, unlaid)
  const wanted = { reference: registry.reference }
  await store.pull(wanted, await access(registry.host), () => undefined, never)
  expect(elsewhere.told.map(({ path }) => path)).toContain(`/${digestOf(layer)}`)
  // What the entry of another registry names is nothing to this one.
  dir = `${dir}-other`
  const other = createRegistryAccess(
    [registryDescriptionSchema.parse({ ...described, host: 'localhost:1' })],
    folder,
  )
  const refused = createImageStore(dir, unlaid).pull(
    wanted,
    await other(registry.host),
    () => undefined,
    never,
  )
  await expectCode(refused, 'image_unavailable')
})

test('a token is asked for as nobody where there is no login, and is told to the registry alone', async () => {
  elsewhere.gives = () => true
  lock(bearer(), 'Bearer t-1')
  await pull(null)
  expect(elsewhere.told[0]?.path).toBe('/token?service=s&scope=repository%3At%2Fimage%3Apull')
  expect(elsewhere.told).toHaveLength(3)
  expect(elsewhere.told.every(({ authorization }) => authorization === undefined)).toBe(true)
})

test.each([
  ['a token', bearer, 'Bearer t-1'],
  ['a blob', () => 'Basic realm="here"', BASIC],
])('where nobody said that it may be asked for %s, it is not', async (_what, challenge, wanted) => {
  lock(challenge(), wanted)
  const refused = await pull(PASSWORD, ['127.0.0.1:1', 'localhost']).catch(error => error)
  expect(refused).toMatchObject({ fault: 'leads_astray' })
  // The operator reads what to write where.
  expect(refused.message).toContain(
    `${elsewhere.host}; \`also\` of ${registry.host} in \`registries\` may name it`,
  )
  expect(elsewhere.told).toEqual([])
})

describe('a login at a registry', () => {
  test('goes to the service that the registry names for its tokens, and to nobody who has its blobs', async () => {
    lock(bearer(), 'Bearer t-1')
    await pull(PASSWORD)
    expect(registry.asked.some(({ authorization }) => authorization?.startsWith('Basic'))).toBe(false)
    expect([...new Set(elsewhere.told.map(({ authorization }) => authorization))]).toEqual([BASIC, undefined])
    expect(elsewhere.told.filter(({ authorization }) => authorization).map(({ path }) => path)).toEqual([
      expect.stringMatching(/^\/token\?/),
    ])
  })

  test('goes to the registry where that wants it, and to nobody who has its blobs', async () => {
    lock('Basic realm="here"', BASIC)
    await pull(PASSWORD)
    expect(elsewhere.told.length).toBeGreaterThan(0)
    expect(elsewhere.told.every(({ authorization }) => authorization === undefined)).toBe(true)
  })

  test('goes to nobody whom a host of blobs names', async () => {
    lock('Basic realm="here"', BASIC, () => '/asks')
    await expect(pull(PASSWORD)).rejects.toMatchObject({ fault: 'unreachable' })
    expect(elsewhere.told.every(({ path, authorization }) => path === '/asks' && !authorization)).toBe(true)
  })

  test.each([
    ['none', null, 'needs_login'],
    ['a wrong one', 'close sesame', 'login_refused'],
  ])('%s is told as such', async (_what, password, fault) => {
    lock(bearer(), 'Bearer t-1')
    await expect(pull(password)).rejects.toMatchObject({ fault })
    lock('Basic realm="here"', BASIC)
    await expect(pull(password)).rejects.toMatchObject({ fault })
  })

  test('is in no argument, environment, file or error', async () => {
    const store = createImageStore(dir, unlaid)
    const wanted = { reference: registry.reference, owner: 'one' }
    const held = Promise.withResolvers<void>()
    registry.does(({ headers }, response) => {
      if (headers.authorization === BASIC) held.promise.then(() => response.writeHead(403).end())
      else response.writeHead(401, { 'www-authenticate': 'Basic realm="here"' }).end()
      return true
    })
    const refused = store.pull(wanted, loginWith(PASSWORD), () => undefined, never).catch(error => error)
    await eventually(async () => expect(registry.asked.at(-1)?.authorization).toBe(BASIC))
    const secrets = [PASSWORD, BASIC.slice('Basic '.length)]
    const shown = readdirSync('/proc')
      .filter(name => /^\d+$/.test(name))
      .flatMap(pid => ['cmdline', 'environ'].map(name => readOr(`/proc/${pid}/${name}`)))
    expect(shown.some(text => text.includes(registry.reference))).toBe(true)
    for (const secret of secrets) expect(shown.filter(text => text.includes(secret))).toEqual([])
    held.resolve()
    const error = await refused
    expect(error).toMatchObject({ code: 'image_login_refused' })
    const files = readdirSync(dir, { recursive: true, encoding: 'utf8' }).map(name => readOr(join(dir, name)))
    for (const secret of secrets)
      expect([inspect(error, { depth: 9 }), ...files].join('\n')).not.toContain(secret)
  })
})

test('what was fetched with a login is found by its owner alone, and no part of it by its digest', async () => {
  const store = createImageStore(dir, unlaid)
  const { reference } = registry
  const has = async (owner?: string) => (await store.find({ reference, owner })) !== null
  const pullAs = (owner: string | undefined, password: string | null) =>
    store.pull({ reference, owner }, loginWith(password), () => undefined, never)
  const isLayer = ({ url }: { url: string }) => url.endsWith(digestOf(layer))
  const ask = (answer: (request: IncomingMessage) => number) =>
    registry.does((request, response) => {
      const status = answer(request)
      if (status === 200) return false
      response.writeHead(status, { 'www-authenticate': 'Basic realm="here"' }).end()
      return true
    })

  ask(({ headers }) => (headers.authorization === BASIC ? 200 : 401))
  await pullAs('one', PASSWORD)
  expect([await has('one'), await has('two'), await has()]).toEqual([true, false, false])
  await expectCode(pullAs('two', null), 'image_needs_login')
  await expectCode(pullAs(undefined, null), 'image_needs_login')
  await expectCode(pullAs('two', 'wrong'), 'image_login_refused')

  // A registry gives anybody a list of layers; the layer itself is another matter.
  ask(({ url = '', headers }) => (headers.authorization === BASIC || !isLayer({ url }) ? 200 : 404))
  await expectCode(pullAs('two', null), 'image_not_found')
  expect([await has('two'), await has()]).toEqual([false, false])

  // Once it is for everybody, it is everybody's, and an owner need not fetch it again.
  ask(() => 200)
  await pullAs(undefined, null)
  expect(await has('two')).toBe(true)
  ask(({ headers }) => (headers.authorization === BASIC ? 200 : 401))
  await store.pull(
    { reference: `${registry.host}/t/other:1`, owner: 'three' },
    loginWith(PASSWORD),
    () => undefined,
    never,
  )
  expect(registry.asked.filter(isLayer)).toEqual([])
})

if (!hasRealRegistry) process.stdout.write('SKIP a real registry by TLS: docker-registry is not installed\n')

describe.skipIf(!hasRealRegistry)('a real registry by TLS, with a login', () => {
  test('gives its image of this kind of computer by what the operator wrote of it, and says what is wrong', async () => {
    const real = await startRealRegistry(image)
    try {
      await makeCertificates(folder)
      const at = (name: string) => join(folder, name)
      writeFileSync(at('htpasswd'), HTPASSWD)
      await real.lock({ certificate: at('server.pem'), key: at('server-key.pem'), htpasswd: at('htpasswd') })
      const store = createImageStore(dir, unlaid)
      const wanted = { reference: `${real.name}:many` }
      const pullBy = async (described: object) => {
        const parsed = registryDescriptionSchema.parse({ host: real.host, ...described })
        const access = createRegistryAccess([parsed], folder)
        return store.pull(wanted, await access(real.host), () => undefined, never)
      }
      const login = { username: USERNAME, password_file: 'password' }
      writeFileSync(at('password'), 'wrong\n')
      // Without the authority it is asked as one that speaks no TLS, as it is on this computer.
      await expectCode(pullBy(login), 'registry_unreachable')
      await expectCode(pullBy({ ...login, ca_file: 'client.pem' }), 'registry_unreachable')
      await expectCode(pullBy({ ca_file: 'ca.pem' }), 'image_needs_login')
      await expectCode(pullBy({ ...login, ca_file: 'ca.pem' }), 'image_login_refused')
      await expectCode(pullBy({ ...login, ca_file: 'gone.pem' }), 'failed')
      // A file is read at each pull.
      writeFileSync(at('password'), `${PASSWORD}\n`)
      await pullBy({ ...login, ca_file: 'ca.pem' })
      expect(await store.find(wanted)).toMatchObject({
        record: { manifest: digestOf(image.manifest), user: 'mine' },
      })
    } finally {
      await real.close()
    }
  })
})

describe('what an operator says of a registry', () => {
  const login = { username: 'me', password_file: 'password' }

  test('is about one host, by whichever of its names', () => {
    const hosts = ['docker.io', 'index.docker.io', 'ghcr.io', 'localhost:5000']
    expect(hosts.map(host => registryDescriptionSchema.parse({ host, ...login }).host)).toEqual([
      'registry-1.docker.io',
      'registry-1.docker.io',
      'ghcr.io',
      'localhost:5000',
    ])
  })

  test.each([
    ['a host that is none', { host: 'https://ghcr.io', ...login }, 'host'],
    ['a path', { host: 'ghcr.io/me', ...login }, 'host'],
    ['a line break', { host: 'ghcr.io\n', ...login }, 'host'],
    ['no password', { host: 'ghcr.io', username: 'me' }, 'password_file'],
    ['nobody', { host: 'ghcr.io', password_file: 'password' }, 'username'],
    ['nothing', { host: 'ghcr.io' }, 'username'],
    ['an address in place of another host', { host: 'ghcr.io', also: ['https://ghcr.io'] }, 'also'],
    ['a colon in the name', { host: 'ghcr.io', ...login, username: 'a:b' }, 'username'],
  ])('is refused with %s', (_what, described, field) => {
    const { error } = registryDescriptionSchema.safeParse(described)
    expect(error?.issues[0]?.path[0]).toBe(field)
  })
})

/** What a file holds; empty for what is none, or not ours to read. */
function readOr(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
