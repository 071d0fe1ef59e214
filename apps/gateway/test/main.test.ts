import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID, sign } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join, resolve } from 'node:path'
import { topup } from '@berth/contract/billing'
import { GATEWAY_PREFIX, IDEMPOTENCY_KEY_HEADER } from '@berth/contract/envelope'
import { deployInstance } from '@berth/contract/instances'
import { getInvoicePdf, listInvoices } from '@berth/contract/invoices'
import { sql } from 'drizzle-orm'
import ssh2, { type ServerHostKeyAlgorithm } from 'ssh2'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { builtGateway } from '../../../scripts/test/built-gateway.ts'
import { digestOf, makeImage, packOdd, startRegistry } from '../src/drivers/compute/oci/registry-fixture.ts'
import { probeSandbox } from '../src/drivers/compute/sandbox/probe-sandbox.ts'
import { tokenKeyOf } from '../src/platform/installation/token-keys.ts'
import { deriveKey } from '../src/platform/secrets.ts'
import { keepAway } from './keep-away.ts'
import { makeQuickFolder } from './quick-folder.ts'
import { freePort } from './remote-editor.ts'
import { createTestDatabase } from './test-database.ts'

const MAIN = await builtGateway()
const CATALOGUE = resolve(import.meta.dirname, '../../../config/catalogue.yaml')
const ROTATE = resolve(import.meta.dirname, '../src/rotate-token-key.ts')
// A start takes seconds, and many times that on a computer that does much else.
vi.setConfig({ testTimeout: 400_000 })

const RECOVERY = { timeout: 60_000, interval: 100 }

let folder: string
let started: Run[]
beforeEach(() => {
  folder = makeQuickFolder('main')
  started = []
})
afterEach(async () => {
  for (const run of started) {
    run.child.kill('SIGTERM')
    await run.ended
  }
  rmSync(folder, { recursive: true, force: true })
})

describe('the gateway does not start', () => {
  test('with a wrong setting: it is named, the exit code is 2, and nothing was touched', async () => {
    const run = start({ BERTH_PORT: '80800' })
    expect(await run.ended).toBe(2)
    expect(run.output()).toContain('BERTH_PORT takes a port')
    expect(existsSync(join(folder, 'data'))).toBe(false)
  })

  test('with a catalogue that is wrong: file and line are named, and the exit code is 2', async () => {
    const file = join(folder, 'catalogue.yaml')
    writeFileSync(file, 'regions: 5\n')
    const run = start({ BERTH_CATALOGUE: file })
    expect(await run.ended).toBe(2)
    expect(run.output()).toContain('catalogue.yaml:1')
  })

  test('on a port that another program uses: the setting is named, and the database is stopped again', async () => {
    const taken = await takePort()
    try {
      const run = start({ BERTH_PORT: String(taken.port) })
      expect(await run.ended).toBe(1)
      expect(run.output()).toContain('choose another port with BERTH_PORT')
      expect(existsSync(join(folder, 'data/postgres/postmaster.pid'))).toBe(false)
    } finally {
      taken.server.close()
    }
  })

  test('on a database that a newer version has used: it says how to go on, and changes nothing', async () => {
    const database = await createTestDatabase()
    onTestFinished(database.drop)
    const newer = sql`insert into drizzle.__drizzle_migrations (hash, created_at) values ('newer', 9999999999999)`
    await database.db.execute(newer)
    const run = start({ DATABASE_URL: database.url })
    expect(await run.ended).toBe(1)
    expect(run.output()).toContain('used by a newer version of Berth, and this one cannot go back')
    expect(run.output()).toContain('restore a backup that was made before')
    const { rows } = await database.db.execute(sql`select count(*)::int as count from kept_secret`)
    expect(rows).toEqual([{ count: 0 }])
  })

  test('while its database is away; it can be stopped then, and the password is not shown', async () => {
    const run = start({ DATABASE_URL: `postgresql://me:hunter2@/berth?host=${folder}` })
    await expect.poll(run.output, RECOVERY).toContain('Bringing the database up to date')
    run.child.kill('SIGTERM')
    expect(await run.ended).toBe(0)
    expect(run.output()).not.toContain('hunter2')
  })
})

test('beside machines of another database it starts, says so, and removes none', async ctx => {
  const sandbox = await probeSandbox()
  if (!sandbox.ok) return ctx.skip(`no sandbox here: ${sandbox.why}`)
  const home = join(folder, 'data/machines/machines/i-homes1/home')
  mkdirSync(home, { recursive: true })
  const run = start({ ...(await databaseBeside()), BERTH_COMPUTE: 'sandbox' })
  await run.address
  expect(run.output()).toContain('1 of the machines and volumes there belongs to another database')
  // The first sweep comes right after the start; a stop waits for what is under way.
  run.child.kill('SIGTERM')
  expect(await run.ended).toBe(0)
  expect(existsSync(home)).toBe(true)
})

test('an image of the catalogue is pulled with the login that the catalogue’s registries name', async ctx => {
  const sandbox = await probeSandbox()
  if (!sandbox.ok) return ctx.skip(`no sandbox here: ${sandbox.why}`)
  const layer = packOdd([{ name: 'file', content: 'of a layer' }])
  const registry = await startRegistry(makeImage([{ bytes: layer, packing: '' }]))
  onTestFinished(registry.close)
  const login = `Basic ${Buffer.from('me:open sesame').toString('base64')}`
  registry.does(({ headers }, response) => {
    if (headers.authorization === login) return false
    response.writeHead(401, { 'www-authenticate': 'Basic realm="here"' }).end()
    return true
  })
  writeFileSync(join(folder, 'password'), 'open sesame\n')
  const file = join(folder, 'catalogue.yaml')
  const shipped = readFileSync(CATALOGUE, 'utf8').replace(
    /^ +sandbox: host$/m,
    `    sandbox: { image: "${registry.reference}" }`,
  )
  writeFileSync(
    file,
    `${shipped}\nregistries:\n  - { host: "${registry.host}", username: me, password_file: password }\n`,
  )
  const run = start({ ...(await databaseBeside()), BERTH_COMPUTE: 'sandbox', BERTH_CATALOGUE: file })
  const token = await signInByLink(await run.signInLink)
  const answer = await fetch(`${await run.address}${GATEWAY_PREFIX}${deployInstance.path}`, {
    method: deployInstance.method,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      [IDEMPOTENCY_KEY_HEADER]: randomUUID(),
    },
    body: JSON.stringify({
      name: 'private',
      region_code: 'us-west',
      gpu_spec_id: 'cpu',
      gpu_count: 1,
      image_id: 'berth-base',
      container_disk_gb: 20,
    }),
  })
  expect(await answer.json()).toMatchObject({ status: 'ok' })
  const isLayer = ({ url = '' }) => url.endsWith(digestOf(layer))
  await expect
    .poll(() => registry.asked.filter(isLayer).map(({ authorization }) => authorization), RECOVERY)
    .toEqual([login])
})

test('for others than this computer it says that mails reach nobody, and that no money is real', async () => {
  const run = start({
    ...(await databaseBeside()),
    BERTH_PUBLIC_URL: 'https://gpu.example.com',
    BERTH_TEST_CARDS: 'no-money-here-is-real',
  })
  expect(await run.address).toBe('https://gpu.example.com')
  await expect.poll(run.output, RECOVERY).toContain('reach nobody until SMTP_URL is set')
  expect(run.output()).not.toContain('/mailbox')
  expect(run.output()).toContain('NO MONEY HERE IS REAL')
})

test('[B23] as it is built it makes an invoice as PDF, in a thread that it finds', async () => {
  const run = start(await databaseBeside())
  const authorization = `Bearer ${await signInByLink(await run.signInLink)}`
  const address = await run.address
  const ask = async (path: string, body?: object) => {
    const sent = { 'content-type': 'application/json', [IDEMPOTENCY_KEY_HEADER]: randomUUID() }
    const answer = await fetch(`${address}${GATEWAY_PREFIX}${path}`, {
      headers: { authorization, ...(body && sent) },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
    return ((await answer.json()) as { data: unknown }).data
  }
  const paid = { amount: 1_000, currency: 'USD', platform_name: 'testcard', source: '4242 4242 4242 4242' }
  expect(await ask(topup.path, paid)).toMatchObject({ status: 'settled' })
  const [made] = listInvoices.data.parse(await ask(listInvoices.path)).items
  const pdf = getInvoicePdf.data.parse(await ask(getInvoicePdf.path.replace('{id}', made?.id ?? '')))
  const file = await fetch(new URL(pdf.download_url, address))
  expect([file.status, (await file.text()).slice(0, 5)]).toEqual([200, '%PDF-'])
})

test('one gateway at a time uses a data folder; it ends in good order and takes its database along', async () => {
  const first = start()
  const address = await first.address
  expect((await fetch(`${address}/gateway/health`)).status).toBe(200)

  const second = start()
  expect(await second.ended).toBe(1)
  expect(second.output()).toContain(`Another gateway (process ${first.child.pid}) uses`)
  expect((await fetch(`${address}/gateway/health`)).status).toBe(200)

  const server = postgresPid()
  first.child.kill('SIGTERM')
  expect(await first.ended).toBe(0)
  expect(first.output()).toContain('Stopped.')
  expect(isAlive(server)).toBe(false)
  expect(existsSync(join(folder, 'data/gateway.lock'))).toBe(false)
})

test('[R2.23] after kill -9 the next start takes up what was left: the demo customer is still there, and SSH has the same host keys', async () => {
  const sshPort = await freePort()
  const first = start({ BERTH_SSH_PORT: String(sshPort) })
  const token = await signInByLink(await first.signInLink)
  const account = await getAccount(await first.address, token)
  expect(account).toMatchObject({ status: 'ok', data: { emailVerified: true, balance: 2_500 } })
  const keys = await sshHostKeys(sshPort)
  first.child.kill('SIGKILL')
  await first.ended

  // At another port: what is left of the first one does not answer in its place.
  const laterPort = await freePort()
  const second = start({ BERTH_SSH_PORT: String(laterPort) })
  const address = await second.address
  expect(await getAccount(address, token)).toMatchObject({ data: { id: account.data.id, balance: 2_500 } })
  expect(await sshHostKeys(laterPort)).toEqual(keys)
})

test('a data folder of the version before is taken over: its tokens stay good, and its keys leave the file', async () => {
  mkdirSync(join(folder, 'data'), { recursive: true })
  const rootKey = new Uint8Array(32).fill(9)
  const file = join(folder, 'data/secrets.json')
  writeFileSync(
    file,
    JSON.stringify({
      signing_key: Buffer.from(rootKey).toString('base64url'),
      database_password: 'a password of the version before',
      installation_id: '0123456789ab',
    }),
  )
  const first = start()
  const token = await signInByLink(await first.signInLink)
  const before = asSignedBefore(token, deriveKey(rootKey, 'berth access token'))
  expect(await getAccount(await first.address, before)).toMatchObject({ status: 'ok' })
  expect(Object.keys(JSON.parse(readFileSync(file, 'utf8'))).sort()).toEqual([
    'database_password',
    'master_key',
  ])
})

test('the operator replaces the key of tokens: at once, all that were signed are worthless', async () => {
  const run = start()
  const address = await run.address
  const token = await signInByLink(await run.signInLink)
  expect(await rotateTokenKey()).toBe(0)
  expect(await getAccount(address, token)).toMatchObject({ status: 'ok' })
  expect(await rotateTokenKey('--at-once')).toBe(0)
  await expect.poll(async () => (await getAccount(address, token)).status, RECOVERY).toBe('error')
})

test('when its database dies it answers 503 at once, and recovers by itself', async () => {
  const run = start()
  const health = `${await run.address}/gateway/health`
  const ask = async () => (await fetch(health)).status
  const comeBack = keepAway(join(folder, 'data/postgres'))
  process.kill(postgresPid(), 'SIGKILL')
  await expect.poll(ask, RECOVERY).toBe(503)
  // It does not come back meanwhile: answers that waited for it would not come.
  expect(await Promise.all([ask(), ask()])).toEqual([503, 503])
  comeBack()
  await expect.poll(ask, RECOVERY).toBe(200)
})

test('probes have a port of their own; at the end it is not ready before it stops answering', async () => {
  const run = start({ ...(await databaseBeside()), BERTH_DRAIN_MS: '60000' })
  const address = await run.address
  const probes = await run.probes
  expect((await fetch(`${probes}/live`)).status).toBe(200)
  await expect.poll(async () => (await fetch(`${probes}/ready`)).status, RECOVERY).toBe(200)
  expect(await (await fetch(`${probes}/metrics`)).text()).toContain('berth_answers_total')
  expect((await fetch(`${address}/gateway/metrics`)).status).toBe(404)
  run.child.kill('SIGTERM')
  await expect.poll(async () => (await fetch(`${probes}/ready`)).status, RECOVERY).toBe(503)
  expect((await fetch(`${address}/gateway/health`)).status).toBe(200)
  run.child.kill('SIGTERM')
  expect(await run.ended).toBe(130)
})

test('a second signal ends it at once', async () => {
  const run = start()
  await run.address
  run.child.kill('SIGINT')
  await expect.poll(run.output, RECOVERY).toContain('Stopping')
  run.child.kill('SIGINT')
  expect([0, 130]).toContain(await run.ended)
})

interface Run {
  child: ChildProcess
  /** The exit code, or null for a signal. */
  ended: Promise<number | null>
  /** All that it said so far. */
  output(): string
  address: Promise<string>
  /** The address of the management port. */
  probes: Promise<string>
  signInLink: Promise<string>
}

function start(settings: Record<string, string> = {}): Run {
  const child = spawn(process.execPath, [MAIN], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      BERTH_PORT: '0',
      BERTH_DATA_DIR: join(folder, 'data'),
      BERTH_COMPUTE: 'none',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', chunk => {
      text += chunk
    })
  }
  const ended = new Promise<number | null>(done => child.once('exit', code => done(code)))
  const find = async (pattern: RegExp) => {
    const stopped = ended.then(() => true)
    while (!pattern.test(text)) {
      const over = await Promise.race([stopped, new Promise<boolean>(done => setTimeout(done, 50, false))])
      if (over && !pattern.test(text)) throw new Error(`it ended without ${pattern}:\n${text}`)
    }
    return pattern.exec(text)?.[1] ?? ''
  }
  const run: Run = {
    child,
    ended,
    output: () => text,
    address: find(/Console\s+(http\S+)/),
    probes: find(/Metrics\s+(http\S+)\/metrics/),
    signInLink: find(/Sign in\s+(http\S+)/),
  }
  // Who does not wait for them must not be told that they never came.
  run.address.catch(() => {})
  run.probes.catch(() => {})
  run.signInLink.catch(() => {})
  started.push(run)
  return run
}

/** The run's PostgreSQL, for a start that is not about the gateway's own: that one takes seconds to be made. */
async function databaseBeside(): Promise<Record<string, string>> {
  const database = await createTestDatabase()
  onTestFinished(database.drop)
  return { DATABASE_URL: database.url }
}

async function signInByLink(link: string): Promise<string> {
  const { origin, searchParams } = new URL(link)
  const response = await fetch(`${origin}/gateway/api/account/login/link`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      application: 'berth-console',
      organization: 'berth',
      type: 'token',
      password: searchParams.get('ticket'),
    }),
  })
  const envelope = (await response.json()) as { status: string; data: string }
  expect(envelope.status).toBe('ok')
  return envelope.data
}

async function getAccount(address: string, token: string) {
  const response = await fetch(`${address}/gateway/api/account/get-account`, {
    headers: { authorization: `Bearer ${token}` },
  })
  return (await response.json()) as { status: string; data: { id: string } }
}

/** The keys that an SSH server shows, one of each type that it has. */
function sshHostKeys(port: number): Promise<string[]> {
  const shown = (type: ServerHostKeyAlgorithm) =>
    new Promise<string>((resolve, reject) => {
      const client = new ssh2.Client()
      // It is refused when its key was seen.
      client.on('error', reject)
      client.connect({
        host: '127.0.0.1',
        port,
        username: 'nobody',
        algorithms: { serverHostKey: [type] },
        hostVerifier: (key: Buffer) => {
          resolve(key.toString('base64'))
          return false
        },
      })
    })
  return Promise.all([shown('ssh-ed25519'), shown('ecdsa-sha2-nistp256')])
}

/** A token as the version before wrote it: the same claims, and no name of a key. */
function asSignedBefore(token: string, seed: Uint8Array): string {
  const head = Buffer.from(JSON.stringify({ alg: 'EdDSA', typ: 'JWT' })).toString('base64url')
  const signed = `${head}.${token.split('.')[1]}`
  return `${signed}.${sign(null, Buffer.from(signed), tokenKeyOf(seed).privateKey).toString('base64url')}`
}

async function rotateTokenKey(...args: string[]): Promise<number | null> {
  const child = spawn(process.execPath, [ROTATE, ...args], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      BERTH_DATA_DIR: join(folder, 'data'),
    },
    stdio: 'ignore',
  })
  return await new Promise(done => child.once('exit', code => done(code)))
}

function postgresPid(): number {
  return Number.parseInt(readFileSync(join(folder, 'data/postgres/postmaster.pid'), 'utf8'), 10)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function takePort(): Promise<{ server: Server; port: number }> {
  const server = createServer()
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const address = server.address()
  return { server, port: typeof address === 'object' && address ? address.port : 0 }
}
