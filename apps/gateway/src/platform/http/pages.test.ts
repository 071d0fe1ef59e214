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
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
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

function makeConsole(): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-test-console-'))
  mkdirSync(join(folder, 'assets'))
  mkdirSync(join(folder, 'locales', 'en'), { recursive: true })
  writeFileSync(
    join(folder, 'index.html'),
    '<!doctype html><meta property="csp-nonce" nonce="__CSP_NONCE__"><head><script data-texts="__PAGE_TEXTS__" nonce="__CSP_NONCE__"></script></head><div id="root"></div>',
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
