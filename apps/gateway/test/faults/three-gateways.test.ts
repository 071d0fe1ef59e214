import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { topup } from '@berth/contract/billing'
import {
  deployInstance,
  getConnection,
  listInstances,
  startWebTerminal,
  terminateInstance,
} from '@berth/contract/instances'
import { afterEach, expect, onTestFailed, test } from 'vitest'
import { openTerminal, type TestTerminal } from '../../src/domains/reach/reach-fixture.ts'
import { describeWhere } from '../../src/drivers/compute/conformance/tools.ts'
import { probeSandbox } from '../../src/drivers/compute/sandbox/probe-sandbox.ts'
import { readBooksAt } from './books-fixture.ts'
import { type Cloud, REGIONS, startCloud } from './cloud-fixture.ts'
import { type Customer, deployInput, signUp, topupInput } from './customer-fixture.ts'
import { startLoad } from './load-fixture.ts'
import { machinesOf, processesOf } from './processes-fixture.ts'

const FIRST_KEY = 'topped-up-first'
const PORT = 8_000
const SERVED = 'served by the machine'
const SERVE = `mkdir -p ~/www && echo "${SERVED}" > ~/www/index.html && (cd ~/www && nohup python3 -m http.server ${PORT} > /dev/null 2>&1 &)`
/** A minute on a computer that does nothing else. */
const TEST_MS = 400_000
const PATIENCE = { timeout: 60_000, interval: 100 }

let cloud: Cloud | undefined
afterEach(async () => {
  await cloud?.remove()
  cloud = undefined
})

describeWhere('three gateways behind a proxy without stickiness', await probeSandbox(), () => {
  test(
    '[B1] [B2] [B3] each is killed with -9 in turn under load: machines, shells, services, money and answers stay',
    async () => {
      const { proxy, gateways, databaseUrl, dataDir, output } = await start()
      onTestFailed(() => void process.stderr.write(output()))
      const customer = await signUp(proxy.origin)
      await customer.data(topup, topupInput(5_000), { idempotencyKey: FIRST_KEY })
      const ids = await Promise.all(Object.keys(REGIONS).map(region => deploy(customer, region)))
      for (const id of ids) await serve(proxy.origin, customer, id)
      const load = startLoad(customer)

      for (const { home, run } of gateways) {
        const before = await openShell(proxy.origin, customer, ids[0] ?? '')
        await run.kill()
        // Through whichever gateway is asked, and to whichever of the two that are left reaches the machine.
        for (const id of ids) {
          await expectShell(proxy.origin, customer, id)
          await expectService(proxy.port, customer, id)
        }
        before.socket.terminate()
        Object.assign(gateways.find(one => one.home === home) ?? {}, { run: await home.start() })
      }

      await load.end()
      expect(load.wrong).toEqual([])
      expect(load.count.worked).toBeGreaterThan(0)
      for (const [port, count] of proxy.given) expect(count, `gateway at ${port}`).toBeGreaterThan(0)
      await expectReplays(
        gateways.map(({ home }) => home.origin),
        customer,
      )
      await expectBooks(databaseUrl, customer, load.settled)
      expect(machinesOf(dataDir)).toEqual([...ids].sort())

      for (const id of ids) await customer.data(terminateInstance, { params: { id } })
      await expect.poll(() => customer.data(listInstances, {}), PATIENCE).toEqual([])
      await expect.poll(() => machinesOf(dataDir), PATIENCE).toEqual([])
      for (const { run } of gateways) expect(await run.interrupt()).toBe(0)
      expect(processesOf(dataDir)).toEqual([])
      expect((await readBooksAt(databaseUrl, customer.userId)).problems).toEqual([])
    },
    TEST_MS,
  )
})

async function start(): Promise<Cloud> {
  cloud = await startCloud()
  return cloud
}

async function deploy(customer: Customer, region_code: string): Promise<string> {
  const { body } = deployInput(region_code)
  const { instance_id } = await customer.data(
    deployInstance,
    { body: { ...body, region_code, http_ports: [PORT] } },
    { idempotencyKey: `deploy-in-${region_code}` },
  )
  await customer.untilRunning(instance_id)
  return instance_id
}

async function openShell(origin: string, customer: Customer, instance_id: string): Promise<TestTerminal> {
  const { ticket } = await customer.data(startWebTerminal, { body: { instance_id } })
  return await openTerminal(origin, ticket)
}

/** Until a shell answers; each try is a ticket and a socket of its own, as the console makes them. */
async function expectShell(origin: string, customer: Customer, id: string, line = 'true'): Promise<void> {
  await expect
    .poll(async () => {
      const terminal = await openShell(origin, customer, id).catch(() => null)
      if (!terminal) return 'refused'
      const word = `said-${Math.random().toString(36).slice(2)}`
      terminal.type(`${line}; printf '%s\\n' "${word}" | sed s/said/heard/\n`)
      const heard = await Promise.race([
        terminal.shows(new RegExp(word.replace('said', 'heard'))).then(() => true),
        terminal.closed.then(() => false),
      ]).catch(() => false)
      terminal.socket.terminate()
      return heard ? 'heard' : terminal.text()
    }, PATIENCE)
    .toBe('heard')
}

async function serve(origin: string, customer: Customer, id: string): Promise<void> {
  await expectShell(origin, customer, id, SERVE)
}

async function expectService(port: number, customer: Customer, id: string): Promise<void> {
  const { http } = await customer.data(getConnection, { params: { id } })
  const { hostname } = new URL(http[0]?.url ?? '')
  await expect.poll(() => ask(port, hostname), PATIENCE).toContain(SERVED)
}

/** What a service answers, or what went wrong. */
async function ask(port: number, host: string): Promise<string> {
  const request = httpRequest({ host: '127.0.0.1', port, headers: { host: `${host}:${port}` }, agent: false })
  request.end()
  try {
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk as Buffer)
    return Buffer.concat(chunks).toString()
  } catch (error) {
    return String(error)
  }
}

/** A key that was answered is answered the same by every gateway, and does nothing again. */
async function expectReplays(origins: string[], customer: Customer): Promise<void> {
  for (const origin of origins) {
    const again = await customer.at(origin).once(topup, topupInput(5_000), { idempotencyKey: FIRST_KEY })
    expect(again).toMatchObject({ kind: 'answer', replayed: true, envelope: { status: 'ok' } })
  }
}

/** Every key was charged once; the audit finds nothing. */
async function expectBooks(url: string, customer: Customer, settled: Map<string, number>): Promise<void> {
  const books = await readBooksAt(url, customer.userId)
  expect(books.problems).toEqual([])
  expect(books.strayCharges).toBe(0)
  expect(books.topups).toHaveLength(settled.size + 1)
  for (const { state, charges } of books.topups)
    expect({ state, charges }).toEqual({ state: 'succeeded', charges: 1 })
  expect(books.instances).toHaveLength(Object.keys(REGIONS).length)
}
