import { randomBytes } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { listSessions, login, signup, verifyEmail } from '@berth/contract/account'
import { getBalance, getReceipt, listTransactions, topup } from '@berth/contract/billing'
import type { Call, CallInput } from '@berth/contract/call'
import {
  deployInstance,
  getConnection,
  listInstances,
  startInstance,
  startWebTerminal,
  stopInstance,
  terminateInstance,
} from '@berth/contract/instances'
import Docker from 'dockerode'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { root } from '../../../scripts/lib/paths.mjs'
import { freePort } from '../../../scripts/test/free-port.ts'
import { deployBody } from '../src/domains/instances/instances-fixture.ts'
import { openTerminal } from '../src/domains/reach/reach-fixture.ts'
import { removeCloud } from '../src/drivers/compute/docker/docker-cloud-fixture.ts'
import { probeDocker } from '../src/drivers/compute/docker/probe-docker.ts'
import { importTestImage } from '../src/drivers/compute/docker/test-image.ts'
import { type ComposeImages, imagesLack, makeComposeImages } from './compose-images.ts'
import { type ComposeProject, createComposeProject, findCompose } from './compose-project.ts'
import { bodyOf, type MailServer, startMailServer } from './mail-server.ts'
import { askPlain, createTlsClient, type TlsClient } from './tls-client.ts'

/** Images of hundreds of megabytes, on a computer that does much else. */
const UP_MS = 400_000
const POLL = { timeout: 60_000, interval: 200 }
const STEP_MS = 240_000
const CONSOLE = 'console.test'
const SERVICES = 'apps.test'
const NAMES = { application: 'berth-console', organization: 'berth' }
const EMAIL = 'mira@example.org'
const PASSWORD = 'Harbour-Light-7'
const BODY_BYTES = 3_000_000
/** The service waits so long between its two events; whoever gathers answers hands both on together. */
const EVENTS_APART_S = 2

/** What an instance serves: its request's head, how long a body was, two events, and an echo. Perl alone, no modules. */
const SERVICE = String.raw`socket(S,2,1,6);setsockopt(S,1,2,pack("l",1));bind(S,pack("Snx12",2,8080)) or die;listen(S,20);$SIG{CHLD}="IGNORE";
while(accept(C,S)){if(fork){close C;next}$h="";while($h!~/\r\n\r\n/){sysread(C,$h,65536,length $h) or exit}($head,$rest)=split /\r\n\r\n/,$h,2;
if($head=~m{^GET /events}){syswrite C,"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: first\n\n";sleep ${EVENTS_APART_S};syswrite C,"data: last\n\n";exit}
if($head=~m{^GET /echo}){syswrite C,"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\r\n";while(sysread(C,$b,4096)){syswrite C,"echo $b"}exit}
$body=$head;if($head=~/content-length: (\d+)/i){$n=$1;$got=length $rest;while($got<$n){$r=sysread(C,$b,65536) or last;$got+=$r}$body="got $got"}
syswrite C,"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: ".length($body)."\r\nconnection: close\r\n\r\n$body";exit}`

const docker = await probeDocker()
const compose = findCompose()
const missing = docker.ok
  ? (imagesLack() ??
    (compose === null ? 'there is no Docker Compose (apt-get install docker-compose)' : null))
  : docker.why
if (missing !== null) process.stdout.write(`SKIP Berth in containers: ${missing}\n`)

// Goal: what `docker compose up` makes of an empty computer is a cloud. Method: the compose file as it is shipped, on a real
// engine, with images of this computer's own files, and a customer who knows nothing but the proxy's addresses.
describe.skipIf(missing !== null)('Berth in containers', { timeout: STEP_MS }, () => {
  const run = randomBytes(4).toString('hex')
  const engine = new Docker({ socketPath: docker.ok ? docker.socket_path : '' })
  let images: ComposeImages
  let mails: MailServer
  let project: ComposeProject
  let client: TlsClient
  let cloudId: string | null = null
  let token = ''
  let id = ''
  let ports: Record<'http' | 'https' | 'ssh', number>

  const data = <C extends Call>(call: C, input: CallInput<C>, options?: Parameters<TlsClient['data']>[3]) =>
    client.data(CONSOLE, call, input, options)

  beforeAll(async () => {
    images = await makeComposeImages(engine, run)
    mails = await startMailServer()
    const machine = await importTestImage(engine)
    const free = await Promise.all(Array.from({ length: 6 }, freePort))
    const [http = 0, https = 0, ssh = 0, port, s3, management] = free
    ports = { http, https, ssh }
    const catalogue = readFileSync(`${root}/config/catalogue.yaml`, 'utf8')
    project = createComposeProject(
      compose ?? [],
      {
        COMPOSE_PROJECT_NAME: `berthtest${run}`,
        COMPOSE_FILE: 'compose.yaml:compose.docker.yaml',
        DOCKER_SOCKET: docker.ok ? docker.socket_path : '',
        DOCKER_GID: String(statSync(docker.ok ? docker.socket_path : '/').gid),
        GATEWAY_IMAGE: images.gateway,
        POSTGRES_IMAGE: images.postgres,
        CADDY_IMAGE: images.proxy,
        BERTH_PUBLIC_URL: `https://${CONSOLE}:${https}`,
        BERTH_S3_URL: `https://s3.test:${https}`,
        BERTH_SERVICE_HOST: SERVICES,
        HTTP_PORT: String(http),
        HTTPS_PORT: String(https),
        BERTH_PORT: String(port),
        BERTH_S3_PORT: String(s3),
        BERTH_SSH_PORT: String(ssh),
        BERTH_SSH_HOST: '127.0.0.1',
        BERTH_MANAGEMENT_PORT: String(management),
        BERTH_TEST_CARDS: 'no-money-here-is-real',
        // An engine in a container may not be let to set packet rules.
        BERTH_UNFILTERED_MACHINES: 'machines-may-reach-private-networks',
        BERTH_METERING_MS: '500',
        SMTP_URL: mails.url,
        MAIL_FROM: 'Berth <no-reply@example.com>',
      },
      catalogue.replace('docker: debian:12', `docker: ${machine}`),
    )
    await project.run('up', '-d', '--no-build')
    const authority = () => project.read('proxy', '/data/caddy/pki/authorities/local/root.crt')
    await vi.waitFor(async () => expect(String(await authority())).toContain('BEGIN CERTIFICATE'), POLL)
    client = createTlsClient(ports.https, await authority())
    const health = () => client.ask(CONSOLE, '/gateway/health')
    await vi.waitFor(async () => expect((await health()).status).toBe(200), POLL)
  }, UP_MS)
  afterAll(async () => {
    // Whatever of it fails, the rest is removed as well.
    const ended = await Promise.allSettled([project?.remove(), mails?.stop()])
    if (cloudId !== null) await removeCloud(engine, cloudId)
    await images?.remove()
    for (const one of ended) if (one.status === 'rejected') throw one.reason
  }, UP_MS)

  const statusOf = async () =>
    (await data(listInstances, {}, { token })).find(({ instance_id }) => instance_id === id)?.status

  test('comes up with one command: each part is healthy, console and SSH are there, and nobody is root', async () => {
    const [container = ''] = (await project.run('ps', '-q', 'gateway')).trim().split('\n')
    const health = async () => (await engine.getContainer(container).inspect()).State.Health?.Status
    await expect.poll(health, POLL).toBe('healthy')
    const { Config, HostConfig } = await engine.getContainer(container).inspect()
    expect([Config.User, HostConfig.ReadonlyRootfs, HostConfig.CapDrop]).toEqual(['1000:1000', true, ['ALL']])
    const page = await client.ask(CONSOLE, '/auth')
    expect(page.headers['strict-transport-security']).toMatch(/^max-age=31536000; includeSubDomains$/)
    expect(page.body.toString()).toContain('<div id="root">')
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(page.body.toString())?.[1] ?? ''
    expect((await client.ask(CONSOLE, script)).status).toBe(200)
    expect((await client.ask(`nobody.${SERVICES}`, '/')).status).toBe(421)
    const server = connect(ports.ssh, '127.0.0.1')
    expect(String(await new Promise(resolve => server.once('data', resolve)))).toMatch(/^SSH-2\.0-/)
    server.destroy()
  })

  test('a stranger signs up, confirms the mail, and tops up by a test card; what they say of their address is not believed', async () => {
    const forged = { 'x-forwarded-for': '6.6.6.6', forwarded: 'for=6.6.6.6', 'x-real-ip': '6.6.6.6' }
    const body = {
      ...NAMES,
      username: EMAIL,
      email: EMAIL,
      name: 'Mira',
      password: PASSWORD,
      agreement: true as const,
    }
    await data(signup, { body }, { headers: forged })
    const linkOf = () =>
      mails.received.flatMap(mail => /activty\?token=([\w-]+)/.exec(bodyOf(mail))?.[1] ?? [])[0]
    await expect.poll(linkOf, POLL).toBeDefined()
    const sent = mails.received.map(bodyOf).join('\n')
    expect(sent).toContain(`https://${CONSOLE}:${ports.https}/activty?token=`)
    await data(verifyEmail, { query: { application: NAMES.application, token: linkOf() ?? '' } })
    const signIn = { ...NAMES, type: 'token' as const, username: EMAIL, password: PASSWORD }
    token = await data(login, { body: signIn }, { headers: forged })
    expect(JSON.stringify(await data(listSessions, {}, { token }))).not.toContain('6.6.6.6')
    const card = {
      amount: 1_000,
      currency: 'USD' as const,
      platform_name: 'testcard',
      source: '4242 4242 4242 4242',
    }
    await data(topup, { body: card }, { token })
    await expect
      .poll(async () => (await data(getBalance, {}, { token })).account_balance.amount, POLL)
      .toBe(1_000)
  })

  test('an instance is deployed on the engine beside the containers, and its terminal opens by the proxy', async () => {
    const body = deployBody({ env: { SERVICE }, http_ports: [8080] })
    id = (await data(deployInstance, { body }, { token })).instance_id
    await expect.poll(statusOf, POLL).toBe('running')
    const [machine] = await engine.listContainers({ filters: { label: [`berth.instance=${id}`] } })
    cloudId = machine?.Labels['berth.cloud'] ?? null
    const { ticket } = await data(startWebTerminal, { body: { instance_id: id } }, { token })
    const terminal = await openTerminal(`https://${CONSOLE}:${ports.https}`, ticket, { client: client.place })
    terminal.type('echo $((6*7))-here; perl -e "$SERVICE" >/tmp/served 2>&1 &\n')
    await terminal.shows(/42-here\r\n/)
    await terminal.leave()
  })

  test('its HTTP service has a name of its own with TLS: who asks, long bodies, events as they come, and upgrades', async () => {
    const { http } = await data(getConnection, { params: { id } }, { token })
    const host = new URL(http[0]?.url ?? '').hostname
    expect(host.endsWith(`.${SERVICES}`)).toBe(true)
    const headers = { 'x-forwarded-for': '6.6.6.6' }
    const head = () => client.ask(host, '/', { headers }).then(({ body }) => body.toString().toLowerCase())
    await expect.poll(() => head().catch(String), POLL).toContain('get / http/1.1')
    const seen = await head()
    expect(seen).toContain(`host: ${host}:${ports.https}`)
    expect(seen).toContain('x-forwarded-proto: https')
    expect(seen).not.toContain('6.6.6.6')
    const body = Buffer.alloc(BODY_BYTES, 'a')
    expect((await client.ask(host, '/', { method: 'POST', body })).body.toString()).toBe(`got ${BODY_BYTES}`)
    const events = await client.open(host, '/events')
    const cameMs: number[] = []
    events.on('data', () => cameMs.push(performance.now()))
    await new Promise(resolve => events.once('end', resolve))
    expect((cameMs.at(-1) ?? 0) - (cameMs[0] ?? 0)).toBeGreaterThan((EVENTS_APART_S * 1_000) / 2)
    const echo = await client.upgrade(host, '/echo', { connection: 'Upgrade', upgrade: 'websocket' })
    echo.write('hello')
    expect(String(await new Promise(resolve => echo.once('data', resolve)))).toBe('echo hello')
    echo.destroy()
  })

  test('plain HTTP leads to TLS, and metrics are not by the proxy', async () => {
    const { status, location } = await askPlain(ports.http, CONSOLE, '/auth')
    expect([status, location]).toEqual([308, `https://${CONSOLE}:${ports.https}/auth`])
    const { body } = await client.ask(CONSOLE, '/metrics')
    expect(body.toString()).not.toContain('berth_call_seconds')
  })

  test('the operator’s commands work in the container, and a new one goes on with the same cloud', async () => {
    const found = await project.run(
      'exec',
      '-T',
      'gateway',
      'berth-operator',
      'customers',
      'find',
      'mira@',
      '--json',
    )
    expect(JSON.parse(found)).toMatchObject([{ email: EMAIL }])
    await project.run('up', '-d', '--no-build', '--force-recreate', '--no-deps', 'gateway')
    await expect.poll(() => statusOf().catch(String), POLL).toBe('running')
  })

  test('it is stopped, started and terminated, and the receipt says what it cost', async () => {
    await data(stopInstance, { params: { id } }, { token })
    await expect.poll(statusOf, POLL).toBe('stopped')
    await data(startInstance, { body: { instance_id: id, gpu_count: 1, gpu_spec_id: 'cpu' } }, { token })
    await expect.poll(statusOf, POLL).toBe('running')
    await data(terminateInstance, { params: { id } }, { token })
    await expect.poll(statusOf, POLL).toBeUndefined()
    const { items } = await data(listTransactions, { query: {} }, { token })
    // The last of its stretches may have been so short that it cost nothing.
    const usage = items.filter(({ about }) => about.instance_id === id)
    const receipts = await Promise.all(
      usage.map(one => data(getReceipt, { params: { id: one.id } }, { token })),
    )
    expect(receipts.flatMap(({ lines }) => lines).length).toBeGreaterThan(0)
    expect(receipts.flatMap(({ events }) => events).map(({ status }) => status)).toContain('running')
  })
})
