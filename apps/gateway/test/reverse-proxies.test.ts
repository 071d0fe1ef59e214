import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listSessions, login, signup } from '@berth/contract/account'
import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import { followInstances } from '@berth/contract/instance-follow'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { root } from '../../../scripts/lib/paths.mjs'
import { freePort } from '../../../scripts/test/free-port.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'
import { askPlain, createTlsClient, type TlsClient } from './tls-client.ts'

const CONSOLE = 'console.test'
const SERVICES = 'apps.test'
const NAMES = { application: 'berth-console', organization: 'berth' }
const FORGED = { 'x-forwarded-for': '6.6.6.6', forwarded: 'for=6.6.6.6', 'x-real-ip': '6.6.6.6' }
const UP = { timeout: 60_000, interval: 100 }
const BODY_BYTES = 3_000_000
/** Looks like the name of one. */
const NO_SERVICE = `${'a'.repeat(20)}-8080.${SERVICES}`

interface Ports {
  gateway: number
  s3: number
  http: number
  https: number
}

/** A proxy that runs by the files of `deploy`. */
interface Proxy {
  child: ChildProcess
  /** In PEM, once it is there. */
  authority(): string
}

/** Makes an authority of its own, and a certificate for all names. @returns Files in PEM. */
function makeCertificate(folder: string): { certificate: string; key: string } {
  const [certificate, key] = [join(folder, 'all.pem'), join(folder, 'all.key')]
  const names = [CONSOLE, `*.${SERVICES}`, 's3.test'].map(name => `DNS:${name}`).join()
  const words = [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '2',
    '-subj',
    '/CN=test',
  ]
  const files = ['-keyout', key, '-out', certificate, '-addext', `subjectAltName=${names}`]
  execFileSync('openssl', ['req', '-x509', ...words, ...files], { stdio: 'ignore' })
  return { certificate, key }
}

const PROXIES: Record<string, { program: string; start(folder: string, ports: Ports): Proxy }> = {
  Caddy: {
    program: 'caddy',
    start(folder, ports) {
      const env = {
        PATH: process.env.PATH,
        XDG_DATA_HOME: folder,
        XDG_CONFIG_HOME: folder,
        HTTP_PORT: String(ports.http),
        HTTPS_PORT: String(ports.https),
        BERTH_PORT: String(ports.gateway),
        BERTH_S3_PORT: String(ports.s3),
        BERTH_PUBLIC_URL: `https://${CONSOLE}:${ports.https}`,
        BERTH_S3_URL: `https://s3.test:${ports.https}`,
        BERTH_SERVICE_HOST: SERVICES,
      }
      const words = ['--config', join(root, 'deploy/caddy/Caddyfile'), '--adapter', 'caddyfile']
      execFileSync('caddy', ['validate', ...words], { env, stdio: 'ignore' })
      const child = spawn('caddy', ['run', ...words], { env, stdio: 'ignore' })
      const authority = () => readFileSync(join(folder, 'caddy/pki/authorities/local/root.crt'), 'utf8')
      return { child, authority }
    },
  },
  nginx: {
    program: 'nginx',
    start(folder, ports) {
      const { certificate, key } = makeCertificate(folder)
      const shipped = readFileSync(join(root, 'deploy/nginx/berth.conf'), 'utf8')
      const config = shipped
        .replaceAll('/etc/nginx/berth-pass.conf', join(root, 'deploy/nginx/berth-pass.conf'))
        .replaceAll(/\/etc\/berth\/tls\/\w+\.pem/g, certificate)
        .replaceAll(/\/etc\/berth\/tls\/\w+\.key/g, key)
        .replaceAll('gpu.example.com', CONSOLE)
        .replaceAll('apps.example.net', SERVICES)
        .replaceAll('s3.example.com', 's3.test')
        .replaceAll('127.0.0.1:8080', `127.0.0.1:${ports.gateway}`)
        .replaceAll('127.0.0.1:3900', `127.0.0.1:${ports.s3}`)
        .replaceAll(/^\s*listen \[::\].*$/gm, '')
        .replaceAll('listen 80;', `listen 127.0.0.1:${ports.http};`)
        .replaceAll('listen 443 ', `listen 127.0.0.1:${ports.https} `)
      const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        name => `${name}_temp_path ${join(folder, name)};`,
      )
      const file = join(folder, 'nginx.conf')
      const main = `daemon off;\nuser ${process.getuid?.() === 0 ? 'root' : 'nobody'};\npid ${join(folder, 'pid')};\nerror_log ${join(folder, 'errors')};\n`
      writeFileSync(file, `${main}events {}\nhttp {\n${places.join('\n')}\n${config}\n}\n`)
      execFileSync('nginx', ['-t', '-q', '-c', file, '-e', join(folder, 'errors')])
      const child = spawn('nginx', ['-c', file, '-e', join(folder, 'errors')], { stdio: 'ignore' })
      return { child, authority: () => readFileSync(certificate, 'utf8') }
    },
  },
}

function isHere(program: string): boolean {
  try {
    execFileSync(program, [program === 'nginx' ? '-v' : 'version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

for (const [name, { program }] of Object.entries(PROXIES)) {
  if (!isHere(program)) process.stdout.write(`SKIP a gateway behind ${name}: there is no ${program} here\n`)
}

// Goal: who puts a proxy in front by the files that are shipped has a cloud that works. Method: the real proxies, with those
// files, before a real gateway.
describe.each(Object.entries(PROXIES).filter(([, { program }]) => isHere(program)))(
  'a gateway behind %s',
  (_, { start }) => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-proxy-'))
    let gateway: TestGateway
    let proxy: Proxy
    let ports: Ports
    let client: TlsClient

    beforeAll(async () => {
      gateway = await startGateway({
        publicUrl: `https://${CONSOLE}`,
        serviceHost: SERVICES,
        trustedProxies: ['127.0.0.1'],
      })
      const address = gateway.gateway.server.app.server.address()
      const [s3 = 0, http = 0, https = 0] = await Promise.all([freePort(), freePort(), freePort()])
      ports = { gateway: typeof address === 'object' && address ? address.port : 0, s3, http, https }
      mkdirSync(folder, { recursive: true })
      proxy = start(folder, ports)
      await vi.waitFor(async () => {
        client = createTlsClient(https, proxy.authority())
        expect((await client.ask(CONSOLE, '/gateway/health')).status).toBe(200)
      }, UP)
    })
    afterAll(async () => {
      proxy?.child.kill()
      await gateway?.stop()
      rmSync(folder, { recursive: true, force: true })
    })

    test('what a client says of its address is not believed, by the console or by its limits', async () => {
      const email = 'ada@example.com'
      const password = 'Harbour-Light-7'
      const body = { ...NAMES, username: email, email, name: 'Ada', password, agreement: true as const }
      await client.data(CONSOLE, signup, { body }, { headers: FORGED })
      const signIn = { ...NAMES, type: 'token' as const, username: email, password }
      const token = await client.data(CONSOLE, login, { body: signIn }, { headers: FORGED })
      const seen = JSON.stringify(await client.data(CONSOLE, listSessions, {}, { token }))
      expect(seen).toContain('127.0.0.1')
      expect(seen).not.toContain('6.6.6.6')
    })

    test('events come as they happen, and bodies are as long as they are', async () => {
      const { token } = await gateway.signUp()
      const headers = { authorization: `Bearer ${token}` }
      const events = await client.open(CONSOLE, GATEWAY_PREFIX + followInstances.path, { headers })
      expect(events.headers['content-type']).toContain('text/event-stream')
      expect(String(await new Promise(resolve => events.once('data', resolve)))).not.toBe('')
      events.destroy()
      // A service that is not there reads all that it is sent: only a proxy would refuse a long body.
      const long = { method: 'POST', body: Buffer.alloc(BODY_BYTES, 'a') }
      expect((await client.ask(NO_SERVICE, '/', long)).status).toBe(404)
    })

    test('[R6.5] what a client says of its trace is not passed on: strangers do not choose what is traced', async () => {
      const seen: IncomingHttpHeaders[] = []
      const behind = createServer((request, answer) => {
        seen.push(request.headers)
        answer.end()
      }).listen(ports.s3, '127.0.0.1')
      try {
        await once(behind, 'listening')
        const traceparent = '00-00000000000000000000000000000001-b7ad6b7169203331-01'
        expect((await client.ask('s3.test', '/', { headers: { traceparent, 'x-own': 'a' } })).status).toBe(
          200,
        )
        expect(seen).toMatchObject([{ 'x-own': 'a' }])
        expect(seen[0]).not.toHaveProperty('traceparent')
      } finally {
        behind.close()
      }
    })

    test('plain HTTP leads to TLS, and names below the services’ domain to the gateway', async () => {
      const plain = await askPlain(ports.http, CONSOLE, '/auth?a=b')
      expect(plain.status).toBe(308)
      expect(plain.location).toMatch(new RegExp(`^https://${CONSOLE}(:\\d+)?/auth\\?a=b$`))
      expect((await client.ask(NO_SERVICE, '/')).status).toBe(404)
    })
  },
)
