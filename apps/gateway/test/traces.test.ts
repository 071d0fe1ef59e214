import { randomBytes, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { dirname, join } from 'node:path'
import { getAccount, login, signup } from '@berth/contract/account'
import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import { deployInstance, listInstances, terminateInstance } from '@berth/contract/instances'
import { addRegistryCredential } from '@berth/contract/registries'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { builtGateway } from '../../../scripts/test/built-gateway.ts'
import { deployBody } from '../src/domains/instances/instances-fixture.ts'
import { createFakeEngine } from '../src/drivers/compute/fake/fake-engine.ts'
import { systemClock } from '../src/platform/clock.ts'
import { createChannelClient } from '../src/platform/gateways/channel-client.ts'
import { createChannelServer } from '../src/platform/gateways/channel-server.ts'
import { spannedPort } from '../src/platform/tracing/spanned-port.ts'
import { isTraced, spanned } from '../src/platform/tracing/spans.ts'
import { startTracing } from '../src/platform/tracing/start-tracing.ts'
import { type ReceivedSpan, startOtlpReceiver } from './otlp-receiver.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

const log = pino({ level: 'silent' })
const NAMES = { application: 'berth-console', organization: 'berth' }
const EMAIL = 'grace@example.com'
const PASSWORD = 'Harbour-Light-7'
const POLL = { timeout: 30_000, interval: 100 }
const OF_CALLER = { trace: '0af7651916cd43dd8448eb211c80319c', span: 'b7ad6b7169203331' }
/** More than wait for a collector. */
const MANY = 5_000

test('where no traces are wanted nothing of what makes them is loaded, and drivers are as they were', async () => {
  expect(isTraced()).toBe(false)
  const driver = { name: 'x', ask: async () => 1 }
  expect(spannedPort('models', driver, { facts: {} })).toBe(driver)
  const folder = dirname(await builtGateway())
  const loading = readdirSync(folder)
    .filter(name => name.endsWith('.mjs'))
    .filter(name => /^import [^\n]*["']@opentelemetry\//m.test(readFileSync(join(folder, name), 'utf8')))
  expect(loading).toEqual(['start-tracing.mjs'])
})

// Goal: an operator sees what a call led to, and nothing that is a customer's secret. Method: a gateway with traces on, and a
// collector that takes them by OTLP.
describe('traces', () => {
  let receiver: Awaited<ReturnType<typeof startOtlpReceiver>>
  let stopTracing: () => Promise<void>
  let gateway: TestGateway

  beforeAll(async () => {
    receiver = await startOtlpReceiver()
    const settings = { url: receiver.url, headers: { 'api-key': 'of the collector' }, share: 1 }
    stopTracing = startTracing(settings, { gatewayId: randomUUID(), log })
    const engine = createFakeEngine({ clock: systemClock })
    const parts = ['machines', 'images', 'volumes', 'network', 'console'] as const
    gateway = await startGateway({
      trustedProxies: ['127.0.0.1'],
      compute: spannedPort('compute', engine, { facts: { 'berth.driver': 'fake' }, own: false, parts }),
    })
  })
  afterAll(async () => {
    await gateway?.stop()
    await stopTracing?.()
    receiver?.close()
  })

  const named = (name: string) => receiver.spans.filter(span => span.name === name)
  const first = async (name: string, isIt: (span: ReceivedSpan) => boolean = () => true) => {
    await expect.poll(() => named(name).filter(isIt).length, { ...POLL, message: name }).toBeGreaterThan(0)
    return named(name).find(isIt) as ReceivedSpan
  }

  test('a call is a span by its operation’s name, goes on with the trace of a proxy that is believed, and says what it failed with', async () => {
    const answer = await fetch(`${gateway.origin}${GATEWAY_PREFIX}${getAccount.path}?secret=hunter2`, {
      headers: { traceparent: `00-${OF_CALLER.trace}-${OF_CALLER.span}-01` },
    })
    expect(answer.status).toBe(401)
    expect(await first('account.get-account')).toMatchObject({
      traceId: OF_CALLER.trace,
      parentSpanId: OF_CALLER.span,
      failed: true,
      facts: {
        'http.request.method': 'GET',
        'error.type': 'login_required',
        'http.response.status_code': 401,
      },
    })
    await fetch(`${gateway.origin}/gateway/none/${EMAIL}`, { headers: { traceparent: 'x'.repeat(5_000) } })
    expect((await first('GET /*', ({ parentSpanId }) => parentSpanId === '')).facts).not.toHaveProperty(
      'url.path',
    )
  })

  test('a call of anybody else begins a trace of its own, so that no stranger chooses which are sent', async () => {
    const traceparent = '00-00000000000000000000000000000001-b7ad6b7169203331-01'
    const path = `${gateway.origin}/gateway/api/none-of-a-stranger`
    await new Promise((resolve, reject) => {
      request(path, { method: 'PUT', localAddress: '127.0.0.2', headers: { traceparent } }, answer =>
        answer.resume().once('end', resolve),
      )
        .once('error', reject)
        .end()
    })
    const span = await first('PUT nowhere')
    expect(span.parentSpanId).toBe('')
    expect(span.traceId).not.toMatch(/^0+1$/)
  })

  test('what a call led to is below it: the mail that it had sent, and what listeners did', async () => {
    const body = {
      ...NAMES,
      username: EMAIL,
      email: EMAIL,
      name: 'Grace',
      password: PASSWORD,
      agreement: true as const,
    }
    await gateway.data(signup, { body })
    const call = await first('account.signup')
    const job = await first('job mail', ({ traceId }) => traceId === call.traceId)
    expect(job).toMatchObject({ parentSpanId: call.spanId, failed: false })
    const { token } = await gateway.signUp()
    const credential = { name: 'yard', registry: 'ghcr.io', username: 'anna', password: 'hunter2' }
    await gateway.data(addRegistryCredential, { body: credential }, { token })
    const event = await first('event registry-credential.added')
    expect(event.traceId).toBe((await first('registry.add')).traceId)
    expect(event.facts['berth.listener']).toMatch(/^[a-z-]+$/)
  })

  test('a step of the reconciler has the calls of the engine below it', async () => {
    const { userId, token } = await gateway.signUp()
    await gateway.grant(userId, 1_000)
    const { instance_id: id } = await gateway.data(deployInstance, { body: deployBody() }, { token })
    const status = async () => (await gateway.data(listInstances, {}, { token }))[0]?.status
    await expect.poll(status, POLL).toBe('running')
    const made = await first('compute machines.create')
    const step = receiver.spans.find(({ spanId }) => spanId === made.parentSpanId)
    expect(step?.name).toMatch(/^reconcile /)
    expect(step?.facts).toEqual({ 'berth.instance': id })
    expect(made.facts).toEqual({ 'berth.driver': 'fake' })
    await gateway.data(terminateInstance, { params: { id } }, { token })
  })

  test('the hop to another gateway is in one trace', async () => {
    const key = randomBytes(32)
    const [here, there] = [randomUUID(), randomUUID()]
    const handlers = new Map([
      ['greet', (_: unknown, accept: () => { end(): unknown }) => void accept().end()],
    ])
    const server = createChannelServer({ selfId: there, key, handlers, log })
    const port = await server.listen('127.0.0.1', 0)
    const client = createChannelClient({ selfId: here, key })
    onTestFinished(async () => {
      client.close()
      await server.close()
    })
    const to = { gatewayId: there, address: `127.0.0.1:${port}` }
    await spanned('a call', {}, async () => (await client.open(to, 'greet', {})).destroy())
    const hop = await first('hop greet')
    expect(await first('serve greet')).toMatchObject({ traceId: hop.traceId, parentSpanId: hop.spanId })
    expect((await first('a call')).spanId).toBe(hop.parentSpanId)
  })

  test('calls of payments and of models are spans by their function, and a failure is told without its words', async () => {
    const driver = spannedPort(
      'payments',
      {
        name: 'testcard',
        retrieve: async (): Promise<never> =>
          Promise.reject(Object.assign(new Error(`card of ${EMAIL}`), { code: 'card_declined' })),
      },
      { facts: { 'berth.driver': 'testcard' } },
    )
    await expect(driver.retrieve()).rejects.toThrow(EMAIL)
    const failure = { 'berth.driver': 'testcard', 'error.type': 'card_declined' }
    expect(await first('payments retrieve')).toMatchObject({ failed: true, facts: failure })
  })

  test('what customers typed, their addresses and their keys are in none, and the collector gets what it wants', async () => {
    const signIn = { ...NAMES, type: 'token' as const, username: EMAIL, password: PASSWORD }
    const token = await gateway.data(login, { body: signIn })
    await gateway.data(getAccount, {}, { token })
    await first('account.login')
    const sent = receiver.seen.map(({ body }) => body).join()
    for (const secret of [EMAIL, PASSWORD, token, 'hunter2', 'llama-finetune'])
      expect(sent).not.toContain(secret)
    expect(receiver.seen[0]).toMatchObject({ path: '/v1/traces', headers: { 'api-key': 'of the collector' } })
  })

  test('a collector that hangs costs nothing: calls go on, what is too much is dropped, and the end waits for none', async () => {
    receiver.hang()
    const before = receiver.seen.length
    for (let count = 0; count < MANY; count++) await spanned('one of many', {}, async () => undefined)
    await expect.poll(() => receiver.seen.length, POLL).toBeGreaterThan(before)
    expect((await gateway.call(getAccount, {})).httpStatus).toBe(401)
    const began = performance.now()
    await stopTracing()
    expect(performance.now() - began).toBeLessThan(5_000)
    expect(isTraced()).toBe(false)
    const sent = receiver.seen.slice(before).map(({ body }) => body.split('one of many').length - 1)
    expect(sent.reduce((sum, count) => sum + count, 0)).toBeLessThan(MANY)
  })
})
