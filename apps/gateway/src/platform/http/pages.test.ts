import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { startTestServer, type TestServer } from '../../../test/test-server.ts'
import { readBrandFiles } from '../config/brand-files.ts'
import { brands } from '../config/brands.ts'

const LOGO = '<svg xmlns="http://www.w3.org/2000/svg"/>'
const SCRIPT = 'export const answer = 42\n'.repeat(100)

let database: TestDatabase
let consoleDir: string
/** Warnings and errors of the server. */
const logged: string[] = []
let server: TestServer
beforeAll(async () => {
  database = await createTestDatabase()
  consoleDir = makeConsole()
  const log = pino({ level: 'warn' }, { write: line => void logged.push(line) })
  server = await startTestServer(database.db, [], { consoleDir, log })
})
afterAll(async () => {
  await server.close(1_000)
  await database.drop()
  rmSync(consoleDir, { recursive: true })
})

describe("the console's page", () => {
  test.each(['/', '/instance-list', '/auth?ticket=a.b&redirect=%2F', '/activty'])(
    'answers %s',
    async path => {
      const answer = await fetch(server.origin + path)
      expect(answer.status).toBe(200)
      expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(await answer.text()).toContain('<div id="root">')
    },
  )

  test('carries a nonce that is new each time, wherever the build asked for one', async () => {
    const nonces = new Set<string>()
    for (let n = 0; n < 3; n++) {
      const answer = await fetch(server.origin)
      const policy = answer.headers.get('content-security-policy') ?? ''
      const nonce = /script-src 'self' 'nonce-([A-Za-z0-9+/=]{22,})'/.exec(policy)?.[1] ?? 'none'
      nonces.add(nonce)
      expect(policy).toContain(`style-src 'self' 'nonce-${nonce}'`)
      const html = await answer.text()
      expect(html.split(`"${nonce}"`)).toHaveLength(3)
      expect(html).not.toContain('__CSP_NONCE__')
    }
    expect(nonces.size).toBe(3)
  })

  test('allows nothing inline, nothing foreign, and no frame around it', async () => {
    const { headers } = await fetch(server.origin)
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).not.toContain('unsafe')
    expect(policy).not.toMatch(/https?:/)
    expect(policy).toContain(
      `connect-src 'self' ws://127.0.0.1:${server.port} wss://127.0.0.1:${server.port}`,
    )
    for (const directive of ["frame-ancestors 'none'", "object-src 'none'", "base-uri 'none'"]) {
      expect(policy).toContain(directive)
    }
    // A mailed link's secret stands in an address: no later page may learn it.
    expect(headers.get('referrer-policy')).toBe('strict-origin')
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
  })

  test('allows the origins of a captcha service on the sign-in page alone, and only what it names', async () => {
    const origin = 'https://captcha.example'
    const signInSources = {
      script: [origin],
      frame: [origin, 'https://*.frames.example'],
      style: [],
      connect: [],
    }
    const open = await startTestServer(database.db, [], { consoleDir, signInSources })
    try {
      const policyOf = async (path: string) => {
        const { headers } = await fetch(open.origin + path)
        return (
          headers
            .get('content-security-policy')
            ?.split(';')
            .map(part => part.trim().replace(/ +/g, ' ')) ?? []
        )
      }
      const signIn = await policyOf('/auth?mode=login')
      expect(signIn).toContainEqual(
        expect.stringMatching(/^script-src 'self' 'nonce-[^']+' https:\/\/captcha\.example$/),
      )
      expect(signIn).toContain(`frame-src 'self' ${origin} https://*.frames.example`)
      expect(signIn.find(part => part.startsWith('style-src'))).not.toContain('captcha')
      for (const path of ['/', '/instance-list', '/auth/other']) {
        expect((await policyOf(path)).join(';')).not.toMatch(/https:/)
      }
    } finally {
      await open.close(0)
    }
  })

  test('allows what a way to pay loads on every page, beside what the sign-in page may', async () => {
    const of = (origin: string) => ({ script: [origin], frame: [origin], style: [], connect: [origin] })
    const given = { sources: of('https://pay.example'), signInSources: of('https://captcha.example') }
    const open = await startTestServer(database.db, [], { consoleDir, ...given })
    try {
      for (const [path, origins] of [
        ['/payments', 'https://pay.example'],
        ['/auth', 'https://pay.example https://captcha.example'],
      ] as const) {
        const policy = (await fetch(open.origin + path)).headers.get('content-security-policy') ?? ''
        const parts = policy.split(';').map(part => part.trim().replace(/ +/g, ' '))
        expect(parts).toContain(`frame-src 'self' ${origins}`)
        expect(parts.find(part => part.startsWith('script-src'))).toMatch(new RegExp(` ${origins}$`))
        expect(parts.find(part => part.startsWith('style-src'))).not.toContain('example')
      }
    } finally {
      await open.close(0)
    }
  })

  test('names the scripts and texts of its path, and none on a path that is unknown', async () => {
    const known = await (await fetch(`${server.origin}/auth?mode=signup`)).text()
    expect(known).toContain('<link rel="modulepreload" crossorigin href="/assets/auth-abc123.js"></head>')
    expect(known).toContain('data-texts="common auth"')
    const unknown = await (await fetch(`${server.origin}/constructor`)).text()
    expect(unknown).not.toContain('modulepreload')
    expect(unknown).toContain('data-texts=""')
  })

  test('is not answered for paths of the gateway', async () => {
    const answer = await fetch(`${server.origin}/gateway/nothing`)
    expect(answer.status).toBe(404)
    expect(await answer.json()).toMatchObject({ status: 'error', code: 'not_found' })
  })

  test('says plainly that it is not built', async () => {
    const bare = await startTestServer(database.db, [], { consoleDir: join(consoleDir, 'missing') })
    const answer = await fetch(bare.origin)
    expect(answer.status).toBe(503)
    expect(await answer.text()).toContain('The console is not built')
    await bare.close(500)
  })
})

describe('files', () => {
  test('with a hash in their name are kept for ever', async () => {
    const url = `${server.origin}/assets/index-abc123.js`
    const answer = await fetch(url, { headers: { 'accept-encoding': 'gzip, br' } })
    expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(answer.headers.get('content-type')).toMatch(/javascript/)
    expect(answer.headers.get('content-encoding')).toBe('br')
    expect(await answer.text()).toBe(SCRIPT)
  })

  test('are sent as they are to who takes no compression', async () => {
    const answer = await fetch(`${server.origin}/assets/index-abc123.js`, {
      headers: { 'accept-encoding': 'identity' },
    })
    expect(answer.headers.get('content-encoding')).toBeNull()
    expect(await answer.text()).toBe(SCRIPT)
  })

  test('that the build left uncompressed are compressed at start', async () => {
    const url = `${server.origin}/assets/style-abc123.css`
    const encoding = async () =>
      (await fetch(url, { headers: { 'accept-encoding': 'gzip' } })).headers.get('content-encoding')
    await expect.poll(encoding).toBe('gzip')
  })

  test('[R2.15] of texts are kept shortly and checked by their tag', async () => {
    const url = `${server.origin}/locales/en/common.json`
    const answer = await fetch(url)
    expect(answer.headers.get('cache-control')).toBe('public, max-age=60')
    const etag = answer.headers.get('etag') ?? ''
    const headers = { 'if-none-match': etag, 'cache-control': 'max-age=0' }
    expect((await fetch(url, { headers })).status).toBe(304)
  })

  test.each([
    '/assets/missing.js',
    '/locales/xx/common.json',
    '/favicon.png',
    '/../secret.txt',
    '/.hidden',
    '/%2e%2e/secret.txt',
  ])('that are not there are not found: %s', async path => {
    const answer = await fetch(server.origin + path)
    expect(answer.status).toBe(404)
    expect(await answer.text()).not.toContain('hidden')
  })
})

test.each([
  '/assets/../../secret.txt',
  '/assets/..%2f..%2fsecret.txt',
  '/assets/..%5c..%5csecret.txt',
  '/assets/%00',
  '/assets/%00.js',
  '/assets/%zz',
  `/assets/${'a'.repeat(300)}.js`,
])('an address that leads out of the folder is not found, which is no fault of ours: %s', async path => {
  const loggedBefore = logged.length
  // Whoever asks in good faith resolves such an address first; a socket does not.
  expect(await statusOf(path)).toBe(404)
  expect(logged.slice(loggedBefore)).toEqual([])
})

describe('[R7.9] the document', () => {
  test('is served, with a page to read it by', async () => {
    const document = await fetch(`${server.origin}/gateway/openapi.json`)
    expect(await document.json()).toMatchObject({ openapi: '3.1.0' })
    const page = await fetch(`${server.origin}/gateway/docs`)
    expect(page.status).toBe(200)
    const html = await page.text()
    const nonce = /'nonce-([^']+)'/.exec(page.headers.get('content-security-policy') ?? '')?.[1]
    expect(html).toContain(`nonce="${nonce}"`)
    expect(html).not.toContain('__CSP_NONCE__')
  })

  test('needs nothing from anywhere else', async () => {
    const html = await (await fetch(`${server.origin}/gateway/docs/`)).text()
    const sources = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(match => match[1] ?? '')
    expect(sources.length).toBeGreaterThan(0)
    for (const source of sources) expect(source).not.toMatch(/^(https?:)?\/\//)
    const script = await fetch(`${server.origin}/gateway/docs/js/scalar.js`)
    expect(script.headers.get('content-type')).toMatch(/javascript/)
  })
})

describe('[R1.10] two brands on two hosts', () => {
  const analytics = {
    script_url: 'https://stats.north.example/script.js',
    connect_urls: ['https://in.north.example/v1'],
  }
  const shown = {
    name: 'North & "Sons"',
    docs_url: 'https://docs.north.example',
    image_storage_url: 'https://images.north.example',
    accent: { light: '#6b3fa0', dark: '#c39bff' },
    logo: { light: 'north.svg', dark: 'https://cdn.north.example/dark.png' },
    analytics,
  }
  let branded: TestServer
  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-test-brands-'))
    writeFileSync(join(folder, 'north.svg'), LOGO)
    const list = brands.parse([
      { ...shown, hosts: ['console.north.example'], production: true },
      { ...shown, hosts: ['staging.north.example'] },
      { hosts: ['default'], name: 'Berth', docs_url: '/gateway/docs' },
    ])
    branded = await startTestServer(database.db, [], {
      consoleDir,
      brands: readBrandFiles(list, folder),
      payments: 'test',
    })
    rmSync(folder, { recursive: true })
  })
  afterAll(() => branded.close(500))
  const page = (host: string) => askAs(branded.port, host, '/instance-list')

  test('each page has its own name, mark and colours before any script runs', async () => {
    const ours = await page('localhost')
    expect(ours.text).toContain('<title>Berth</title>')
    expect(ours.text).toContain('href="/favicon.svg"')
    expect(ours.text).not.toContain('<style')
    expect(JSON.parse(brandSaid(ours.text))).toEqual({ name: 'Berth', logo: null })

    const theirs = await page('console.north.example')
    expect(theirs.text).toContain('<title>North &#38; &#34;Sons&#34;</title>')
    expect(JSON.parse(brandSaid(theirs.text))).toEqual({
      name: 'North & "Sons"',
      logo: { light: expect.stringMatching(/^\/brand\/[0-9a-f]{16}\.svg$/), dark: shown.logo.dark },
    })
    expect(theirs.text).not.toContain('favicon.svg')
    const nonce = /'nonce-([^']+)'/.exec(theirs.policy)?.[1]
    expect(theirs.text).toContain(`<style nonce="${nonce}">`)
    expect(theirs.text).toContain(':root[data-mantine-color-scheme="light"]{--accent:#6b3fa0;')
    expect(theirs.text).not.toContain('Berth')
  })

  test('only the production host’s policy names the origin of its analytics; the nonce stays', async () => {
    const policies = {
      production: (await page('console.north.example')).policy,
      staging: (await page('staging.north.example')).policy,
      other: (await page('127.0.0.1')).policy,
    }
    const script = (policy: string) => /script-src ([^;]*)/.exec(policy)?.[1]?.trim()
    const connect = (policy: string) => /connect-src ([^;]*)/.exec(policy)?.[1]?.trim()
    expect(script(policies.production)).toMatch(/^'self' 'nonce-[^']+' https:\/\/stats\.north\.example$/)
    expect(connect(policies.production)).toMatch(
      /https:\/\/stats\.north\.example https:\/\/in\.north\.example$/,
    )
    for (const policy of [policies.staging, policies.other]) {
      expect(policy).not.toContain('stats.north')
      expect(policy).not.toContain('in.north')
      expect(script(policy)).toMatch(/^'self' 'nonce-[^']+'$/)
    }
    for (const policy of Object.values(policies)) expect(policy).not.toContain('unsafe')
    expect(policies.staging).toContain(
      "img-src 'self' data: blob: https://images.north.example https://cdn.north.example",
    )
    expect(policies.other).not.toContain('north')
  })

  test('the page to read the document by has none of it', async () => {
    const { policy } = await askAs(branded.port, 'console.north.example', '/gateway/docs/')
    expect(policy).not.toMatch(/(stats|in|images|cdn)\.north\.example/)
  })

  test('a logo that is a file is answered under the name of its content', async () => {
    const { text } = await page('console.north.example')
    const { light } = JSON.parse(brandSaid(text)).logo
    const answer = await fetch(branded.origin + light)
    expect(answer.headers.get('content-type')).toBe('image/svg+xml')
    expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(await answer.text()).toBe(LOGO)
    expect((await fetch(`${branded.origin}/brand/0000000000000000.svg`)).status).toBe(404)
  })

  test('pages of every brand say whether money is real', async () => {
    for (const host of ['localhost', 'console.north.example']) {
      expect((await page(host)).text).toContain('name="berth-payments" content="test"')
    }
  })

  test('a host that no brand names is still foreign', async () => {
    expect((await page('north.example')).status).toBe(421)
  })
})

/** What the page says of its brand. */
function brandSaid(html: string): string {
  const said = /name="berth-brand" content="([^"]*)"/.exec(html)?.[1] ?? ''
  return said.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
}

/** Asks by another Host header, which `fetch` does not let one set. */
async function askAs(port: number, host: string, path: string) {
  const asked = request({ host: '127.0.0.1', port, path, setHost: false, headers: { host } }).end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of answer) text += chunk
  return { status: answer.statusCode, text, policy: String(answer.headers['content-security-policy'] ?? '') }
}

function makeConsole(): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-test-console-'))
  mkdirSync(join(folder, 'assets'))
  mkdirSync(join(folder, 'locales', 'en'), { recursive: true })
  writeFileSync(
    join(folder, 'index.html'),
    [
      '<!doctype html><head><title>Berth</title><meta name="berth-brand" content="__BRAND__" />',
      '<meta name="berth-payments" content="__PAYMENTS__" />',
      '<link rel="icon" type="image/svg+xml" href="/favicon.svg" /><meta property="csp-nonce" nonce="__CSP_NONCE__">',
      '<script data-texts="__PAGE_TEXTS__" nonce="__CSP_NONCE__"></script></head><div id="root"></div>',
    ].join('\n'),
  )
  mkdirSync(join(folder, '.vite'))
  writeFileSync(
    join(folder, '.vite', 'page-parts.json'),
    JSON.stringify({ '/auth': { scripts: ['/assets/auth-abc123.js'], texts: ['common', 'auth'] } }),
  )
  writeFileSync(join(folder, '.hidden'), 'hidden')
  writeFileSync(join(folder, 'assets', 'index-abc123.js'), SCRIPT)
  writeFileSync(join(folder, 'assets', 'index-abc123.js.br'), brotliCompressSync(SCRIPT))
  writeFileSync(join(folder, 'assets', 'style-abc123.css'), 'a { color: red }\n'.repeat(100))
  writeFileSync(join(folder, 'locales', 'en', 'common.json'), '{"a":"b"}')
  return folder
}

/** The status of an address that is sent as it stands. */
async function statusOf(path: string): Promise<number> {
  const asked = request({ host: '127.0.0.1', port: server.port, path, agent: false }).end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  answer.resume()
  return answer.statusCode ?? 0
}
