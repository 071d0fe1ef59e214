import { existsSync, readFileSync } from 'node:fs'
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { connect } from 'node:net'
import { resolve } from 'node:path'
import { login, loginBy, logout, signup } from '@berth/contract/account'
import { listApiKeys } from '@berth/contract/api-keys'
import { topup } from '@berth/contract/billing'
import { listBudgets, removeBudget } from '@berth/contract/budgets'
import type { Call } from '@berth/contract/call'
import { calls } from '@berth/contract/calls'
import { GATEWAY_PREFIX, IDEMPOTENCY_KEY_HEADER } from '@berth/contract/envelope'
import { ERRORS, type ErrorCode } from '@berth/contract/errors'
import { deployInstance, listInstances } from '@berth/contract/instances'
import { DEPLOY_BODY_BYTES_MAX } from '@berth/contract/limits'
import { addRegistryCredential, listRegistryCredentials } from '@berth/contract/registries'
import { listSshKeys } from '@berth/contract/ssh-keys'
import fc from 'fast-check'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import * as z from 'zod'
import { PATIENCE_MS } from '../../../scripts/test/patience-ms.ts'
import { triesOf } from './long-runs.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

/**
 * Goal: whatever is sent, the gateway answers in its own words, soon, tells nothing of its inside, and its books
 * balance afterwards (R7.8).
 * Method: requests are made from the schemas of the contract's calls and from the paths of the published document,
 * then roughened: wrong types, odd texts, huge bodies, strange paths and headers. A seed gives the same requests
 * again; what differs by run (tokens, ids) is written as `__name__` and filled in when a request is sent.
 */

/** Of a text that a pattern makes: room for the longest part that one wants, the digest of an image. */
const PATTERN_CHARS_MAX = 200
/** Of any other text whose length has no limit. */
const TEXT_CHARS_MAX = 60
const SEED = Number(process.env.BERTH_FUZZ_SEED ?? 20_260)
const REQUESTS = triesOf('requests')
const CONCURRENCY = 16
/** Calls that chance may never carry out, and what they would need for it. */
const MAY_NEVER_SUCCEED: Record<string, string> = {
  'account.login': 'the password of an account',
  'account.login-by': 'a link or a ticket that was not used yet',
  'account.signup': 'an address and a password that pass every rule, and the names of the application',
  'api_key.edit': 'budget, models and limits that are right all at once',
  'model.call-body': 'a call whose words are kept',
  'account.verify-email': 'the secret of an activation mail',
  'account.reset-password': 'the secret of a reset mail',
  'account.set-password': 'the password of an account',
  'account.confirm-sign-in': 'the password of an account, or a mailed code',
  'account.delete-account': 'the name of the account, typed',
  'account.update-user': 'the id of the caller in the query, and the names of the columns',
  'account.end-session': 'the id of an open session',
  'offer_watch.add': 'a moment within the next ninety days',
  'offer_watch.cancel': 'the id of a watch',
  'instance.deploy': 'a whole deploy in which every field fits',
  'deploy_template.add': 'a whole deploy in which every field fits',
  'deploy_template.rename': 'the id of a template',
  'deploy_template.remove': 'the id of a template',
  'model.chat': 'the id of a model, in a body that is none of the contract',
  'model.generate-image': 'the id of a model, in a body that is none of the contract',
  'model.creation-outlook': 'the id of a model that makes pictures or films',
  'model.get-creation': 'the id of a run',
  'model.make-images': 'the id of a model that makes pictures, and one of its sizes',
  'model.make-video': 'the id of a model that makes films, and one of its sizes',
  'model.upload-picture': 'the bytes of a picture',
  'model.stop-creation': 'the id of a run',
  'model.notify-creation': 'the id of a run',
  'model.delete-creation': 'the id of a run',
  'model.star-creation': 'the id of a picture that is saved',
  'model.retry-creation': 'the id of a picture that was not made',
  'check_in.take': 'the name of a time zone',
  'file.list': 'a machine in which programs run',
  'file.plan-upload': 'a machine in which programs run',
  'file.upload': 'a machine in which programs run',
  'file.make-folder': 'a machine in which programs run',
  'file.rename': 'a machine in which programs run',
  'file.remove': 'a machine in which programs run',
  'file.download': 'an instance that runs',
  'bill.edit-budget': 'the id of a budget',
  'bill.remove-budget': 'the id of a budget',
  'image.create': 'an instance that runs, and a form in which every field fits',
  'image.upload-cover': 'the bytes of a picture',
  'image.edit': 'the id of an image, and a form in which every field fits',
  'image.delete': 'the id of an image',
  'image.publish': 'the id of an image that is kept',
  'image.cancel-publishing': 'the id of an image in review',
  'image.make-private': 'the id of an image of the community',
  'image.build-log': 'the id of an image of the customer’s own',
  'image.cancel-build': 'the id of an image that is made',
  'image.star': 'the id of an image of the community',
  'image.unstar': 'the id of an image of the community',
  'image.report': 'the id of an image of the community',
  'netvolume.edit': 'the id of a volume',
  'netvolume.grow': 'the id of a volume, and a larger size',
  'netvolume.attach': 'the id of a volume, and a pod that does not run',
  'netvolume.detach': 'the id of a volume, and a pod that does not run',
  'netvolume.delete': 'the id of a volume, and its name',
  'netvolume.snapshots': 'the id of a volume',
  'netvolume.take-snapshot': 'the id of a volume',
  'netvolume.delete-snapshot': 'the id of a volume and of a snapshot of it',
  'netvolume.restore-snapshot': 'the id of a volume and of a snapshot of it',
  'netvolume.schedule-snapshots': 'the id of a volume',
  'netvolume.s3': 'the id of a volume',
  'netvolume.make-s3-key': 'the id of a volume',
  'netvolume.rotate-s3-key': 'the id of a volume and of a key to it',
  'netvolume.revoke-s3-key': 'the id of a volume and of a key to it',
  'instance.renew': 'an instance that is paid for in advance, and the price of its term',
  'instance.toggle-renewal': 'an instance that is paid for in advance',
  'instance.toggle-subscription': 'the price of a term',
  'instance.convert-charge-type': 'an instance that is paid for in advance, and a price',
  'eip.bind': 'an instance with a TCP or UDP port',
  'eip.unbind': 'the id of a public IP',
  'account.begin-provider-sign-in': 'a service to sign in through',
  'account.link': 'a visit to a service that came back',
  'account.unlink': 'a service that is linked',
  'instance.start': 'an instance that has stopped',
  'bill.topup-cancel': 'a payment that waits to be confirmed',
  'bill.order-line': 'the id of a line',
  'bill.invoice-page': 'the id of a document',
  'bill.invoice-pdf': 'the id of a document',
  'bill.payment-method-set': 'the id of a method that is kept',
  'bill.payment-method-remove': 'the id of a method that is kept',
  'bill.payment-intent': 'the number of a card that is kept',
  'bill.coupon-apply': 'the code of a coupon',
  'referral.choose': 'the quarter that runs',
  'referral.set-paypal': 'an address that is whole',
  'referral.confirm-paypal': 'the token of a mailed link',
  'referral.resend-paypal': 'a PayPal account that was said a minute ago',
}
/** After so many, sign-outs are made good and the ids that are filled in are looked up again. */
const BATCH = 250
/** Whoever says nothing for so long after half a request has nothing to say. */
const SILENCE_MS = 8_000
const ERROR_CHARS_MAX = 100_000
const COMPLAINTS_MAX = 20
/** Nothing listens there. */
const NO_REGISTRY = 'localhost:1'
const NO_ID = '01890000-0000-7000-8000-000000000000'

const ROOT = resolve(import.meta.dirname, '../../..')
const CONSOLE_BUILT = existsSync(resolve(ROOT, 'apps/console/dist/index.html'))
/** What a path out of the console's folder would reach for. */
const PRIVATE_FILES = ['package.json', 'apps/console/package.json', 'apps/gateway/src/main.ts', '/etc/passwd']
  .map(file => resolve(ROOT, file))
  .filter(file => existsSync(file))
  .map(file => readFileSync(file, 'utf8'))
const INSIDE =
  /\bat .*\.[tj]s:\d|node_modules|\/src\/|\/apps\/|file:\/\/|select .* from |insert into |SQLITE|postgres(?:ql)?:|PostgresError|DrizzleQuery|ECONN|FST_/s
/** What is random in a captcha or a key spells anything sooner or later. */
const RANDOM = /"captcha(?:Image|Id)":"[^"]*"|\bbk-[\w-]*/g

interface Wanted {
  /** The call that it was made from; empty for an address of another making. */
  operation: string
  method: string
  path: string
  headers: Record<string, string | string[]>
  body: string | null
  chunked: boolean
}

interface Answer {
  status: number
  headers: IncomingHttpHeaders
  text: string
  ms: number
}

/** The parts of JSON Schema that the contract's schemas come to. */
interface Schema {
  type?: string
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  additionalProperties?: Schema | boolean
  minimum?: number
  maximum?: number
  maxLength?: number
  pattern?: string
}

/** JSON as a text, so that numbers and escapes are in it that no serializer writes. */
type JsonText = fc.Arbitrary<string>

const logged = new Set<string>()
const carriedOut = new Set<string>()
let gateway: TestGateway
let agent: Agent
let owner: { userId: string; token: string; email: string }
let fillings: Record<string, string> = {}

beforeAll(async () => {
  const keep = { write: (line: string) => logged.add(line.slice(0, 1_500)) }
  gateway = await startGateway({
    privateRegistries: [NO_REGISTRY],
    log: pino({ level: 'error', base: null, timestamp: false }, keep),
  })
  agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY })
  owner = await newOwner()
})
afterAll(async () => {
  agent.destroy()
  await gateway.stop()
})

test(`[R7.8] random requests made from the contract are answered in our envelope (${REQUESTS} requests, BERTH_FUZZ_SEED=${SEED})`, {
  timeout: 120_000 + REQUESTS * 120,
}, async () => {
  const complaints: string[] = []
  const isEnough = (sent: number) => sent >= REQUESTS && (missed().length === 0 || sent >= 2 * REQUESTS)
  for (let sent = 0; !isEnough(sent) && complaints.length < COMPLAINTS_MAX; sent += BATCH) {
    fillings = await currentFillings()
    const numRuns = BATCH
    // Requests run side by side, so no two runs are the same: what chance has not carried out is then tried alone.
    const requests = sent < REQUESTS ? anyRequest : requestOfMissed()
    const queue = fc.sample(requests, { seed: SEED * 10_000 + sent / BATCH, numRuns })
    const worker = async () => {
      for (let next = queue.pop(); next; next = queue.pop()) {
        const complaint = await complaintOf(next)
        if (complaint) complaints.push(`${complaint}\n  ${JSON.stringify(next).slice(0, 700)}`)
      }
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, worker))
  }
  expect(complaints, [...logged].slice(0, 5).join('\n')).toEqual([])
  expect([...logged]).toEqual([])
  // Else the requests would only ever meet the first check. A new call that chance does not carry out either gets what
  // it needs in `fillings`, or is named with the reason.
  expect(missed()).toEqual([])
  const health = await send(plain('GET', `${GATEWAY_PREFIX}/health`))
  expect(health).toMatchObject({ status: 200, text: '{"status":"ok"}' })
  expect(await gateway.gateway.billing.checkBooks()).toEqual([])
})

test('every call that chance may never carry out is a call', () => {
  const operations: string[] = calls.map(call => call.operation)
  expect(Object.keys(MAY_NEVER_SUCCEED).filter(name => !operations.includes(name))).toEqual([])
})

test.each([
  'nonsense\r\n\r\n',
  'GET / HTTP/1.1\r\n\r\n',
  'GET  /gateway/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
  'GET /gateway/\u00fc HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'GET /gateway/health HTTP/9.9\r\nHost: localhost\r\n\r\n',
  'GET /gateway/\0health HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'GET /gateway/health HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n',
  'GET /gateway/health HTTP/1.1\r\nHost: localhost\r\nHost: other.example\r\nConnection: close\r\n\r\n',
  'POST http://localhost/gateway/api/none HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
  'OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
  'BREW /gateway/health HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'GET /gateway/health HTTP/1.1\r\nHost: localhost\r\nExpect: miracles\r\nConnection: close\r\n\r\n',
  'GET /gateway/none HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
  'POST /gateway/api/account/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n',
  'POST /gateway/api/account/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'POST /gateway/api/account/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
  `GET /${'a'.repeat(70_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
])('[R7.8] what is hardly HTTP is answered below 500 or hung up on: %j', async text => {
  const answer = await sendRaw(text)
  if (answer !== '') expect(answer).toMatch(/^HTTP\/1\.1 [24]\d\d /)
  expect(answer).not.toMatch(INSIDE)
  expect(await send(plain('GET', `${GATEWAY_PREFIX}/health`))).toMatchObject({ status: 200 })
})

/** Calls that were not carried out yet, but for those that may never be. */
function missed(): string[] {
  const operations: string[] = calls.map(call => call.operation)
  return operations.filter(operation => !carriedOut.has(operation) && !(operation in MAY_NEVER_SUCCEED))
}

/** What is wrong with the answer to a request; null when nothing is. */
async function complaintOf(wanted: Wanted): Promise<string | null> {
  const answer = await send(wanted).catch((error: unknown) => String(error))
  if (typeof answer === 'string') return `no answer: ${answer}`
  const { status, text, ms } = answer
  const path = wanted.path.split(/[?#]/)[0] ?? ''
  const told = `${status} ${text.slice(0, 300)}`
  if (ms > PATIENCE_MS) return `an answer after ${Math.round(ms)} ms: ${told}`
  if (PRIVATE_FILES.includes(text)) return `a file from outside: ${told}`
  const ours = path === GATEWAY_PREFIX || path.startsWith(`${GATEWAY_PREFIX}/`)
  const isJson = String(answer.headers['content-type']).startsWith('application/json')
  const notBuilt =
    status === 503 && !ours && !CONSOLE_BUILT && (wanted.method === 'HEAD' || text.includes('not built'))
  if (notBuilt) return null
  if (status >= 500) return `a failure: ${told}`
  const call = calls.find(({ operation }) => operation === wanted.operation)
  if (call?.raw && status === 200) {
    carriedOut.add(wanted.operation)
    return null
  }
  const other = call?.file ?? (call?.streams ? 'text/event-stream' : null)
  if (other !== null && String(answer.headers['content-type']).startsWith(other)) {
    carriedOut.add(wanted.operation)
    return null
  }
  // The console's files and the documents' page are published as they are.
  if (status < 400 && !isJson) {
    return ours && !/^\/gateway\/(docs|metrics)/.test(path) && text !== '' ? `no JSON: ${told}` : null
  }
  const inside = INSIDE.exec(text.replace(RANDOM, ''))
  if (inside) return `tells of the inside (${inside[0]}): ${told}`
  if (status === 421 && wanted.headers.host !== undefined) return null
  if (wanted.method === 'HEAD') return text === '' ? null : `a body for HEAD: ${told}`
  if (!ours && status < 400) return null
  return envelopeComplaint(answer, wanted.operation)
}

function envelopeComplaint({ status, text, headers }: Answer, operation: string): string | null {
  const told = `${status} ${text.slice(0, 300)}`
  let envelope: Record<string, unknown>
  try {
    envelope = JSON.parse(text) as typeof envelope
  } catch {
    return `no envelope: ${told}`
  }
  if (headers['x-request-id'] === undefined) return `no request id: ${told}`
  if (status === 200 && (envelope.openapi !== undefined || text === '{"status":"ok"}')) return null
  if (envelope.status === 'ok') {
    carriedOut.add(operation)
    return status === 200 && 'data' in envelope && envelope.msg === '' ? null : `not the envelope: ${told}`
  }
  if (text.length > ERROR_CHARS_MAX) return `an error of ${text.length} characters: ${told}`
  const rule = ERRORS[envelope.code as ErrorCode] as (typeof ERRORS)[ErrorCode] | undefined
  const fits =
    envelope.status === 'error' &&
    rule?.http === status &&
    envelope.data === null &&
    typeof envelope.msg === 'string' &&
    envelope.msg !== '' &&
    // A replayed answer is the first one's, byte by byte.
    (envelope.request_id === headers['x-request-id'] || headers['idempotent-replayed'] === 'true')
  return fits ? null : `not the envelope, or not its code's status: ${told}`
}

function send(wanted: Wanted): Promise<Answer> {
  const headers: Wanted['headers'] = {}
  for (const [name, value] of Object.entries(wanted.headers)) {
    headers[name] = Array.isArray(value) ? value.map(fillIn) : fillIn(value)
  }
  const body = wanted.body === null ? null : Buffer.from(fillIn(wanted.body))
  if (body && wanted.chunked) headers['transfer-encoding'] = 'chunked'
  else if (body) headers['content-length'] = String(body.length)
  return new Promise((done, failed) => {
    const began = performance.now()
    const { method, path } = wanted
    const place = { host: '127.0.0.1', port: gateway.port, agent, method, path: fillIn(path), headers }
    const request = httpRequest({ ...place, timeout: PATIENCE_MS * 2 }, response => {
      const chunks: Buffer[] = []
      const { statusCode = 0, headers } = response
      const finish = () => {
        const text = Buffer.concat(chunks).toString()
        done({ status: statusCode, headers, text, ms: performance.now() - began })
      }
      const isEndless = String(headers['content-type']).startsWith('text/event-stream')
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        if (!isEndless) return
        finish()
        request.destroy()
      })
      response.on('error', failed)
      response.on('end', finish)
    })
    request.on('timeout', () => request.destroy(new Error('nothing came')))
    request.on('error', failed)
    if (body) request.write(body)
    request.end()
  })
}

function sendRaw(text: string): Promise<string> {
  return new Promise(done => {
    const socket = connect(gateway.port, '127.0.0.1', () => socket.write(text))
    let answer = ''
    socket.setEncoding('latin1').on('data', chunk => {
      answer += String(chunk)
    })
    socket.on('error', () => {})
    socket.on('close', () => done(answer))
    socket.setTimeout(SILENCE_MS, () => socket.destroy())
  })
}

function fillIn(text: string): string {
  return text.includes('__') ? text.replace(/__(\w+?)__/g, (whole, name) => fillings[name] ?? whole) : text
}

async function newOwner(): Promise<typeof owner> {
  const customer = await gateway.signUp()
  await gateway.grant(customer.userId, 100_000)
  return customer
}

/** A session of the owner's; of a new one, where chance has deleted the account. */
async function ownerSession(): Promise<string> {
  const { identity } = gateway.gateway
  const place = { address: '127.0.0.1', userAgent: 'test', stay: true }
  if ((await identity.recipient(owner.userId)) === null) owner = await newOwner()
  return await identity.signInByLink(await identity.createSignInLink(owner.userId), place)
}

/** Sessions of our own and of others, and what the owner has by now. */
async function currentFillings(): Promise<typeof fillings> {
  const token = await ownerSession()
  await removeBudgets(token)
  const instances = await gateway.data(listInstances, {}, { token })
  const live = instances.find(({ status }) => status === 'running')
  const list = await send({
    ...plain('GET', `${GATEWAY_PREFIX}/api/bill/transaction`),
    headers: { authorization: `Bearer ${token}` },
  })
  const { data } = JSON.parse(list.text) as { data: { items: { id: string; type: string }[] } }
  return {
    owner: token,
    other: (await gateway.signUp()).token,
    email: owner.email,
    instance: live?.instance_id ?? (await deployOne(token)),
    stopped: instances.find(({ status }) => status === 'stopped')?.instance_id ?? 'i-bbbbbbb',
    transaction: data.items[0]?.id ?? 't_none',
    topup: data.items.find(({ type }) => type === 'topup')?.id ?? (await topUpOne(token)),
    ...(await keyFillings(token)),
  }
}

/** A budget that chance has set, and that is used up, would let nothing be deployed any more. */
async function removeBudgets(token: string): Promise<void> {
  for (const { id } of await gateway.data(listBudgets, {}, { token })) {
    await gateway.data(removeBudget, { params: { id } }, { token })
  }
}

/** Registries that chance comes up with are never asked: only the one that nobody runs is named. */
async function keyFillings(token: string): Promise<typeof fillings> {
  const [sshKeys, registries, apiKeys] = await Promise.all([
    gateway.data(listSshKeys, {}, { token }),
    gateway.data(listRegistryCredentials, {}, { token }),
    gateway.data(listApiKeys, {}, { token }),
  ])
  const registry =
    registries.find(one => one.registry === NO_REGISTRY) ??
    (await keepOneCredential(token, registries.length))
  return {
    sshkey: sshKeys[0]?.id ?? NO_ID,
    registry: registry?.id ?? NO_ID,
    apikey: apiKeys.find(({ revoked_at }) => revoked_at === null)?.id ?? NO_ID,
  }
}

async function keepOneCredential(token: string, number: number): Promise<{ id: string } | null> {
  const body = { name: `none ${number}`, registry: NO_REGISTRY, username: 'anna', password: 'secret' }
  const { envelope } = await gateway.call(addRegistryCredential, { body }, { token })
  return envelope.status === 'ok' ? envelope.data : null
}

async function topUpOne(token: string): Promise<string> {
  const body = {
    amount: 1_000,
    currency: 'USD',
    platform_name: 'testcard',
    source: '4242424242424242',
  } as const
  const { envelope } = await gateway.call(topup, { body }, { token })
  return envelope.status === 'ok' ? envelope.data.transaction_id : 't_none'
}

async function deployOne(token: string): Promise<string> {
  const machine = { region_code: 'us-west', gpu_spec_id: 'cpu', gpu_count: 1, image_id: 'berth-base' }
  const body = { ...machine, name: 'fuzzed', container_disk_gb: 20 }
  const { envelope } = await gateway.call(deployInstance, { body }, { token })
  return envelope.status === 'ok' ? envelope.data.instance_id : 'i-aaaaaaa'
}

function plain(method: string, path: string): Wanted {
  return { operation: '', method, path, headers: {}, body: null, chunked: false }
}

/* Values */

function words(text: string): string[] {
  return text.trim().split(/\s+/)
}

/** What the gateway knows by name, so that many requests get past the checks. */
const KNOWN: Record<string, unknown[]> = {
  application: ['berth-console'],
  organization: ['berth'],
  email: ['__email__', 'a@example.org', 'b@example.org', 'x@例え.jp', '"q q"@example.org'],
  username: ['__email__', 'a@example.org', 'b@example.org'],
  password: ['Harbour-Light-7', 'wrong-Wrong-1'],
  public_key: ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBERERERERERERERERERERERERERERERERERERERERER a@b'],
  instance_id: ['__instance__', '__stopped__', 'i-aaaaaaa'],
  gpu_count: [1],
  container_disk_gb: [20, 5, 40],
  // A pod has no data disk, and no disk of its own where the engine keeps none.
  data_disk_gb: [null, null, null, 10],
  pod_volume_gb: [null, null, 10],
  kind: ['POD'],
  model: ['berth/demo-chat', 'berth/demo-chat', 'berth/demo-image', 'none'],
  size: ['256x256', null],
  prompt: ['a harbour'],
  billing_type: ['postpay', 'postpay', 'prepay'],
  charge_cycle: [null, null, 'weekly', 'monthly'],
  price_micro: ['12090000', '46080000', '80000', '5000', '0'],
  public_ip: ['shared', 'shared', 'dedicated'],
  change: ['renew', 'subscribe', 'convert'],
  name: ['box', 'a_b-C', 'Ann'],
  id: [
    '__instance__',
    '__stopped__',
    '__transaction__',
    '__topup__',
    '__sshkey__',
    '__registry__',
    '__apikey__',
    'admin/berth-console',
    'berth-base',
    't_01890000-0000-7000-8000-000000000000',
  ],
  region_code: ['us-west', 'us-west', 'us-west', 'us-east', 'nowhere'],
  currency: ['USD', 'USD', 'EUR'],
  region: ['us-west', 'nowhere'],
  region_codes: ['us-west', 'eu-north'],
  gpu_spec_id: ['cpu', 'cpu', 'cpu', 'rtx-4090', 'h100-sxm'],
  image_id: ['berth-base', 'berth-base', 'pytorch', 'none'],
  platform_name: ['testcard', 'testcard', 'testcard', 'paypal'],
  source: ['4242424242424242', '4242424242424242', '4000000000000002', '4111111111111111'],
  search: ['%', '\\', '_', 'GPU', "' or 1=1 --"],
  token: ['none'],
  applicationId: ['admin/berth-console'],
  userId: ['__email__', 'a@example.org'],
  clientSecret: ['none', 'aaaaaaaaaaaaaaaaaaaaaa'],
}

const ODD_TEXTS = words(
  String.raw`%  \ %s%n {{7*7}} ../../etc/passwd __proto__ constructor 0x10 NaN -1 1e3 Infinity true null [] <script> ß ９ İ 👩‍🚀`,
).concat([
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'x\udfff\ud800y',
  '\u202e',
  '\ufeff',
  '\r\nX-A: b',
  "'; drop table users; --",
])
const ODD_JSON = words(
  String.raw`null true false 0 -0 -1 1.5 1e999 -1e999 5e-324 1E400 2147483648 9007199254740993 99999999999999999999
  [] {} [[]] [null] {"":""} {"a":[{"b":1}]} "\u0000" "\ud800" {"\udc00":"\ud800"} {"\u0000":1} {"length":1e9}
  {"toString":1}`,
).concat(ODD_TEXTS.map(text => JSON.stringify(text)))
/** No parser takes these. */
const BROKEN_JSON = words(
  String.raw`{ } {"a" {"a":} {'a':1} {a:1} [1,] NaN -Infinity 01 "\x" "\ud80" {"__proto__":{"a":1}} /**/{} undefined
  a=1&b=2 {"constructor":{"prototype":{"a":1}}} <a/>`,
).concat([
  '',
  ' ',
  '1 2',
  '"\n"',
  '\ufeff{}',
  '{}\0',
  '\ud800',
  '--x\r\nContent-Disposition: form-data\r\n\r\n',
])

const oddText = fc.oneof(fc.constantFrom(...ODD_TEXTS), fc.string({ unit: 'binary', maxLength: 40 }))
const oddJson: JsonText = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...ODD_JSON) },
  { weight: 1, arbitrary: fc.json({ maxDepth: 3 }) },
  { weight: 1, arbitrary: oddText.map(text => JSON.stringify(text)) },
)

/** Big in one way or another: deep, wide, long. */
const hugeJson: JsonText = fc
  .tuple(fc.constantFrom('[', '{', '[1', '{1', '"', '["\0', '[{'), fc.constantFrom(200, 5_000, 60_000, 1e6))
  .map(([kind, size]) => {
    const fit = (unit: number) => Math.min(size, Math.floor((DEPLOY_BODY_BYTES_MAX - 2_000) / unit))
    if (kind === '[') return '['.repeat(fit(2)) + ']'.repeat(fit(2))
    if (kind === '{') return `${'{"a":'.repeat(fit(6))}1${'}'.repeat(fit(6))}`
    if (kind === '[1') return `[${'1,'.repeat(fit(2))}1]`
    if (kind === '{1') return `{${Array.from({ length: fit(10) }, (_, n) => `"${n}":1`).join()}}`
    if (kind === '["\0') return `{"${'k'.repeat(fit(2))}":[${'"\\u0000",'.repeat(fit(20))}1]}`
    if (kind === '[{') return `[${'{"a":[]},'.repeat(fit(9))}1]`
    return JSON.stringify('x'.repeat(size * 2))
  })

/** A value that a schema takes, as JSON. */
function fitting(schema: Schema, name = ''): JsonText {
  const known = schema.type === 'array' ? undefined : KNOWN[name]
  const any = anyFitting(schema, name)
  if (!known) return any
  const text = fc.constantFrom(...known.map(value => JSON.stringify(value)))
  return fc.oneof({ weight: 9, arbitrary: text }, { weight: 1, arbitrary: any })
}

function anyFitting(schema: Schema, name: string): JsonText {
  const text = (values: readonly unknown[]) => fc.constantFrom(...values.map(value => JSON.stringify(value)))

  if (schema.const !== undefined) return text([schema.const])
  if (schema.enum) return text(schema.enum)
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(one => fitting(one, name)))
  const { minimum = -10, maximum = 100, pattern } = schema
  const { maxLength = pattern ? PATTERN_CHARS_MAX : TEXT_CHARS_MAX } = schema
  switch (schema.type) {
    case 'object':
      return schema.properties ? objectOf(schema, fitting) : recordOf(schema)
    case 'array':
      return fc.array(fitting(schema.items ?? {}, name), { maxLength: 4 }).map(items => `[${items.join()}]`)
    case 'integer':
    case 'number':
      return fc.oneof(
        fc.integer({ min: minimum, max: Math.min(maximum, minimum + 200) }).map(String),
        text([minimum, maximum]),
      )
    case 'boolean':
      return text([true, false])
    case 'null':
      return text([null])
    default:
      return textOf(pattern, maxLength)
  }
}

const texts = new Map<string, JsonText>()

/** Made once of each kind: making one takes milliseconds, and there are a thousand fields. */
function textOf(pattern: string | undefined, maxLength: number): JsonText {
  const kind = `${maxLength} ${pattern}`
  const known = texts.get(kind)
  if (known !== undefined) return known
  const plain = pattern
    ? fc.stringMatching(new RegExp(pattern), { maxLength: Math.min(maxLength, PATTERN_CHARS_MAX) })
    : fc.string({ maxLength })
  const text = plain.map(one => JSON.stringify(one))
  texts.set(kind, text)
  return text
}

/** The fields of an object, each made by `value`; those that may be left out are, at times. */
function objectOf(schema: Schema, value: (schema: Schema, name: string) => JsonText): JsonText {
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const text = value(field, name).map(one => `${JSON.stringify(name)}:${one}`)
    return schema.required?.includes(name) ? text : fc.option(text)
  })
  return fc.tuple(...fields).map(parts => `{${parts.filter(part => part !== null).join()}}`)
}

const variableName = fc.stringMatching(/^[A-Z_]{1,8}$/)

function recordOf({ additionalProperties }: Schema): JsonText {
  const known = typeof additionalProperties === 'object' ? fitting(additionalProperties) : oddJson
  const odd = fc.constantFrom('"\\ud800"', '"\\u0000"', '"\\udbff\\udfff"', '{}', '7')
  const value = fc.oneof({ weight: 5, arbitrary: known }, { weight: 1, arbitrary: odd })
  return fc
    .array(fc.tuple(variableName, value), { maxLength: 3 })
    .map(pairs => `{${pairs.map(([key, one]) => `"${key}":${one}`).join()}}`)
}

/** The same with faults: odd values, boundary lengths, nothing where something belongs. */
function roughened(schema: Schema, name = ''): JsonText {
  const { maxLength = 64, minimum = 0, maximum = 2 ** 31 } = schema
  return fc.oneof(
    { weight: 6, arbitrary: schema.properties ? objectOf(schema, roughened) : fitting(schema, name) },
    { weight: 1, arbitrary: oddJson },
    { weight: 1, arbitrary: fc.constantFrom(minimum - 1, maximum + 1).map(String) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(maxLength, maxLength + 1).map(n => JSON.stringify('a'.repeat(n))),
    },
  )
}

/* Requests */

const ODD_PARTS = words(
  `%00 %2f .. . %2e%2e %ff %zz % %2 %ED%A0%80 ..%2f..%2fetc%2fpasswd ;a=1 %252e%252e %20 %0d%0aX-A:%20b * :id
  {id} %5c..%5c %c0%ae%c0%ae`,
).concat(['', 'a'.repeat(301)])
const ODD_PATHS = words(
  `/ // /index.html /assets/ /assets /locales/en/ /.vite/manifest.json /.env /favicon.ico /? /# /?a=%zz /con.txt
  /../package.json /..%2fpackage.json /%2e%2e/package.json /..%5cpackage.json /assets/../../package.json
  /assets/..%2f..%2fpackage.json /locales/..%2f..%2f..%2fgateway/src/main.ts /..%2f..%2fgateway%2fsrc%2fmain.ts
  /....//package.json //etc/passwd /%2fetc%2fpasswd /..%2f..%2f..%2f..%2f..%2fetc%2fpasswd /assets/%00.js /x.js%00
  /%ff.js /%zz.js /a.b% /gateway /gateway/ /gateway//api/settings /gateway/../package.json /gateway/health
  /gateway/health/ /gateway/openapi.json /gateway/docs /gateway/docs/ /gateway/metrics /gateway/docs/..%2f..%2fpackage.json
  /gateway/docs/js/x.js /gateway/terminal /%67ateway/health /GATEWAY/api /gateway/api/settings%2f
  /gateway%2fapi%2fsettings /gateway/api/instance`,
)
const METHODS = words('GET HEAD POST PUT DELETE PATCH OPTIONS TRACE PROPFIND QUERY MKCOL')

const authorization = fc.oneof(
  { weight: 14, arbitrary: fc.constant('Bearer __owner__') },
  {
    weight: 5,
    arbitrary: fc.constantFrom(
      'Bearer __other__',
      'bearer   __owner__ ',
      'Bearer __owner__x',
      'Bearer x__owner__',
      'Bearer',
      'Bearer ',
      'Basic YTpi',
      '__owner__',
      'Bearer a.b.c',
      'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.',
      'Bearer eyJhbGciOiJIUzI1NiIsImtpZCI6Ii4uLy4uL2EifQ.bnVsbA.AAAA',
      'Bearer \u00fc\u00ff',
      `Bearer ${'a.'.repeat(3_000)}`,
    ),
  },
  { weight: 2, arbitrary: fc.constant(null) },
)
const idempotencyKey = fc.oneof(
  { weight: 6, arbitrary: fc.uuid() },
  { weight: 2, arbitrary: fc.constantFrom('same-key-1', 'same-key-2') },
  {
    weight: 2,
    arbitrary: fc.constantFrom(null, '', 'short', '\u00fc'.repeat(9), 'k'.repeat(201), 'with space', [
      'key-one-1',
      'key-two-2',
    ]),
  },
)
const contentType = fc.oneof(
  { weight: 12, arbitrary: fc.constant('application/json') },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(
        'application/json; charset=utf-16',
        'APPLICATION/JSON',
        'text/json',
        'text/plain',
        '',
        '/',
        ';;',
      )
      .chain(one => fc.constantFrom(one, null)),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/json\u00ff',
    ),
  },
)
const oddHeaders = fc.constantFrom<Wanted['headers']>(
  { 'accept-language': 'zh-CN,zh;q=0.9' },
  { 'accept-language': '\u00ff,;q=,,*'.repeat(40) },
  { 'content-encoding': 'gzip' },
  { accept: 'image/png', 'accept-encoding': 'br;q=nine, *' },
  { host: 'evil.example' },
  { host: 'LOCALHOST:1' },
  { host: '127.0.0.1@evil.example' },
  { origin: 'null', referer: '\u00ff' },
  { 'x-forwarded-for': "1.2.3.4, ::1, '", forwarded: 'for=x', 'x-forwarded-host': 'evil.example' },
  { 'x-http-method-override': 'DELETE' },
  { cookie: 'a=b; '.repeat(300), 'user-agent': '\u00ff'.repeat(2_000) },
  { range: 'bytes=9999999-', 'if-none-match': '*', 'if-modified-since': 'never' },
  { expect: '100-continue' },
)

const headersOf = fc
  .tuple(authorization, idempotencyKey, contentType, fc.option(oddHeaders, { freq: 6 }))
  .map(([token, key, type, odd]): Wanted['headers'] => ({
    ...(token !== null && { authorization: token }),
    ...(key !== null && { [IDEMPOTENCY_KEY_HEADER]: key }),
    ...(type !== null && { 'content-type': type }),
    ...odd,
  }))

/** A body for a schema, or for a call that takes none. */
function bodyOf(schema: Schema | null): fc.Arbitrary<string | null> {
  if (!schema) {
    return fc.oneof(
      { weight: 8, arbitrary: fc.constant(null) },
      { weight: 1, arbitrary: fc.constantFrom('{}', '{') },
    )
  }
  const names = Object.keys(schema.properties ?? {})
  const good = objectOf(schema, fitting)
  const named = fc.tuple(good, fc.constantFrom(...names, 'unknown', '__proto__', '\0'))
  /** The later of two fields of one name counts, so this also takes the place of what was there. */
  const withField = (value: JsonText) =>
    fc
      .tuple(named, value)
      .map(([[text, name], one]) => `${text.slice(0, -1)},${JSON.stringify(name)}:${one}}`)
  return fc.oneof(
    { weight: 60, arbitrary: good },
    { weight: 40, arbitrary: objectOf(schema, roughened) },
    { weight: 30, arbitrary: withField(oddJson) },
    { weight: 10, arbitrary: oddJson },
    { weight: 10, arbitrary: fc.constantFrom(...BROKEN_JSON, null) },
    { weight: 5, arbitrary: fc.tuple(good, fc.nat(400)).map(([text, at]) => text.slice(0, at)) },
    { weight: 1, arbitrary: withField(hugeJson) },
    { weight: 1, arbitrary: hugeJson },
  )
}

/** A value as it stands in an address: encoded, or as odd as it is. */
function addressPart(json: JsonText): fc.Arbitrary<string> {
  const encoded = (text: string) => encodeURIComponent(text.toWellFormed())
  const plainText = json.map(text => {
    const value: unknown = JSON.parse(text)
    return encoded(typeof value === 'string' ? value : text)
  })
  return fc.oneof(
    { weight: 30, arbitrary: plainText },
    { weight: 2, arbitrary: fc.constantFrom(...ODD_PARTS) },
    { weight: 1, arbitrary: oddText.map(encoded) },
  )
}

function queryOf(schema: Schema | null): fc.Arbitrary<string> {
  const names = Object.keys(schema?.properties ?? {})
  const pair = fc.constantFrom(...names, 'unknown', '__proto__', 'page[]', '%zz').chain(name => {
    const field = names.includes(name) ? schema?.properties?.[name] : undefined
    return addressPart(field ? fitting(field, name) : oddJson).map(value => `${name}=${value}`)
  })
  // Often the whole form, so that it gets through; else single parameters, some twice.
  const fields = names.map(name => {
    const value = addressPart(fitting(schema?.properties?.[name] ?? {}, name)).map(one => `${name}=${one}`)
    return schema?.required?.includes(name) ? value : fc.option(value)
  })
  const whole = fc.tuple(...fields).map(parts => parts.filter(part => part !== null).join('&'))
  const some = fc.array(pair, { maxLength: 4 }).map(pairs => pairs.join('&'))
  return fc
    .oneof({ weight: names.length > 0 ? 2 : 0, arbitrary: whole }, { weight: 1, arbitrary: some })
    .map(text => (text === '' ? '' : `?${text}`))
}

function pathOf(path: string, params: Schema | null): fc.Arbitrary<string> {
  const parts = path.split(/(\{\w+\})/).map(part => {
    const name = /^\{(\w+)\}$/.exec(part)?.[1]
    if (name === undefined) return fc.constant(part)
    return addressPart(fitting(params?.properties?.[name] ?? { type: 'string' }, name))
  })
  return fc.tuple(...parts).map(made => made.join(''))
}

function requestOf(
  method: fc.Arbitrary<string>,
  path: string,
  parts: Record<'params' | 'query' | 'body', Schema | null>,
) {
  return fc.record<Wanted>({
    operation: fc.constant(''),
    method,
    path: fc
      .tuple(pathOf(GATEWAY_PREFIX + path, parts.params), queryOf(parts.query))
      .map(made => made.join('')),
    headers: headersOf,
    body: bodyOf(parts.body),
    chunked: fc.nat(9).map(n => n === 0),
  })
}

/** The JSON Schema of a part; one that has a name among the entities stands behind a reference. */
function inlined(part: z.ZodType): Schema {
  const json = z.toJSONSchema(part, { io: 'input', unrepresentable: 'any' })
  return (json.$ref === undefined ? json : json.$defs?.[json.$ref.replace('#/$defs/', '')]) as Schema
}

function requestOfCall(call: Call): fc.Arbitrary<Wanted> {
  const schema = (part: z.ZodType | null) => part && inlined(part)
  const parts = {
    params: schema(call.params),
    query: schema(call.query),
    body: schema(call.body ?? call.raw),
  }
  return requestOf(fc.constant(call.method), call.path, parts).map(made => {
    const one = { ...made, operation: call.operation }
    // The session of a batch is kept for the batch: others sign out.
    if (call.operation !== logout.operation || !String(one.headers.authorization).includes('__owner__'))
      return one
    return { ...one, headers: { ...one.headers, authorization: 'Bearer __other__' } }
  })
}

/** Each password costs tens of milliseconds on purpose, so fewer of these. */
const slow: readonly Call[] = [login, loginBy, signup]
const documented = Object.keys(
  (JSON.parse(readFileSync(resolve(ROOT, 'docs/openapi.json'), 'utf8')) as { paths: Record<string, object> })
    .paths,
).filter(path => path !== GATEWAY_PREFIX + logout.path)

function requestOfMissed(): fc.Arbitrary<Wanted> {
  return fc.oneof(...calls.filter(({ operation }) => missed().includes(operation)).map(requestOfCall))
}

const anyRequest: fc.Arbitrary<Wanted> = fc.oneof(
  ...calls.map(call => ({ weight: slow.includes(call) ? 2 : 10, arbitrary: requestOfCall(call) })),
  {
    weight: 30,
    arbitrary: fc.constantFrom(...documented).chain(path =>
      requestOf(fc.constantFrom(...METHODS), path.slice(GATEWAY_PREFIX.length), {
        params: null,
        query: null,
        body: {},
      }),
    ),
  },
  {
    weight: 30,
    arbitrary: fc.record<Wanted>({
      operation: fc.constant(''),
      method: fc.oneof(
        { weight: 3, arbitrary: fc.constant('GET') },
        { weight: 1, arbitrary: fc.constantFrom(...METHODS) },
      ),
      path: fc.oneof(
        fc.constantFrom(...ODD_PATHS),
        fc
          .array(fc.constantFrom(...ODD_PARTS, 'assets', 'locales', 'gateway', 'api', 'x.js'), {
            minLength: 1,
            maxLength: 6,
          })
          .map(parts => `/${parts.join('/')}`),
      ),
      headers: headersOf,
      body: fc.constant(null),
      chunked: fc.constant(false),
    }),
  },
)
