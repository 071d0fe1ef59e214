import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { ConfigError, readConfig, withFiles } from './config.ts'

const root = resolve(import.meta.dirname, '../../../../..')

describe('settings', () => {
  test('that are not given have defaults that work on one machine', () => {
    expect(readConfig({})).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      publicUrl: null,
      serviceHost: 'localhost',
      dataDir: resolve(root, 'data'),
      databaseUrl: null,
      catalogueFile: resolve(root, 'config/catalogue.yaml'),
      findModels: true,
      localModel: null,
      localModelEngine: null,
      compute: 'auto',
      smtp: null,
      captcha: { kind: 'default' },
      demo: 'auto',
      instancesPerCustomer: 20,
      warnings: [],
    })
  })

  test('that are given empty count as not given', () => {
    expect(readConfig({ BERTH_PORT: '', DATABASE_URL: ' ', BERTH_PUBLIC_URL: '' })).toEqual(readConfig({}))
  })

  test('are read', () => {
    expect(
      readConfig({
        BERTH_HOST: '0.0.0.0',
        BERTH_PORT: '0',
        BERTH_PUBLIC_URL: 'https://gpu.example.com/',
        BERTH_SERVICE_HOST: 'apps.example.net',
        BERTH_TRUSTED_PROXIES: '10.0.0.0/8, ::1',
        BERTH_MACHINE_NETWORKS: '10.1.2.0/24, fd12::7',
        BERTH_DATA_DIR: '/var/lib/berth',
        SMTP_URL: 'smtp://mail:25',
        MAIL_FROM: 'Berth <no-reply@example.com>',
      }),
    ).toMatchObject({
      port: 0,
      publicUrl: 'https://gpu.example.com',
      trustedProxies: ['10.0.0.0/8', '::1'],
      machineNetworks: ['10.1.2.0/24', 'fd12::7'],
      dataDir: '/var/lib/berth',
      smtp: { url: 'smtp://mail:25', from: 'Berth <no-reply@example.com>' },
    })
  })

  test('may name where images are kept: a folder, or a repository of a registry by TLS', () => {
    const stores = (BERTH_IMAGE_STORE: string) => readConfig({ BERTH_IMAGE_STORE }).imageStore
    expect(readConfig({ BERTH_DATA_DIR: '/var/lib/berth' }).imageStore).toEqual({
      kind: 'folder',
      folder: '/var/lib/berth/images',
      bytesMax: 1024e9,
    })
    expect(stores('/mnt/images')).toMatchObject({ kind: 'folder', folder: '/mnt/images' })
    expect(stores('https://me:se%20cret@registry.internal:5000/berth/images')).toMatchObject({
      kind: 'registry',
      origin: 'https://registry.internal:5000',
      repository: 'berth/images',
      login: { username: 'me', password: 'se cret' },
    })
    expect(stores('http://127.0.0.1:5000/images')).toMatchObject({ kind: 'registry', login: null })
    expect(stores('s3+https://AK:se%2Fcret@s3.internal:9000/berth/prod/images?region=eu-1')).toMatchObject({
      ...{ kind: 'bucket', endpoint: 'https://s3.internal:9000', region: 'eu-1', bucket: 'berth' },
      ...{ prefix: 'prod/images/', accessKeyId: 'AK', secretAccessKey: 'se/cret' },
    })
    expect(stores('s3+http://a:b@127.0.0.1:7070/berth')).toMatchObject({ region: 'us-east-1', prefix: '' })
    for (const wrong of [
      's3+http://a:b@s3.internal/berth',
      's3+https://s3.internal/berth',
      's3+https://a:b@s3.internal',
      's3+https://a:b@s3.internal/Berth',
      's3+https://a:b@s3.internal/berth/..%2f?region=x',
      's3+https://a:b@s3.internal/berth?acl=x',
      'http://registry.internal/images',
      'https://registry.internal',
      'https://r/Images?x',
    ])
      expect(() => stores(wrong)).toThrow(/BERTH_IMAGE_STORE takes/)
    expect(() => stores('http://me:secret@r.internal/images')).not.toThrow('secret')
  })

  test('may name keys for what customers entrust, and registries that are private', () => {
    const key = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='
    expect(
      readConfig({
        BERTH_CREDENTIALS_KEY: key,
        BERTH_CREDENTIALS_KEY_FORMER: `${key}, ${key}`,
        BERTH_PRIVATE_REGISTRIES: 'Registry.internal, localhost:5000,10.0.0.7:443',
      }),
    ).toMatchObject({
      credentialsKey: key,
      formerCredentialsKeys: [key, key],
      privateRegistries: ['registry.internal', 'localhost:5000', '10.0.0.7:443'],
    })
    const wrong = 'c2hvcnQ='
    expect(() => readConfig({ BERTH_CREDENTIALS_KEY: wrong })).toThrow(/BERTH_CREDENTIALS_KEY takes 32 bytes/)
    expect(() => readConfig({ BERTH_CREDENTIALS_KEY: wrong })).not.toThrow(wrong)
    expect(() => readConfig({ BERTH_PRIVATE_REGISTRIES: 'https://registry.internal' })).toThrow(ConfigError)
  })

  test('may name a database by a Unix socket', () => {
    const databaseUrl = 'postgresql://berth:secret@/berth?host=%2Frun%2Fpostgresql'
    expect(readConfig({ DATABASE_URL: databaseUrl }).databaseUrl).toBe(databaseUrl)
  })

  test('cannot be changed afterwards', () => {
    const config = readConfig({ BERTH_TRUSTED_PROXIES: '10.0.0.1' })
    expect(() => Object.assign(config, { port: 1 })).toThrow(TypeError)
    expect(() => (config.trustedProxies as string[]).push('x')).toThrow(TypeError)
  })
})

describe('a wrong setting is named, with what it takes and what it got', () => {
  test.each([
    [
      'BERTH_PORT',
      '80800',
      'BERTH_PORT takes a port, 1 to 65535, or 0 for any that is free; it got "80800".',
    ],
    ['BERTH_PORT', 'http', 'it got "http".'],
    ['BERTH_HOST', 'a b', 'BERTH_HOST takes'],
    ['BERTH_PUBLIC_URL', 'gpu.example.com', 'such as https://gpu.example.com'],
    ['BERTH_PUBLIC_URL', 'https://gpu.example.com/console', 'without a path'],
    ['BERTH_SERVICE_HOST', 'Apps.example.com', 'in lower case'],
    ['BERTH_TRUSTED_PROXIES', 'proxy.local', 'addresses or networks'],
    ['BERTH_MACHINE_NETWORKS', '10.0.0.0/33', 'addresses or networks'],
    ['BERTH_MACHINE_NETWORKS', 'fd00::/129', 'addresses or networks'],
    ['BERTH_MACHINE_NETWORKS', '10.0.0.1 -j ACCEPT', 'addresses or networks'],
    ['BERTH_UNFILTERED_MACHINES', 'yes', 'takes auto or machines-may-reach-private-networks'],
    ['BERTH_COMPUTE', 'podman', 'BERTH_COMPUTE takes auto, docker, sandbox or none; it got "podman".'],
    ['BERTH_CAPTCHA', 'recaptcha', 'takes default, turnstile, hcaptcha or none; it got "recaptcha".'],
    ['BERTH_METERING_MS', '10', 'milliseconds, 100 to 3600000'],
    ['BERTH_LOG_LEVEL', 'loud', 'it got "loud"'],
  ])('%s=%s', (name, value, message) => {
    expect(() => readConfig({ [name]: value })).toThrow(ConfigError)
    expect(() => readConfig({ [name]: value })).toThrow(message)
  })

  test('all at once, one line for each', () => {
    const attempt = () => readConfig({ BERTH_PORT: 'x', BERTH_COMPUTE: 'y' })
    expect(attempt).toThrow(/^BERTH_PORT .*\nBERTH_COMPUTE .*$/)
  })

  test.each(['DATABASE_URL', 'SMTP_URL'])('but never shown where it may hold a password: %s', name => {
    const attempt = () => readConfig({ [name]: 'mysql://me:hunter2@host/db', MAIL_FROM: 'a@b.c' })
    expect(attempt).toThrow(name)
    expect(attempt).not.toThrow(/hunter2/)
  })
})

describe('settings that do not go together', () => {
  test('a mail server without a sender', () => {
    expect(() => readConfig({ SMTP_URL: 'smtp://mail:25' })).toThrow('MAIL_FROM is needed with SMTP_URL')
  })

  test('direct ports that others reach, without which and where', () => {
    const host = { BERTH_DIRECT_HOST: '203.0.113.7' }
    const ports = { BERTH_DIRECT_PORTS: '30000-30999' }
    expect(() => readConfig(host)).toThrow('BERTH_DIRECT_PORTS is needed')
    expect(() => readConfig(ports)).toThrow('BERTH_DIRECT_HOST is needed')
    expect(() => readConfig({ BERTH_DIRECT_NAME: 'direct.example.com' })).toThrow(
      'BERTH_DIRECT_NAME is of no use',
    )
    expect(() => readConfig({ BERTH_DIRECT_HOST: '0.0.0.0', ...ports })).toThrow(
      'BERTH_DIRECT_NAME is needed',
    )
    expect(readConfig({ ...host, ...ports }).direct).toEqual({
      host: '203.0.113.7',
      name: null,
      ports: { first: 30_000, last: 30_999 },
    })
    for (const wrong of ['80-90', '30000', '30999-30000', '60000-70000']) {
      expect(() => readConfig({ ...host, BERTH_DIRECT_PORTS: wrong })).toThrow('BERTH_DIRECT_PORTS takes')
    }
  })

  test.each(['turnstile', 'hcaptcha'])('the captcha service %s without its keys', kind => {
    const keys = { BERTH_CAPTCHA_SITE_KEY: 'site', BERTH_CAPTCHA_SECRET: 's3cret' }
    const attempt = (settings: object) => () => readConfig({ BERTH_CAPTCHA: kind, ...settings })
    expect(attempt({})).toThrow(`BERTH_CAPTCHA_SITE_KEY is needed with BERTH_CAPTCHA=${kind}`)
    expect(attempt({ BERTH_CAPTCHA_SITE_KEY: 'site' })).toThrow('BERTH_CAPTCHA_SECRET is needed')
    expect(attempt(keys)().captcha).toEqual({ kind, siteKey: 'site', secret: 's3cret' })
    expect(() => readConfig(keys)).toThrow(/belongs to a captcha service(.|\n)*belongs to a captcha service/)
    expect(() => readConfig(keys)).not.toThrow(/s3cret/)
  })

  test("the console below the instances' domain", () => {
    const settings = {
      BERTH_PUBLIC_URL: 'https://gpu.apps.example.com',
      BERTH_SERVICE_HOST: 'apps.example.com',
    }
    expect(() => readConfig(settings)).toThrow('must not lie below BERTH_SERVICE_HOST')
    expect(readConfig({ ...settings, BERTH_PUBLIC_URL: 'https://apps.example.com' }).publicUrl).not.toBeNull()
  })
})

test('a name that is no setting is told, because it may be a misspelt one', () => {
  expect(readConfig({ BERTH_PROT: '1', PATH: '/bin' }).warnings).toEqual([
    'BERTH_PROT is not a setting and is ignored. docs/operating.md lists them all.',
  ])
})

test('SSH listens where the console does, or at an interface of its own', () => {
  expect(readConfig({ BERTH_HOST: '10.0.0.7' }).sshHost).toBe('10.0.0.7')
  expect(readConfig({ BERTH_SSH_HOST: '0.0.0.0' })).toMatchObject({ host: '127.0.0.1', sshHost: '0.0.0.0' })
})

describe('traces', () => {
  const read = (settings: Record<string, string>) =>
    readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', ...settings }).traces

  test('are sent where a collector is set, below its address, with the headers that it wants', () => {
    expect(readConfig({ OTEL_EXPORTER_OTLP_HEADERS: 'a=b' }).traces).toBeNull()
    expect(read({})).toEqual({ url: 'http://127.0.0.1:4318/v1/traces', headers: {}, share: 1 })
    const given = { OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%2Cb, team=gpu', OTEL_TRACES_SAMPLER_ARG: '0.05' }
    expect(read({ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://otlp.example.com/tenant', ...given })).toEqual({
      url: 'https://otlp.example.com/tenant/v1/traces',
      headers: { 'api-key': 'a,b', team: 'gpu' },
      share: 0.05,
    })
  })

  test('that are set wrongly are named, without keys', () => {
    expect(() => read({ OTEL_TRACES_SAMPLER_ARG: '2' })).toThrow('OTEL_TRACES_SAMPLER_ARG takes a number')
    const keys = () => read({ OTEL_EXPORTER_OTLP_HEADERS: 'hunter2' })
    expect(keys).toThrow('OTEL_EXPORTER_OTLP_HEADERS takes names and values')
    expect(keys).not.toThrow('hunter2')
    expect(() => read({ OTEL_EXPORTER_OTLP_HEADERS: 'a=%zz' })).toThrow('OTEL_EXPORTER_OTLP_HEADERS')
    expect(() => read({ OTEL_EXPORTER_OTLP_ENDPOINT: 'grpc://x' })).toThrow('OTEL_EXPORTER_OTLP_ENDPOINT')
  })
})

describe('secrets in files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-config-'))
  const file = join(folder, 'database')
  writeFileSync(file, '\n postgresql://me:hunter2@db/berth \n')
  afterAll(() => rmSync(folder, { recursive: true }))

  test('are taken from there, and are no settings of their own', () => {
    const config = readConfig(withFiles({ DATABASE_URL_FILE: file, BERTH_PORT: '81' }))
    expect(config).toMatchObject({ databaseUrl: 'postgresql://me:hunter2@db/berth', port: 81, warnings: [] })
  })

  test('that cannot be read, or are given in both ways, are named; what is no secret is in no file', () => {
    const missing = () => withFiles({ DATABASE_URL_FILE: join(folder, 'none') })
    expect(missing).toThrow(
      /DATABASE_URL_FILE takes a file that the gateway can read; of .*none it got ENOENT/,
    )
    const twice = { SMTP_URL: 'smtp://a', SMTP_URL_FILE: file }
    expect(() => withFiles(twice)).toThrow('SMTP_URL and SMTP_URL_FILE are given')
    expect(readConfig(withFiles({ BERTH_PORT_FILE: file })).warnings).toEqual([
      'BERTH_PORT_FILE is not a setting and is ignored. docs/operating.md lists them all.',
    ])
  })

  test('that hold something else are named by their setting, without what they hold', () => {
    const wrong = () => readConfig(withFiles({ BERTH_MASTER_KEY_FILE: file }))
    expect(wrong).toThrow('BERTH_MASTER_KEY takes 32 bytes')
    expect(wrong).not.toThrow('hunter2')
  })
})

describe('services to sign in through', () => {
  const acme = {
    name: 'acme',
    type: 'oidc',
    issuer: 'https://login.acme.example/',
    client_id: 'berth',
    client_secret: 'hunter2',
  }
  const read = (...providers: unknown[]) =>
    readConfig({ BERTH_SIGN_IN_PROVIDERS: JSON.stringify(providers) }).signInProviders

  test('are none unless they are given', () => {
    expect(readConfig({}).signInProviders).toEqual([])
  })

  test('are read, with what is left out filled in', () => {
    const github = { name: 'github', type: 'github', client_id: 'a', client_secret: 'b' }
    expect(read(acme, github)).toEqual([
      { ...acme, scopes: 'openid email profile' },
      { ...github, display_name: 'GitHub', base_url: 'https://github.com' },
    ])
  })

  test.each(['http://127.0.0.1:4000', 'http://localhost:4000/realm', 'http://[::1]:4000'])(
    'may be spoken to without TLS on this computer: %s',
    issuer => {
      expect(read({ ...acme, issuer })).toMatchObject([{ issuer }])
    },
  )

  test.each([
    ['no JSON', '[{"name":"acme","client_secret":hunter2}]', 'is not valid JSON'],
    ['no list', '{}', 'takes a JSON list'],
    ['another type', [{ ...acme, type: 'saml' }], ': [0].type takes a type, which is oidc or github'],
    ['no secret', [{ ...acme, client_secret: undefined }], ': [0].client_secret takes a text'],
    [
      'no TLS',
      [acme, { ...acme, name: 'b', issuer: 'http://b.example' }],
      ': [1].issuer takes an https address',
    ],
    [
      'a password in the address',
      [{ ...acme, issuer: 'https://a:hunter2@b' }],
      ': [0].issuer takes an https',
    ],
    [
      'a name with a space',
      [{ ...acme, name: 'ACME Corp' }],
      ': [0].name takes a name of lower-case letters',
    ],
    ['a name twice', [acme, acme], ': [1].name takes a name that no other entry has'],
    ['scopes without openid', [{ ...acme, scopes: 'email' }], ': [0].scopes takes scopes'],
    ['a misspelt field', [{ ...acme, isuer: 'x' }], ': [0] Unrecognized key: "isuer"'],
  ])('%s is named by its field, and no secret is shown', (_, given, message) => {
    const value = typeof given === 'string' ? given : JSON.stringify(given)
    const attempt = () => readConfig({ BERTH_SIGN_IN_PROVIDERS: value })
    expect(attempt).toThrow(ConfigError)
    expect(attempt).toThrow(`BERTH_SIGN_IN_PROVIDERS${message.startsWith(':') ? '' : ' '}${message}`)
    expect(attempt).not.toThrow(/hunter2/)
  })
})

describe('Casdoor', () => {
  const whole = {
    CASDOOR_URL: 'https://door.example.com/',
    CASDOOR_CLIENT_ID: 'id',
    CASDOOR_CLIENT_SECRET: 'not-to-be-shown',
    CASDOOR_ORGANIZATION: 'harbour',
    CASDOOR_APPLICATION: 'harbour-console',
  }

  test('[R1.8] keeps the accounts where all of its settings are given, and nobody else where none is', () => {
    expect(readConfig({}).casdoor).toBeNull()
    expect(readConfig(whole).casdoor).toEqual({
      url: 'https://door.example.com',
      clientId: 'id',
      clientSecret: 'not-to-be-shown',
      organization: 'harbour',
      application: 'harbour-console',
    })
  })

  test.each([
    [
      'without its address',
      { ...whole, CASDOOR_URL: '' },
      /CASDOOR_CLIENT_ID is of no use without CASDOOR_URL/,
    ],
    ['without a secret', { ...whole, CASDOOR_CLIENT_SECRET: '' }, /CASDOOR_CLIENT_SECRET is needed/],
    [
      'by an address with a path',
      { ...whole, CASDOOR_URL: 'https://example.com/door' },
      /^CASDOOR_URL takes/,
    ],
    [
      'in an organization with a slash',
      { ...whole, CASDOOR_ORGANIZATION: 'a/b' },
      /^CASDOOR_ORGANIZATION takes/,
    ],
  ])('%s is a mistake that says so, and shows no secret', (_, environment, message) => {
    expect(() => readConfig(environment)).toThrow(message)
    expect(() => readConfig(environment)).not.toThrow('not-to-be-shown')
  })
})

describe('Stripe', () => {
  const whole = {
    BERTH_STRIPE_SECRET_KEY: 'sk_live_nottobeshown',
    BERTH_STRIPE_PUBLISHABLE_KEY: 'pk_live_0123456789',
    BERTH_STRIPE_WEBHOOK_SECRET: 'whsec_0123456789',
  }

  test('is paid by where its secrets are given, with or without its script, and by nobody where none is', () => {
    expect(readConfig({}).stripe).toBeNull()
    expect(readConfig(whole).stripe).toEqual({
      secretKey: 'sk_live_nottobeshown',
      publishableKey: 'pk_live_0123456789',
      webhookSecret: 'whsec_0123456789',
      live: true,
      apiUrl: null,
    })
    expect(readConfig({ ...whole, BERTH_STRIPE_PUBLISHABLE_KEY: '' }).stripe?.publishableKey).toBeNull()
    const double = { ...whole, BERTH_STRIPE_API: 'http://127.0.0.1:12111/' }
    expect(readConfig(double).stripe?.apiUrl).toBe('http://127.0.0.1:12111')
  })

  test.each([
    [
      'without the secret key',
      { ...whole, BERTH_STRIPE_SECRET_KEY: '' },
      /WEBHOOK_SECRET is of no use without/,
    ],
    [
      'without the webhook’s secret',
      { ...whole, BERTH_STRIPE_WEBHOOK_SECRET: '' },
      /WEBHOOK_SECRET is needed/,
    ],
    ['with keys of two modes', { ...whole, BERTH_STRIPE_PUBLISHABLE_KEY: 'pk_test_0123456789' }, /two modes/],
    [
      'with keys changed for each other',
      { ...whole, BERTH_STRIPE_SECRET_KEY: 'pk_live_nottobeshown' },
      /SECRET_KEY takes/,
    ],
    [
      'in plain words over the net',
      { ...whole, BERTH_STRIPE_API: 'http://192.0.2.1' },
      /^BERTH_STRIPE_API takes/,
    ],
    ['of another place alone', { BERTH_STRIPE_API: 'https://stripe.example.com' }, /is of no use without/],
  ])('%s is a mistake that says so, and shows no secret', (_, environment, message) => {
    expect(() => readConfig(environment)).toThrow(message)
    expect(() => readConfig(environment)).not.toThrow('nottobeshown')
  })
})
